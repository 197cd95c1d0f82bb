"""Estimated time and memory of a fit, corrected by the speed of past fits."""

from __future__ import annotations

from pathlib import Path

from napari_dpdeblur.array_types import Crop
from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.fitting.resources import available_memory, estimate_memory, estimate_time_s
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.jobs.fit_job import crop_of, place_of
from napari_dpdeblur.viewer.shared import remembered
from napari_dpdeblur.viewer.shared.worker_panel import duration_text

SECTION = "fit speed"
SENSIBLE = (0.05, 20.0)


def estimate_text(
    capture: DualPixelCapture | None,
    calibration: Calibration | Path | None,
    settings: FitSettings,
    region: Crop | None,
) -> tuple[str, float | None]:
    """The estimate as text, and the seconds before the correction by past fits."""
    if capture is None:
        return "", None
    height, width = _size(capture, calibration, region)
    sizes = (height, width, capture.shape[1], settings.planes, settings.preset)
    rows = capture.row_upsampling * round(capture.pixel_aspect)
    need = estimate_memory(*sizes, rows)
    plain_s = estimate_time_s(*sizes, rows, settings.threads, settings.steps)
    seconds = plain_s * _factor(settings)
    free = available_memory()
    text = (
        f"{height} x {width} px: about {duration_text(seconds)}, {need / 1e9:.1f} GB of memory "
        f"({free / 1e9:.0f} GB free)"
    )
    if need > free:
        text += "; not enough memory: fit a region or use fewer layers"
    if calibration is None:
        text += ", after the estimate of the lens"
    return text + ".", plain_s


def learn_speed(plain_s: float | None, elapsed_s: float, settings: FitSettings) -> None:
    """Remember the duration of a fit for the next estimate."""
    if plain_s:
        factor = min(max(elapsed_s / plain_s, SENSIBLE[0]), SENSIBLE[1])
        remembered.remember(SECTION, {_key(settings): factor})


def _size(
    capture: DualPixelCapture, calibration: Calibration | Path | None, region: Crop | None
) -> tuple[int, int]:
    """Height and width of the result; of a lens that is not known yet, those of the capture."""
    if isinstance(calibration, Calibration):
        crop = crop_of(region, capture, calibration)
        return place_of(crop, capture, calibration)[2:]
    if region is not None:
        return region[2:]
    height, width = capture.shape[-2:]
    return round(height * capture.pixel_aspect), width


def _factor(settings: FitSettings) -> float:
    factor = remembered.remembered(SECTION, {_key(settings): 1.0})[_key(settings)]
    return min(max(float(factor), SENSIBLE[0]), SENSIBLE[1])


def _key(settings: FitSettings) -> str:
    return f"{settings.preset} on {settings.device}"
