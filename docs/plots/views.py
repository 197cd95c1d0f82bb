"""views.png: left and right view of the synthetic scene, and a row through both."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from common import INK, LEFT, RIGHT, save, scene, show, toned

from napari_dpdeblur.results.preview import white_point

NEAR = (slice(330, 450), slice(260, 420))  # blocks in front, little defocus
FAR = (slice(70, 190), slice(195, 355))  # the picture on the wall, much defocus


def main() -> None:
    """For a near and a far part: both views, the red-cyan picture and one row."""
    simulation = scene()
    views = simulation.calibration.prepare(simulation.capture)[:, 0]
    sharp = simulation.scene.all_in_focus[0]
    truth = simulation.scene.defocus_map
    white = white_point(views)
    figure, grid = plt.subplots(
        2, 4, figsize=(9.2, 4.0), layout="constrained", width_ratios=(1, 1, 1, 1.5)
    )
    for axes, part in zip(grid, (NEAR, FAR), strict=True):
        left, right = (toned(view[part][None], white) for view in views)
        both = np.stack([left[..., 0], right[..., 0], right[..., 0]], axis=-1)
        show(axes[0], left, "left view")
        show(axes[1], right, "right view")
        show(axes[2], both, "left red, right cyan")
        row = (part[0].start + part[0].stop) // 2
        across = np.arange(part[1].start, part[1].stop)
        axes[3].plot(across, sharp[row, part[1]], color=INK, lw=0.8, ls=":", label="sharp")
        axes[3].plot(across, views[0][row, part[1]], color=LEFT, lw=1, label="left")
        axes[3].plot(across, views[1][row, part[1]], color=RIGHT, lw=1, label="right")
        axes[3].set_title(f"row {row}, defocus scale about {np.median(truth[part]):.1f}")
        axes[3].set_xlabel("column")
        axes[3].legend(fontsize=7, ncols=3, loc="upper center")
        axes[3].margins(y=0.25)
    save(figure, "views.png")


if __name__ == "__main__":
    main()
