"""Seams of a fit that works in parts: bands of rows, channels one by one, tiles, lazy layers.

    python benchmarks/seams.py [--size 504 672] [--json] [--save]

Fits a synthetic capture in as many parts as possible and in one part, and compares them: they
should be equal. Bands of one part each have as many rows around them as the filter reaches. Tiles
are those of the kernel grid, whose results are blended: along their borders, the error of the image
against the true one must not step more from one row or column to the next than elsewhere. Steps are
in percent of the mean intensity; the noise is that of one captured view. The exit status is 1 if a
difference or an additional step exceeds a tenth of the noise.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from unittest import mock

import cv2
import numpy as np

from napari_dpdeblur.datasets.synthetic.scene import render_capture, synthetic_scene
from napari_dpdeblur.datasets.synthetic.simulation import Simulation, synthetic_calibration
from napari_dpdeblur.fitting import FitSettings, fit
from napari_dpdeblur.fitting.report.noise import DETAIL, DETAIL_GAIN, NORMAL_MEDIAN
from napari_dpdeblur.optics import TileLayout
from napari_dpdeblur.results import Result
from results_file import add_save_option, save_figures

BAND_ROWS = 24
TILE_PX = 168  # of the published calibration, in square pixels
NEAR_PX = 2  # of a border between tiles
TOLERATED = 0.1  # of the noise
LIMITS = (
    ("napari_dpdeblur.fitting.resources.DECONVOLUTION_SHARE", 0),
    ("napari_dpdeblur.fitting.result.LAYER_SHARE", 0),
)


@dataclass(frozen=True)
class Seams:
    """Differences between a fit in parts and one as a whole, and steps at borders of tiles."""

    largest_difference: float
    layer_difference: float
    step_at_borders: float
    step_elsewhere: float
    noise: float

    @property
    def are_hidden(self) -> bool:
        """Whether nothing is visible above the noise."""
        found = max(self.largest_difference, self.layer_difference)
        return max(found, self.step_at_borders - self.step_elsewhere) < TOLERATED * self.noise

    def text(self) -> str:
        """The figures as a line."""
        return (
            f"parts against whole: largest difference {self.largest_difference:.4f} %, of layers "
            f"{self.layer_difference:.4f} %; step of the error at borders of tiles "
            f"{self.step_at_borders:.3f} %, elsewhere {self.step_elsewhere:.3f} %; noise "
            f"{self.noise:.2f} %"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 when a seam is visible."""
    parser = argparse.ArgumentParser(description="Seams of a fit in parts.")
    parser.add_argument("--size", nargs=2, type=int, default=(504, 672), metavar=("H", "W"))
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_save_option(parser)
    options = parser.parse_args(arguments)
    seams = measured(_simulated(*options.size))
    print(json.dumps(asdict(seams)) if options.json else seams.text())
    if options.save:
        save_figures("seams", asdict(seams))
    return 0 if seams.are_hidden else 1


def measured(known: Simulation, settings: FitSettings | None = None) -> Seams:
    """Fit in parts and as a whole, and compare."""
    whole = _fitted(known, settings)
    with _in_parts(whole.all_in_focus.shape[-1]):
        parts = _fitted(known, settings)
    percent = 100 / float(whole.all_in_focus.mean())
    layers = zip(whole.mpi.color, parts.mpi.color, strict=True)
    truth = known.scene.all_in_focus * known.calibration.vignetting[0]
    at_borders, elsewhere = _steps(percent * (parts.all_in_focus - truth)[0], known)
    view = known.capture.views[0, 0]
    return Seams(
        percent * float(np.abs(whole.all_in_focus - parts.all_in_focus).max()),
        percent * max(float(np.abs(a - b).max()) for a, b in layers),
        at_borders,
        elsewhere,
        100 * _noise(view) / float(view.mean()),
    )


def _simulated(height: int, width: int) -> Simulation:
    """A scene whose tiles have the size of those of a phone."""
    scene = synthetic_scene(height, width, seed=0)
    rows, cols = max(height // TILE_PX, 1), max(width // TILE_PX, 1)
    lens = synthetic_calibration(height, width, rows, cols)
    capture = render_capture(scene, lens.kernel_grid(), lens.vignetting, seed=1, pixel_aspect=2)
    return Simulation(scene, capture, lens)


def _fitted(known: Simulation, settings: FitSettings | None) -> Result:
    return fit(known.capture, known.calibration, settings or FitSettings(), progress=False)


@contextmanager
def _in_parts(width: int) -> Iterator[None]:
    """Make fits work in the smallest parts."""
    bands = ("napari_dpdeblur.fitting.image.filters.BAND_VALUES", BAND_ROWS * width)
    patches = [mock.patch(name, value) for name, value in (*LIMITS, bands)]
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in patches:
            patch.stop()


def _steps(error: np.ndarray, known: Simulation) -> tuple[float, float]:
    """Steps of the error (h, w) from line to line: next to borders of tiles, and elsewhere.

    Medians along the side of a tile: a seam is the same along it, texture is not.
    """
    layout = TileLayout.regular(*error.shape, known.calibration.rows, known.calibration.cols)
    near, far = [], []
    for lines, across, along in (
        (error, layout.row_edges, layout.col_edges),
        (error.T, layout.col_edges, layout.row_edges),
    ):
        steps = np.diff(lines, axis=0)
        sides = [np.median(steps[:, low:high], axis=1) for low, high in pairwise(along)]
        sizes = np.abs(np.stack(sides)).mean(0)
        distance = np.min([np.abs(np.arange(len(steps)) + 1 - e) for e in across[1:-1]], axis=0)
        near.append(sizes[distance <= NEAR_PX])
        far.append(sizes[distance > NEAR_PX])
    return float(np.concatenate(near).mean()), float(np.concatenate(far).mean())


def _noise(view: np.ndarray) -> float:
    """Standard deviation of the noise of a view (h, w)."""
    detail = np.abs(cv2.filter2D(np.asarray(view, np.float32), -1, DETAIL))
    return float(np.median(detail)) / NORMAL_MEDIAN / DETAIL_GAIN


if __name__ == "__main__":
    sys.exit(main())
