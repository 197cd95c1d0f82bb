"""Estimated time and memory of a fit; the time is learnt from finished fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from napari_dpdeblur.array_types import Crop
from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.fitting.resources import (
    START_S,
    available_memory,
    estimate_memory,
    estimate_time_s,
    memory_budget,
)
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.jobs.fit_job import crop_of, place_of
from napari_dpdeblur.viewer.layers.field import covers_frame
from napari_dpdeblur.viewer.open.calibrations import geometry
from napari_dpdeblur.viewer.shared import remembered
from napari_dpdeblur.viewer.shared.worker_panel import duration_text

SECTION = "fit times"
USUAL_START_S = 8.0  # a new process, torch, and what does not depend on the size
PRIOR = 0.1  # weight of the plain formula, relative to one finished fit
MAX_RUNS = 12  # that are remembered
LEAST_S = 1.0


def estimate_text(
    capture: DualPixelCapture | None,
    calibration: Calibration | Path | None,
    settings: FitSettings,
    region: Crop | None,
) -> tuple[str, float | None]:
    """The estimate as text, and the seconds of pure computing by the plain formula."""
    if capture is None:
        return "", None
    (height, width), is_field = _size(capture, calibration, region)
    sizes = (height, width, capture.shape[1], settings.planes, settings.preset)
    rows = capture.row_upsampling * round(capture.pixel_aspect)
    need = estimate_memory(*sizes, rows, memory_budget(settings.memory_gb))
    plain_s = estimate_time_s(*sizes, rows, settings.threads, settings.steps) - START_S
    free = available_memory()
    part = ", the calibrated field" if is_field else ""
    text = (
        f"{width} x {height} px{part}: about {duration_text(expected_s(plain_s, settings))}, "
        f"{need / 1e9:.1f} GB of memory ({free / 1e9:.0f} GB free)"
    )
    if need > free:
        text += "; not enough memory: fit a region or use fewer layers"
    if calibration is None:
        text += ", after the estimate of the lens"
    return text + ".", plain_s


def expected_s(plain_s: float, settings: FitSettings) -> float:
    """Seconds of a fit whose computing takes ``plain_s`` by the formula.

    A start and a rate, by least squares of the relative errors of finished fits; without any, the
    formula itself.
    """
    runs = np.array(_runs(settings), float).reshape(-1, 2)
    computing, elapsed = runs[:, 0], runs[:, 1]
    rows = [np.stack([1 / elapsed, computing / elapsed], axis=1)]
    rows.append(PRIOR * np.diag([1 / USUAL_START_S, 1.0]))
    wanted = np.concatenate([np.ones(len(runs)), np.full(2, PRIOR)])
    (start, rate), *_ = np.linalg.lstsq(np.concatenate(rows), wanted, rcond=None)
    return max(float(max(start, 0.0) + max(rate, 0.0) * plain_s), LEAST_S)


def learn_time(plain_s: float | None, elapsed_s: float, settings: FitSettings) -> None:
    """Remember the duration of a finished fit for the next estimates."""
    if plain_s is not None and elapsed_s > 0:
        runs = [*_runs(settings), [plain_s, elapsed_s]][-MAX_RUNS:]
        remembered.remember(SECTION, {_key(settings): runs})


def _runs(settings: FitSettings) -> list[list[float]]:
    """Pairs of computing by the formula and elapsed seconds; what is damaged is passed over."""
    stored = remembered.remembered(SECTION, {_key(settings): []})[_key(settings)]
    return [[float(plain), float(took)] for plain, took in filter(_is_run, stored)]


def _is_run(pair: Any) -> bool:
    is_pair = isinstance(pair, list) and len(pair) == 2
    return is_pair and all(isinstance(v, int | float) and np.isfinite(v) and v > 0 for v in pair)


def _size(
    capture: DualPixelCapture, calibration: Calibration | Path | None, region: Crop | None
) -> tuple[tuple[int, int], bool]:
    """Height and width of what is fitted, and whether that is a field within the frame."""
    height, width = capture.shape[-2:]
    frame = (round(height * capture.pixel_aspect), width)
    if isinstance(calibration, Calibration):
        field = place_of(None, capture, calibration)
        if region is not None:
            return place_of(crop_of(region, capture, calibration), capture, calibration)[2:], False
    elif region is not None:
        return region[2:], False
    else:
        field = (0, 0, *_stored_size(calibration, frame))
    return field[2:], not covers_frame(field, frame)


def _stored_size(path: Path | None, frame: tuple[int, int]) -> tuple[int, int]:
    """Size of the field of a calibration file or folder; else that of the frame."""
    if path is None:
        return frame
    try:
        (_, field), _ = geometry(path)
    except CalibrationError:  # damaged: known when it is read
        return frame
    return field[0], field[1]


def _key(settings: FitSettings) -> str:
    return f"{settings.preset} on {settings.device}"
