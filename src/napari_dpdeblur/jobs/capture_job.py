"""Fit a capture on disk as a job and keep its result as a run folder."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.capture import DualPixelCapture, open_capture
from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.jobs import fit_job
from napari_dpdeblur.jobs.messages import Message, Progress

FUNCTION = f"{__name__}:run"


@dataclass(frozen=True, eq=False)
class CaptureFitRequest:
    """Input of the fit of one capture of a list; ``capture`` may be its files.

    ``calibration`` and ``settings`` as in :class:`fit_job.FitRequest`; ``output`` is the run folder
    to write.
    """

    capture: DualPixelCapture | Sequence[Path]
    calibration: Calibration | Path | None
    settings: FitSettings
    output: Path


def run(request: CaptureFitRequest) -> Generator[Message, None, Path]:
    """Open the capture, fit it and write the run folder; returns the folder."""
    yield Progress("opening", 0, 1, 0.0)
    capture = request.capture
    if not isinstance(capture, DualPixelCapture):
        capture = open_capture(*capture)
    fit = fit_job.FitRequest(
        capture,
        request.calibration,
        request.settings,
        is_resumable=True,
        output=request.output,
    )
    result = yield from fit_job.run(fit)
    if result.run_folder is None:
        raise ResultError(
            f"The result of {capture.name} could not be saved to {request.output}; free some space "
            "or choose another folder, and fit it again."
        )
    return result.run_folder
