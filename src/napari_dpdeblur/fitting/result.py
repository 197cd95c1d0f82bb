"""Result from layers on the grid of the fit: size, unit, filters, provenance."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import torch
from torch import Tensor

from napari_dpdeblur._version import __version__
from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.computing.cores import in_order
from napari_dpdeblur.fitting.image.filters import GuidedFilter
from napari_dpdeblur.fitting.problem import lens_model
from napari_dpdeblur.fitting.report.verdict import fit_verdict
from napari_dpdeblur.fitting.resources import LAYER_SHARE
from napari_dpdeblur.optics import MultiplaneImage
from napari_dpdeblur.optics.lazy_layers import LazyLayers
from napari_dpdeblur.results.provenance import software_versions
from napari_dpdeblur.results.result import LENS_MODEL, Result

if TYPE_CHECKING:
    from napari_dpdeblur.array_types import Crop
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.capture.photo import Photo
    from napari_dpdeblur.fitting.context import FitContext
    from napari_dpdeblur.fitting.parameters.image import ResultParameters
    from napari_dpdeblur.fitting.problem import FitProblem
    from napari_dpdeblur.fitting.report.residual import FitReport
    from napari_dpdeblur.fitting.settings import FitSettings

WITHOUT_EFFECT = {"device", "threads", "memory_gb"}  # settings that do not decide the result
STRIP_PX = 256
STRIP_MARGIN_PX = 16  # more than the filter reaches


def signature(
    capture: DualPixelCapture,
    calibration: Calibration,
    settings: FitSettings,
    crop: Crop | None,
    photo: Photo | None = None,
) -> str:
    """SHA-256 of everything that decides the result."""
    parts = {
        "version": __version__,
        "capture": [_pixel_hash(capture), str(capture.raw.dtype)],
        "levels": [capture.black, capture.white, capture.encoding],
        "pixels": [capture.pixel_aspect, capture.row_upsampling, capture.orientation],
        "calibration": calibration.content_hash(),
        "settings": settings.model_dump(exclude=WITHOUT_EFFECT),
        "crop": crop,
    }
    if photo is not None:
        parts["photo"] = photo.content_hash()
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _pixel_hash(capture: DualPixelCapture) -> str:
    return hashlib.sha256(np.ascontiguousarray(capture.raw).data).hexdigest()


def make_result(
    context: FitContext,
    image: Tensor,
    defocus_map: Tensor,
    mpi: MultiplaneImage,
    confidence: Tensor,
    report: FitReport | None = None,
) -> Result:
    """Enlarge to calibrated pixels, return to the capture's unit, add the provenance.

    ``image`` (C, h, w), ``defocus_map`` (h, w), ``mpi`` and ``confidence`` (h, w) are on the grid
    of the problem, with a mean intensity of 0.5; layers that are lazy are as in the result.
    The maps of a ``report`` may be on a coarser one.
    """
    problem, settings = context.problem, context.settings
    filters = settings.parameters.result
    unit = problem.intensity_scale
    if settings.guided_filter:
        smooth = GuidedFilter(image.mean(0), filters.guided_radius_px, filters.guided_epsilon)
        check_cancelled()
        defocus_map = smooth(defocus_map)
    all_in_focus = _enlarged(problem, image)
    if settings.smooth_image:
        sigma_px = filters.bilateral_sigma_px
        smoothed = bilateral_filter(all_in_focus, settings.smooth_image, sigma_px)
        share = _enlarged(problem, deblurred_share(defocus_map, filters))
        all_in_focus += share * (smoothed - all_in_focus)
    return Result(
        mpi=_layers(context, mpi),
        all_in_focus=all_in_focus / np.float32(unit),
        defocus_map=_enlarged(problem, defocus_map),
        confidence=_enlarged(problem, confidence),
        residual=None if report is None else _enlarged(problem, report.residual),
        gain=None if report is None else _enlarged(problem, report.gain),
        provenance=_provenance(context, report),
        captured=_enlarged(problem, problem.views.mean(0) / unit),
        capture=context.capture,
        calibration=context.calibration,
    )


def deblurred_share(defocus_map: Tensor, parameters: ResultParameters) -> Tensor:
    """0 where a map (h, w) is in focus, 1 where blur was removed that amplifies noise."""
    return (defocus_map.abs() / parameters.deblurred_scale).clamp_max(1)


def _enlarged(problem: FitProblem, images: Tensor) -> FloatArray:
    """Images (..., h, w) in calibrated pixels on the CPU."""
    check_cancelled()
    return np.ascontiguousarray(problem.enlarged(images).detach().float().cpu().numpy())


def _layers(context: FitContext, mpi: MultiplaneImage) -> MultiplaneImage:
    """The layers in calibrated pixels; those that would fill the memory stay lazy."""
    problem, scales = context.problem, mpi.defocus_scales.cpu().numpy()
    if not isinstance(mpi.color, LazyLayers):
        color = _enlarged_layers(problem, mpi.color, problem.intensity_scale)
        alpha = _enlarged_layers(problem, mpi.alpha)
        own = None if mpi.defocus is None else _enlarged_layers(problem, mpi.defocus)
        return MultiplaneImage(color, alpha, scales, own)
    size = mpi.color.nbytes + mpi.alpha.nbytes * (1 if mpi.defocus is None else 2)
    if context.lazy_layers or size > LAYER_SHARE * context.budget_bytes:
        return MultiplaneImage(mpi.color, mpi.alpha, scales, mpi.defocus)
    own = None if mpi.defocus is None else _computed(mpi.defocus)
    return MultiplaneImage(_computed(mpi.color), _computed(mpi.alpha), scales, own)


def _computed(lazy: LazyLayers) -> FloatArray:
    """All layers as one array."""
    layers: FloatArray = np.empty(lazy.shape, np.float32)

    def fill(index: int) -> None:
        layers[index] = lazy[index]

    for _ in in_order(fill, range(len(layers)), torch.device("cpu")):
        check_cancelled()
    return layers


def _enlarged_layers(problem: FitProblem, layers: Tensor, unit: float = 1.0) -> FloatArray:
    """Layers (L, C, h, w) divided by ``unit``, a few at a time to save memory."""
    enlarged: FloatArray = np.empty((*layers.shape[:2], *problem.shape), np.float32)

    def fill(index: int) -> None:
        np.divide(_enlarged(problem, layers[index]), np.float32(unit), out=enlarged[index])

    for _ in in_order(fill, range(len(layers)), layers.device):
        check_cancelled()
    return enlarged


def bilateral_filter(image: FloatArray, intensity_range: float, sigma_px: float) -> FloatArray:
    """The published last step: smooth an image (C, H, W) of mean 0.5 within its edges.

    In strips, to check often for cancellation; each includes all the rows that it depends on.
    """
    smooth = np.empty_like(image)
    height = image.shape[1]
    for top in range(0, height, STRIP_PX):
        bottom = min(top + STRIP_PX, height)
        first, last = max(top - STRIP_MARGIN_PX, 0), min(bottom + STRIP_MARGIN_PX, height)
        for plane, out in zip(image, smooth, strict=True):
            strip = cv2.bilateralFilter(plane[first:last], -1, intensity_range, sigma_px)
            out[top:bottom] = strip[top - first : bottom - first]
        check_cancelled()
    return smooth


def _provenance(context: FitContext, report: FitReport | None) -> dict[str, Any]:
    check_cancelled()
    described = context.capture.describe()
    check_cancelled()
    return {
        "settings": context.settings.model_dump(),
        "signature": context.signature,
        "capture": described,
        "calibration": context.calibration.describe(),
        LENS_MODEL: lens_model(context.settings).describe(),
        "crop": None if context.crop is None else list(context.crop),
        "chromatic_shift_px": [round(shift, 4) for shift in context.problem.chromatic_px],
        "device": context.problem.views.device.type,
        "torch": str(torch.__version__),  # torch's own type would load torch with the result
        "timings_s": {stage: round(s, 3) for stage, s in context.clock.timings_s.items()},
        "elapsed_s": round(context.clock.elapsed_s(), 3),
        "versions": software_versions(),
        "notes": context.notes,
        "views_look_swapped": context.views_look_swapped,
        "view_check": None if context.view_check is None else context.view_check.describe(),
        "fit_verdict": fit_verdict(report, context.doubts),
        "loss_history": context.state.history,
    }
