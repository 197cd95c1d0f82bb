"""layer_stack.png: layers that `standard` finds in the synthetic scene, pulled apart."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from common import INK, SEED, save
from matplotlib.patches import Patch
from matplotlib.transforms import Affine2D

from napari_dpdeblur.datasets.synthetic.scene import render_capture, synthetic_scene
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.fitting import fit
from napari_dpdeblur.results import Result
from napari_dpdeblur.results.export import srgb_bytes
from napari_dpdeblur.results.preview import white_point

SIZE = (504, 672)
LAYERS = 6
MARK, MARK_SHARE = np.array([230, 60, 200]), 0.55  # as in the Inspect panel
SQUEEZE, SLANT_DEG, APART = 0.62, 14.0, 0.47  # of the drawing; distance in widths


def fitted() -> Result:
    """The scene in colour, captured and fitted."""
    scene, lens = synthetic_scene(*SIZE, seed=SEED, channels=3), synthetic_calibration(*SIZE)
    capture = render_capture(scene, lens.kernel_grid(), lens.vignetting)
    return fit(capture, lens, layers=LAYERS, preset="standard")


def pages(result: Result) -> np.ndarray:
    """Layers as RGBA bytes (L, H, W, 4), hidden parts marked."""
    mpi, white = result.mpi, white_point(result.all_in_focus)
    colors = np.moveaxis(srgb_bytes(mpi.color / white), 1, -1).astype(float)
    hidden = MARK_SHARE * (1 - mpi.visibility()[:, 0, ..., None])
    marked = colors * (1 - hidden) + MARK * hidden
    return np.concatenate([marked, 255 * mpi.alpha[:, 0, ..., None]], -1).round().astype(np.uint8)


def main() -> None:
    """Layers from back to front, as if seen from the side."""
    result = fitted()
    height, width = SIZE
    figure, axes = plt.subplots(figsize=(9.2, 3.4), layout="constrained")
    step = APART * width
    for number, (page, scale) in enumerate(zip(pages(result), result.defocus_scales, strict=True)):
        placed = Affine2D().scale(SQUEEZE, 1).skew_deg(0, SLANT_DEG).translate(number * step, 0)
        frame = np.array([(0, 0), (width, 0), (width, height), (0, height), (0, 0)])
        axes.fill(*placed.transform(frame).T, color="#00000010", zorder=2 * number)
        axes.plot(*placed.transform(frame).T, color=INK, lw=0.6, zorder=2 * number)
        image = axes.imshow(page, extent=(0, width, height, 0), zorder=2 * number + 1)
        image.set_transform(placed + axes.transData)
        x, y = placed.transform((width / 2, height))
        axes.text(x, y + 70, f"d = {scale:.2f}", ha="center", va="top", color=INK)
    right = (len(result.defocus_scales) - 1) * step + SQUEEZE * width
    axes.set(xlim=(-10, right + 10), ylim=(height + 165, -10), aspect="equal")
    axes.axis("off")
    mark = Patch(color=MARK / 255, alpha=0.8, label="hidden: filled in behind nearer layers")
    axes.legend(handles=[mark], loc="upper center", bbox_to_anchor=(0.6, 1.08))
    save(figure, "layer_stack.png")


if __name__ == "__main__":
    main()
