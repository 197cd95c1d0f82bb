"""overview.png: one capture of the synthetic scene and what the fit makes of it."""

from __future__ import annotations

import numpy as np
from common import FOLDER, scene, toned
from PIL import Image, ImageDraw, ImageFont

from napari_dpdeblur.fitting import fit
from napari_dpdeblur.results import Result
from napari_dpdeblur.results.defocus_colors import color_scale
from napari_dpdeblur.results.preview import white_point

SEED = 5  # a still life in which most things are seen
SHOWN_LAYER = 8  # of 12, from the back
GAP_PX, HEADER_PX, COLORS = 10, 30, 160
CHECK_PX, CHECK_GREYS = 12, (232, 255)


def layer_picture(result: Result, white: float) -> np.ndarray:
    """One layer over a chequered ground, which shows where it is transparent."""
    mpi = result.mpi
    alpha = np.asarray(mpi.alpha[SHOWN_LAYER, 0])[..., None]
    rows, cols = np.indices(alpha.shape[:2]) // CHECK_PX
    ground = np.where((rows + cols) % 2, *CHECK_GREYS)[..., None]
    pixels = toned(mpi.color[SHOWN_LAYER], white)
    return np.asarray(alpha * pixels + (1 - alpha) * ground, np.uint8)


def panels() -> list[tuple[str, np.ndarray]]:
    """Titles and pictures (H, W, 3)."""
    simulation = scene(seed=SEED)
    result = fit(simulation.capture, simulation.calibration)
    views = simulation.calibration.prepare(simulation.capture)
    white = white_point(np.asarray(result.all_in_focus))
    defocus = np.asarray(result.defocus_map)
    colors = color_scale(defocus)
    ends = ("brown", "blue") if colors.is_diverging else ("violet", "yellow")
    low, high = colors.limits
    scales = [float(scale) for scale in result.mpi.defocus_scales]
    return [
        ("capture (mean of both views)", toned(views.mean(0), white)),
        ("all in focus", toned(result.all_in_focus, white)),
        (
            f"defocus map, {low:.2f} ({ends[0]}) to {high:.2f} ({ends[1]})",
            colors.paint(defocus),
        ),
        (
            f"one of {len(scales)} layers, at {scales[SHOWN_LAYER]:.2f}",
            layer_picture(result, white),
        ),
    ]


def main() -> None:
    """Two rows of two, with few colours: the file goes into every clone."""
    parts = panels()
    height, width = parts[0][1].shape[:2]
    size = (2 * width + GAP_PX, 2 * (height + HEADER_PX) + GAP_PX)
    canvas = Image.new("RGB", size, "white")
    draw, font = ImageDraw.Draw(canvas), ImageFont.load_default(18)
    for number, (title, picture) in enumerate(parts):
        left = (number % 2) * (width + GAP_PX)
        top = (number // 2) * (height + HEADER_PX + GAP_PX)
        draw.text((left + 2, top + HEADER_PX / 2), title, "black", font, anchor="lm")
        canvas.paste(Image.fromarray(picture), (left, top + HEADER_PX))
    FOLDER.mkdir(parents=True, exist_ok=True)
    canvas.quantize(COLORS, dither=Image.Dither.NONE).save(FOLDER / "overview.png", optimize=True)


if __name__ == "__main__":
    main()
