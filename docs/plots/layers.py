"""layers.png: the true layers of the synthetic scene, and why each is blurred by itself."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import torch
from common import INK, LEFT, RIGHT, lens, save, scene, show, toned

from napari_dpdeblur.optics import MultiplaneImage, TiledBlur, TileLayout
from napari_dpdeblur.results.preview import white_point

SHOWN = (0, 3, 6, 9, 12)
EDGE_SCALES = (1.0, 0.2)  # a blurred background, a front that is nearly in focus
EDGE_PX, EDGE_TONES = 121, (0.8, 0.2)


def edge_rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sharp row of a dark front over a bright ground, rendered by layers, and by the map alone."""
    color = torch.stack([torch.full((1, EDGE_PX, EDGE_PX), tone) for tone in EDGE_TONES])
    alpha = torch.ones(2, 1, EDGE_PX, EDGE_PX)
    alpha[1, ..., EDGE_PX // 2 :] = 0
    grid = lens(scene(96, 128)).select([27], 1, 1)
    blur = TiledBlur(
        [grid.scaled(scale) for scale in EDGE_SCALES], TileLayout.regular(EDGE_PX, EDGE_PX, 1, 1)
    )
    mpi = MultiplaneImage(color, alpha, torch.tensor(EDGE_SCALES))
    sharp = mpi.all_in_focus()
    # each pixel takes the blur that the map has there, across the outline as well
    blurred = blur(sharp.expand(2, -1, -1, -1))
    naive = torch.where(mpi.defocus_map() < 0.5, blurred[1], blurred[0])
    row = EDGE_PX // 2
    return tuple(  # type: ignore[return-value]
        picture[0, row].numpy() for picture in (sharp, mpi.render(blur)[0], naive[0])
    )


def main() -> None:
    """Layers above; below, the composite, the rendered view and the edge."""
    simulation = scene()
    layers = simulation.scene.layers
    white = white_point(simulation.scene.all_in_focus)
    figure = plt.figure(figsize=(9.2, 4.2), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(1, 1.5))
    together, seen, edge = below.subplots(1, 3, width_ratios=(1, 1, 1.2))
    shown = layers.transmittance() * layers.color
    for axes, index in zip(above.subplots(1, len(SHOWN)), SHOWN, strict=True):
        scale = float(layers.defocus_scales[index])
        show(axes, toned(shown[index], white), f"layer {index + 1}, d = {scale:.1f}")
    show(together, toned(layers.all_in_focus(), white), "sum: all in focus")
    views = simulation.calibration.prepare(simulation.capture)
    show(seen, toned(views[0], white), "blurred and summed: left view")
    sharp, rendered, naive = edge_rows()
    across = np.arange(EDGE_PX) - EDGE_PX // 2
    edge.plot(across, sharp, color=INK, ls=":", label="sharp")
    edge.plot(across, rendered, color=LEFT, label="layers (Eq. 2)")
    edge.plot(across, naive, color=RIGHT, label="blur by the map")
    edge.set(xlabel="px from the outline of the front", xlim=(-30, 30))
    edge.set_title("left view of an edge")
    edge.legend(fontsize=7)
    save(figure, "layers.png")


if __name__ == "__main__":
    main()
