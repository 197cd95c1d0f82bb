"""From a solution on the fit's own grid to the result: size, unit, filters, provenance."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import torch
from torch import Tensor

from napari_dpdeblur._version import __version__
from napari_dpdeblur.fitting.context import Job, Solution
from napari_dpdeblur.fitting.events import FitResult, FloatArray
from napari_dpdeblur.fitting.image.filters import GuidedFilter
from napari_dpdeblur.optics import MultiplaneImage

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.fitting.problem import Crop, FitProblem
    from napari_dpdeblur.fitting.settings import FitSettings

GUIDED_RADIUS_PX = 16
GUIDED_EPSILON = 1e-3
BILATERAL_SIGMA_PX = 3.0
STRIP_PX = 256
STRIP_MARGIN_PX = 16  # more than the filter reaches


def signature(
    capture: DualPixelCapture, calibration: Calibration, settings: FitSettings, crop: Crop | None
) -> str:
    """SHA-256 of everything that decides the result."""
    parts = {
        "version": __version__,
        "capture": [hashlib.sha256(capture.raw.tobytes()).hexdigest(), str(capture.raw.dtype)],
        "levels": [capture.black, capture.white, capture.encoding],
        "pixels": [capture.pixel_aspect, capture.row_upsampling, capture.orientation],
        "calibration": calibration.content_hash(),
        "settings": settings.model_dump(exclude={"device", "threads"}),
        "crop": crop,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def finished(
    job: Job,
    solution: Solution,
    capture: DualPixelCapture,
    calibration: Calibration,
    crop: Crop | None,
) -> FitResult:
    """Enlarge to calibrated pixels, return to the capture's unit, add the provenance."""
    problem, settings, check = job.problem, job.settings, job.control.check
    unit = problem.intensity_scale
    image, defocus_map = solution.image, solution.defocus_map
    if settings.guided_filter:
        smooth = GuidedFilter(solution.image.mean(0), GUIDED_RADIUS_PX, GUIDED_EPSILON)
        check()
        defocus_map = smooth(defocus_map)
    all_in_focus = _enlarged(problem, image, check)
    if settings.smooth_image:
        all_in_focus = bilateral_filter(all_in_focus, settings.smooth_image, check)
    mpi = MultiplaneImage(
        _enlarged_layers(problem, solution.color, check, unit),
        _enlarged_layers(problem, solution.alpha, check),
        solution.scales.cpu(),
    )
    return FitResult(
        mpi=mpi,
        all_in_focus=all_in_focus / np.float32(unit),
        defocus_map=_enlarged(problem, defocus_map, check),
        confidence=_enlarged(problem, solution.confidence, check),
        captured=_enlarged(problem, problem.views.mean(0) / unit, check),
        loss_history=job.state.history,
        provenance=_provenance(job, capture, calibration, crop),
    )


def _enlarged(problem: FitProblem, images: Tensor, check: Callable[[], None]) -> FloatArray:
    """Images (..., h, w) in calibrated pixels on the CPU."""
    check()
    return np.ascontiguousarray(problem.enlarged(images).detach().float().cpu().numpy())


def _enlarged_layers(
    problem: FitProblem, layers: Tensor, check: Callable[[], None], unit: float = 1.0
) -> Tensor:
    """Layers (L, C, h, w) divided by ``unit``, one at a time to save memory."""
    enlarged = np.empty((*layers.shape[:2], *problem.shape), np.float32)
    for out, layer in zip(enlarged, layers, strict=True):
        np.divide(_enlarged(problem, layer, check), np.float32(unit), out=out)
    return torch.from_numpy(enlarged)


def bilateral_filter(
    image: FloatArray, intensity_range: float, check: Callable[[], None] = lambda: None
) -> FloatArray:
    """The published last step: smooth an image (C, H, W) of mean 0.5 within its edges.

    In strips, so that ``check`` is called often; each sees all the rows that it depends on.
    """
    smooth = np.empty_like(image)
    height = image.shape[1]
    for top in range(0, height, STRIP_PX):
        bottom = min(top + STRIP_PX, height)
        first, last = max(top - STRIP_MARGIN_PX, 0), min(bottom + STRIP_MARGIN_PX, height)
        for plane, out in zip(image, smooth, strict=True):
            strip = cv2.bilateralFilter(plane[first:last], -1, intensity_range, BILATERAL_SIGMA_PX)
            out[top:bottom] = strip[top - first : bottom - first]
        check()
    return smooth


def _provenance(
    job: Job, capture: DualPixelCapture, calibration: Calibration, crop: Crop | None
) -> dict[str, Any]:
    job.control.check()
    described = capture.describe()
    job.control.check()
    return {
        "settings": job.settings.model_dump(),
        "signature": job.signature,
        "capture": described,
        "calibration": calibration.describe(),
        "crop": None if crop is None else list(crop),
        "device": job.problem.views.device.type,
        "torch": torch.__version__,
        "timings_s": {stage: round(s, 3) for stage, s in job.clock.timings_s.items()},
        "elapsed_s": round(job.clock.elapsed_s(), 3),
    }
