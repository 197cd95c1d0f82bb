"""Seams of a large fit: a fit in bands of rows against one without bands, across a border.

    python benchmarks/seams.py [--size 3024 4032] [--json] [--save]

Fits a synthetic capture in bands of rows, then a crop across the first border between two bands
without bands, with the same range of defocus. Near the border the two differ because of the bands
and because the crop misses its surroundings; elsewhere only because of the latter. All figures are
in percent of the mean intensity; the noise is that of one captured view. The memory of such a fit
is measured by `scaling.py --large`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch

from napari_dpdeblur.datasets.synthetic.simulation import Simulation, simulate
from napari_dpdeblur.fitting import FitSettings, fit
from napari_dpdeblur.fitting.image.bands import bands_of
from napari_dpdeblur.fitting.problem import pose_problem
from napari_dpdeblur.results import Result
from results_file import add_save_option, save_figures

CROP = (512, 672)
MARGIN_PX = 64  # of the crop, where it misses light from outside


@dataclass(frozen=True)
class Seam:
    """The border between two bands, in percent of the mean intensity."""

    bands: int
    border_row: int
    difference_at_border: float
    difference_elsewhere: float
    step_at_border: float
    noise: float

    @property
    def hidden(self) -> bool:
        """Whether it is below the noise."""
        return max(self.step_at_border, self.difference_at_border) < self.noise

    def text(self) -> str:
        return (
            f"{self.bands} bands, border at row {self.border_row}: rms difference "
            f"{self.difference_at_border:.3f} % at the border, {self.difference_elsewhere:.3f} % "
            f"elsewhere; step between rows {self.step_at_border:.4f} %; noise {self.noise:.2f} %"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 when a seam is above the noise."""
    parser = argparse.ArgumentParser(description="Seams of a banded fit.")
    parser.add_argument("--size", nargs=2, type=int, default=(3024, 4032), metavar=("H", "W"))
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_save_option(parser)
    options = parser.parse_args(arguments)
    seam = measured(simulate(*options.size))
    print(json.dumps(asdict(seam)) if options.json else seam.text())
    if options.save:
        save_figures("seams", asdict(seam))
    return 0 if seam.hidden else 1


def measured(known: Simulation) -> Seam:
    """Fit with and without bands and compare."""
    count, border, overlap = _first_border(known)
    whole = fit(known.capture, known.calibration, FitSettings())
    height, width = CROP
    crop = (border - height // 2, (known.capture.shape[-1] - width) // 2, height, width)
    alone = fit(known.capture, known.calibration, _same_range(whole), crop=crop)
    percent = 100 / float(whole.all_in_focus.mean())
    difference = percent * (_cut(whole.all_in_focus, crop) - alone.all_in_focus)[0]
    inner = difference[MARGIN_PX:-MARGIN_PX, MARGIN_PX:-MARGIN_PX]
    away = abs(np.arange(len(inner)) + 0.5 - len(inner) / 2)
    near = away <= overlap / 2
    steps = abs(np.diff(inner.mean(1)))
    return Seam(
        count,
        border,
        _rms(inner[near]),
        _rms(inner[~near]),
        float(steps[near[1:]].max()),
        100 * _noise(known.capture.views[0, 0]) / float(known.capture.views[0, 0].mean()),
    )


def _first_border(known: Simulation) -> tuple[int, int, int]:
    """Number of bands, row of the first border and overlap there, in square pixels."""
    problem = pose_problem(known.capture, known.calibration, FitSettings(), torch.device("cpu"))
    bands = bands_of(problem, 1.0, FitSettings().parameters.renderer.band_overlap)
    if len(bands) < 2:
        sys.exit("A capture of this size is fitted in one band; use a larger --size.")
    first, second, *others = bands
    pitch = problem.pixel_pitch[0]
    row = pitch * (first.last + second.first) // 2
    return 2 + len(others), row, pitch * (first.last - second.first)


def _same_range(whole: Result) -> FitSettings:
    scales = whole.mpi.defocus_scales
    return FitSettings(back_scale=float(scales[0]), front_scale=float(scales[-1]))


def _cut(images: np.ndarray, crop: tuple[int, int, int, int]) -> np.ndarray:
    top, left, height, width = crop
    return images[..., top : top + height, left : left + width]


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _noise(view: np.ndarray) -> float:
    """Standard deviation of the noise, from second differences, which suppress texture."""
    second = np.diff(np.diff(view, 2, axis=0), 2, axis=1)
    return float(np.median(abs(second))) / 0.6745 / 6


if __name__ == "__main__":
    sys.exit(main())
