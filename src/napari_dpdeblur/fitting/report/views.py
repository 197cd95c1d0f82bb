"""Can the two views be those of one exposure? Cheap figures of the views, before a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from napari_dpdeblur.array_types import Crop, FloatArray
from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.parameters.report import ViewCheckParameters
from napari_dpdeblur.fitting.problem import FitProblem

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture

MIN_BLOCK_PX = 32
DARK = 0.1  # of the median brightness: the ratio of darker pixels is mostly noise
SHADING_PX = 64  # columns and rows to which the ratio of the views is reduced


@dataclass(frozen=True)
class ViewCheck:
    """Figures of the views.

    ``correlation`` of high-passed blocks after the best displacement, 1 for equal views;
    ``vertical_px`` is how much lower the right view is; ``structure`` is contrast of the size of
    a few pixels over that of single pixels, small for noise. ``brightness`` is that of the left
    view over the right one, corrected for vignetting if it was measured (``has_vignetting``).
    ``unlike_measured`` and ``unlike_swapped`` are how far the logarithm of the ratio is from a
    common factor, and from the one of exchanged views.
    """

    are_identical: bool
    correlation: float
    vertical_px: float
    structure: float
    brightness: float
    has_vignetting: bool
    unlike_measured: float
    unlike_swapped: float

    def describe(self) -> dict[str, Any]:
        """The figures, for the provenance."""
        return {
            "identical": self.are_identical,
            "correlation": round(self.correlation, 4),
            "vertical_offset_px": round(self.vertical_px, 2),
            "structure_over_noise": round(self.structure, 3),
            "brightness_ratio": round(self.brightness, 4),
        }


def check_views(
    problem: FitProblem,
    capture: DualPixelCapture,
    calibration: Calibration,
    crop: Crop | None,
    parameters: ViewCheckParameters,
) -> ViewCheck:
    """Measure the views of a problem."""
    disparity = float(problem.kernels.disparity_px().abs().median())
    reduced = problem.reduced(max(round(disparity / parameters.disparity_px), 1))
    views = reduced.views.mean(1).cpu().numpy().astype(np.float32)
    check_cancelled()
    correlation, rows = _matched(views, parameters)
    check_cancelled()
    measured = calibration.vignetting is not None and not calibration.is_estimated
    ratio = _shading(views)
    expected = _expected(calibration, crop, ratio.shape)
    if not measured:
        ratio = ratio + expected  # that of the views as captured
    brightness = float(np.exp(np.median(ratio)))
    return ViewCheck(
        are_identical=bool(np.array_equal(capture.raw[0], capture.raw[1])),
        correlation=correlation,
        vertical_px=rows * reduced.pixel_pitch[0],
        structure=min(_structure(view) for view in views),
        brightness=brightness,
        has_vignetting=measured,
        unlike_measured=float(np.median(np.abs(ratio - np.median(ratio)))),
        unlike_swapped=float(np.median(np.abs(ratio + 2 * expected))) if measured else np.inf,
    )


def _matched(views: FloatArray, parameters: ViewCheckParameters) -> tuple[float, float]:
    """Mean correlation of matched blocks, weighted by their contrast, and the vertical offset.

    In rows; 1 and 0 if the views are too small for blocks.
    """
    left, right = (_band(view, parameters.fine_px, parameters.coarse_px) for view in views)
    height, width = left.shape
    reach = parameters.reach_px
    size = [min(parameters.block_px, side - 2 * reach) for side in (height, width)]
    if min(size) < MIN_BLOCK_PX:
        return 1.0, 0.0
    starts = [
        (top, left_)
        for top in range(reach, height - size[0] - reach + 1, size[0])
        for left_ in range(reach, width - size[1] - reach + 1, size[1])
    ]
    chosen = np.linspace(0, len(starts) - 1, min(len(starts), parameters.max_blocks)).astype(int)
    profile: FloatArray = np.zeros(2 * reach + 1, np.float32)
    best = total = 0.0
    for top, start in (starts[number] for number in chosen):
        block = left[top : top + size[0], start : start + size[1]]
        around = right[top - reach : top + size[0] + reach, start - reach : start + size[1] + reach]
        found = cv2.matchTemplate(around, block, cv2.TM_CCOEFF_NORMED)
        weight = float(block.var())
        best, total = best + weight * float(found.max()), total + weight
        profile += weight * found.max(1)
    if total <= 0:
        return 1.0, 0.0
    return best / total, _peak(profile / total, reach, parameters.vertical_gain)


def _peak(profile: FloatArray, middle: int, least_gain: float) -> float:
    """Distance of the maximum from the middle, between samples; 0 unless it is clearly higher."""
    place = int(profile.argmax())
    if profile[place] < profile[middle] + least_gain:
        return 0.0
    if not 0 < place < len(profile) - 1:
        return float(place - middle)
    before, here, after = (float(value) for value in profile[place - 1 : place + 2])
    bend = before + after - 2 * here
    return place - middle + (0.5 * (before - after) / bend if bend < 0 else 0.0)


def _band(view: FloatArray, fine_px: float, coarse_px: float) -> FloatArray:
    return _smooth(view, fine_px) - _smooth(view, coarse_px)


def _smooth(view: FloatArray, sigma_px: float) -> FloatArray:
    return np.asarray(cv2.GaussianBlur(view, (0, 0), sigma_px, borderType=cv2.BORDER_REFLECT))


def _structure(view: FloatArray) -> float:
    """Median contrast of details of a few pixels over that of single pixels."""
    fine, coarse = np.abs(view - _smooth(view, 1.0)), np.abs(_band(view, 2.0, 8.0))
    return float(max(np.median(coarse), coarse.mean()) / max(float(fine.mean()), 1e-9))


def _shading(views: FloatArray) -> FloatArray:
    """Logarithm of left over right, smooth and small (h, w); 0 where it is dark."""
    height, width = views.shape[-2:]
    size = (min(width, SHADING_PX), min(height, SHADING_PX))
    left, right = (cv2.resize(view, size, interpolation=cv2.INTER_AREA) for view in views)
    floor = max(DARK * float(np.median(left + right)) / 2, 1e-9)
    bright = (left > floor) & (right > floor)
    ratio = np.log(np.maximum(left, floor) / np.maximum(right, floor))
    usual = float(np.median(ratio[bright])) if bright.any() else 0.0
    return np.asarray(np.where(bright, ratio, usual), np.float32)


def _expected(calibration: Calibration, crop: Crop | None, shape: tuple[int, ...]) -> FloatArray:
    """Logarithm of the ratio of the vignetting that was corrected, on a small grid."""
    ratio = calibration.vignetting_ratio
    if ratio is None:
        return np.zeros(shape, np.float32)
    field = ratio[calibration.field.window]
    if crop is not None:
        top, left, height, width = crop
        field = field[top : top + height, left : left + width]
    small = cv2.resize(field, (shape[1], shape[0]), interpolation=cv2.INTER_AREA)
    return np.asarray(np.log(small), np.float32)
