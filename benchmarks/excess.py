"""Excess width of the calibrated kernels over the blur of the lens: variance in px^2 at scale 1.

    python benchmarks/excess.py DATA RUNS [--save]

RUNS contains one run folder per scene, as written by `benchmarks/quality.py DATA --keep RUNS`.
Patches of uniform defocus d are cut from the ground truth, blurred with the kernel of their tile at
scale d and compared with the views at each frequency f. The ratio is 1 for a correct kernel and
exp(2 pi^2 v d^2 f^2) for one blurred by a variance v at scale 1. The logarithm is fitted by least
squares along both axes where view and prediction are coherent.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.evaluation import sharp_path
from napari_dpdeblur.evaluation.alignment import align_affine
from napari_dpdeblur.evaluation.ground_truth import load_sharp
from napari_dpdeblur.optics import KernelGrid, TileLayout
from napari_dpdeblur.results import read_image, read_run
from results_file import add_save_option, save_figures

PATCH_PX, STEP_PX = 192, 64
FLAT_RANGE = 0.12  # of defocus within a patch
SCALE_STEP = 0.02
BIN = 0.3  # of defocus, within which patches are averaged
FREQUENCIES = (0.03, 0.12)  # cycles per pixel
COHERENT = 0.5
AXIS_LINES = 3  # lines of the spectrum that are averaged as its axis


@dataclass
class Spectra:
    """Sums over patches of one defocus: cross power (2, n, m), predicted and observed power."""

    cross: np.ndarray | float = 0.0
    predicted: np.ndarray | float = 0.0
    observed: np.ndarray | float = 0.0
    scales: list[float] = field(default_factory=list)


def add_scene(data: Path, run: Path, lens: Calibration, sums: dict[int, Spectra]) -> None:
    """Add all patches of a scene to the sums of their defocus."""
    truth = load_sharp(sharp_path(data, run.name)).mean(0, keepdims=True)
    result = read_image(run / "all_in_focus.tif").mean(0, keepdims=True)
    views = lens.prepare(open_capture(data / f"{run.name}_left.png"))[:, :1]
    moved = align_affine(result, truth)
    views = np.stack([moved.apply(view)[0] for view in views])
    defocus = moved.apply(np.asarray(read_run(run).defocus_map)[None])[0]
    grid = lens.kernel_grid().centred()
    layout = TileLayout.regular(*truth.shape[1:], grid.rows, grid.cols)
    for top in range(0, truth.shape[1] - PATCH_PX, STEP_PX):
        for left in range(0, truth.shape[2] - PATCH_PX, STEP_PX):
            window = np.s_[..., top : top + PATCH_PX, left : left + PATCH_PX]
            low, middle, high = np.quantile(defocus[window], [0.05, 0.5, 0.95])
            if high - low < FLAT_RANGE:
                kernel = _kernel(grid, layout, top + PATCH_PX // 2, left + PATCH_PX // 2, middle)
                spectra = sums.setdefault(int(middle / BIN), Spectra())
                _add_patch(spectra, truth[0][window], views[window], kernel, float(middle))


def _kernel(grid: KernelGrid, layout: TileLayout, y: int, x: int, scale: float) -> np.ndarray:
    row = int(np.searchsorted(layout.row_edges, y, "right")) - 1
    col = int(np.searchsorted(layout.col_edges, x, "right")) - 1
    rounded = max(round(scale / SCALE_STEP), 1) * SCALE_STEP
    tile = grid.select([row * layout.cols + col], 1, 1).scaled(rounded)
    return tile.spectrum((2 * PATCH_PX, 2 * PATCH_PX))[0].numpy()


def _add_patch(
    sums: Spectra, sharp: np.ndarray, views: np.ndarray, kernel: np.ndarray, scale: float
) -> None:
    window = np.hanning(PATCH_PX)[:, None] * np.hanning(PATCH_PX)
    mean = (sharp * window).sum() / window.sum()

    def transform(picture: np.ndarray) -> np.ndarray:
        return np.fft.rfft2((picture - mean) * window, s=(2 * PATCH_PX, 2 * PATCH_PX))

    predicted, observed = kernel * transform(sharp), np.stack([transform(view) for view in views])
    weight = 1 / max(float(sharp.var()), 1e-9)
    sums.cross = sums.cross + weight * predicted.conj() * observed
    sums.predicted = sums.predicted + weight * np.abs(predicted) ** 2
    sums.observed = sums.observed + weight * np.abs(observed) ** 2
    sums.scales.append(scale)


def points(sums: Spectra, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """2 pi^2 (d f)^2 and the logarithm of the ratio, along y (0) or x (1), of both views."""

    def along(power: np.ndarray | float) -> np.ndarray:
        full = np.asarray(power)
        lines = full[..., :AXIS_LINES].sum(-1) if axis == 0 else full[:, :AXIS_LINES].sum(1)
        return lines[:, : PATCH_PX + 1]

    cross, predicted, observed = (
        along(part) for part in (sums.cross, sums.predicted, sums.observed)
    )
    frequency = np.arange(cross.shape[1]) / (2 * PATCH_PX)
    use = np.abs(cross) ** 2 > COHERENT * predicted * observed
    use &= (frequency > FREQUENCIES[0]) & (frequency < FREQUENCIES[1])
    turns = np.broadcast_to(2 * (np.pi * np.mean(sums.scales) * frequency) ** 2, cross.shape)
    return turns[use], np.log(np.abs(cross[use]) / predicted[use])


def main() -> None:
    """Print one line per range of defocus, and the variance fitted to all of them."""
    parser = argparse.ArgumentParser(description="Excess width of calibrated kernels.")
    parser.add_argument("data", type=Path, help="folder in the published layout")
    parser.add_argument("runs", type=Path, help="folder of run folders named after the scenes")
    add_save_option(parser)
    options = parser.parse_args()
    lens, sums = load_calibration(options.data / "calibration"), {}
    for run in sorted(path for path in options.runs.iterdir() if path.is_dir()):
        add_scene(options.data, run, lens, sums)
    print(f"{'defocus':<9}{'patches':>8}{'along y':>9}{'along x':>9}   variance in px^2 at scale 1")
    found: tuple[list[tuple[np.ndarray, np.ndarray]], ...] = ([], [])
    for _, part in sorted(sums.items()):
        pairs = [points(part, axis) for axis in (0, 1)]
        for all_of_axis, pair in zip(found, pairs, strict=True):
            all_of_axis.append(pair)
        columns = "".join(f"{_slope(*pair):9.2f}" for pair in pairs)
        print(f"{np.mean(part.scales):<9.2f}{len(part.scales):>8}{columns}")
    totals = [_slope(*(np.concatenate(x) for x in zip(*axis, strict=True))) for axis in found]
    print(f"{'all':<17}" + "".join(f"{total:9.2f}" for total in totals))
    if options.save:
        save_figures("excess", {"along_y_px2": totals[0], "along_x_px2": totals[1]})


def _slope(turns: np.ndarray, logarithm: np.ndarray) -> float:
    return float((turns * logarithm).sum() / (turns**2).sum())


if __name__ == "__main__":
    main()
