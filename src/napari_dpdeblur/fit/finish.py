"""From a solution on the fit's own grid to the result: size, unit, filters, provenance."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import torch
from torch import Tensor

from napari_dpdeblur.fit.events import FitResult, FloatArray
from napari_dpdeblur.fit.filters import GuidedFilter
from napari_dpdeblur.fit.job import Job, Solution
from napari_dpdeblur.optics import MultiplaneImage

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.fit.problem import Crop
    from napari_dpdeblur.fit.settings import FitSettings

GUIDED_RADIUS_PX = 16
GUIDED_EPSILON = 1e-3
BILATERAL_SIGMA_PX = 3.0


def signature(
    capture: DualPixelCapture, calibration: Calibration, settings: FitSettings, crop: Crop | None
) -> str:
    """SHA-256 of everything that decides the result."""
    parts = {
        "capture": [hashlib.sha256(capture.raw.tobytes()).hexdigest(), str(capture.raw.dtype)],
        "levels": [capture.black, capture.white, capture.encoding],
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
    problem, settings = job.problem, job.settings
    unit = problem.intensity_scale
    image, defocus_map = solution.image, solution.defocus_map
    if settings.guided_filter:
        smooth = GuidedFilter(solution.image.mean(0), GUIDED_RADIUS_PX, GUIDED_EPSILON)
        defocus_map = smooth(defocus_map)
    all_in_focus = _array(problem.enlarged(image))
    if settings.smooth_image:
        all_in_focus = bilateral_filter(all_in_focus, settings.smooth_image)
    mpi = MultiplaneImage(
        problem.enlarged(solution.color).cpu() / unit,
        problem.enlarged(solution.alpha).cpu(),
        solution.scales.cpu(),
    )
    return FitResult(
        mpi=mpi,
        all_in_focus=all_in_focus / np.float32(unit),
        defocus_map=_array(problem.enlarged(defocus_map)),
        confidence=_array(problem.enlarged(solution.confidence)),
        captured=_array(problem.enlarged(problem.views.mean(0) / unit)),
        loss_history=job.state.history,
        provenance=_provenance(job, capture, calibration, crop),
    )


def _array(images: Tensor) -> FloatArray:
    return np.ascontiguousarray(images.detach().float().cpu().numpy())


def bilateral_filter(image: FloatArray, intensity_range: float) -> FloatArray:
    """The published last step: smooth an image (C, H, W) of mean 0.5 within its edges."""
    planes = [
        cv2.bilateralFilter(plane, d=-1, sigmaColor=intensity_range, sigmaSpace=BILATERAL_SIGMA_PX)
        for plane in image
    ]
    return np.stack(planes).astype(np.float32)


def _provenance(
    job: Job, capture: DualPixelCapture, calibration: Calibration, crop: Crop | None
) -> dict[str, Any]:
    return {
        "settings": job.settings.model_dump(),
        "signature": job.signature,
        "capture": capture.describe(),
        "calibration": calibration.describe(),
        "crop": None if crop is None else list(crop),
        "device": job.problem.views.device.type,
        "torch": torch.__version__,
        "timings_s": {stage: round(s, 3) for stage, s in job.clock.timings_s.items()},
        "elapsed_s": round(job.clock.elapsed_s(), 3),
    }
