"""Estimate the lens of captures within a job: progress, previews of the kernels, the cache."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.calibration.estimate.events import EstimateEvent
from napari_dpdeblur.calibration.estimate.settings import EstimateSettings
from napari_dpdeblur.calibration.kept_estimate import (
    LENS_SUFFIX,
    estimate_signature,
    lens_events,
)
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.generators import translated
from napari_dpdeblur.jobs.messages import Message, Progress

STAGE = "estimating the lens"
KERNELS = "kernels"  # in `Progress.found`: both views of the lens so far, see kernel_picture
PREVIEW_EVERY_S = 0.5


def cached_lens(
    captures: Sequence[DualPixelCapture],
    settings: EstimateSettings | None = None,
    start: Calibration | None = None,
) -> Path:
    """Where the cache keeps the lens of these captures until it is no longer needed."""
    # Deferred: it brings torch, and the window reads names of this module.
    from napari_dpdeblur.jobs.cache import SUFFIX, checkpoint_folder, forget_old_checkpoints

    folder = checkpoint_folder()
    forget_old_checkpoints(folder)
    return folder / f"{estimate_signature(captures, settings, start)}{SUFFIX}{LENS_SUFFIX}"


def lens_steps(
    captures: Sequence[DualPixelCapture],
    settings: EstimateSettings | None = None,
    start: Calibration | None = None,
    kept: Path | None = None,
    share: float = 1.0,
) -> Generator[Message, None, Calibration]:
    """Estimate a lens; ``share`` is the part of the whole job that it is."""
    events = lens_events(captures, settings, start=start, kept=kept)
    next_s = 0.0

    def told(event: EstimateEvent) -> Progress:
        nonlocal next_s
        found: dict[str, Any] = {}
        if event.kernels is not None and time.monotonic() >= next_s:
            next_s = time.monotonic() + PREVIEW_EVERY_S
            found = {KERNELS: kernel_picture(event.kernels, _aspect(captures[0]))}
        stage = f"{STAGE}: {event.stage}"
        return Progress(stage, event.step, event.total, share * event.fraction, found=found)

    return (yield from translated(events, told))


def kernel_picture(kernels: np.ndarray, aspect: float, rows: int | None = None) -> np.ndarray:
    """Kernels (P, 2, K, K) in their places: (2, rows * K, cols * K).

    Without ``rows``, the grid that comes closest to square tiles; ``aspect`` is height over width.
    """
    count, _, size, _ = kernels.shape
    fits = [number for number in range(1, count + 1) if count % number == 0]
    rows = rows or min(fits, key=lambda number: abs(np.log(number**2 / count / aspect)))
    grid = kernels.reshape(rows, count // rows, 2, size, size)
    return np.ascontiguousarray(grid.transpose(2, 0, 3, 1, 4)).reshape(2, rows * size, -1)


def _aspect(capture: DualPixelCapture) -> float:
    height, width = capture.shape[-2:]
    return height * capture.pixel_aspect / width
