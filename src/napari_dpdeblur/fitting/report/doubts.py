"""Why a fit should not be trusted: one sentence with cause and remedy for each reason."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from napari_dpdeblur.fitting.parameters.report import ViewCheckParameters
from napari_dpdeblur.fitting.report.views import ViewCheck

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture

BAD = "bad"  # grade of a calibration
CALIBRATION = "calibration"  # kind of a doubt; all others are about the views
SWAPPED = "swapped"
OTHER_FOCUS = 1.5  # ratio of focus distances
UNEVEN = 0.08  # logarithm of the ratio of views: more than scenes with right views show


@dataclass(frozen=True)
class Doubt:
    """A reason, by its kind and as a sentence."""

    kind: str
    text: str


def view_doubts(found: ViewCheck, parameters: ViewCheckParameters) -> list[Doubt]:
    """What is wrong with the views as a pair; nothing if they can be those of one exposure."""
    shows_noise = found.structure < parameters.min_structure
    limits = parameters.max_raw_brightness, parameters.max_brightness
    if found.are_identical:
        return [_IDENTICAL]
    if found.correlation < parameters.min_correlation:
        return [_NOISE if shows_noise else _OTHER_SCENE]
    doubts = []
    if abs(found.vertical_px) > parameters.max_vertical_px:
        doubts.append(_displaced(found.vertical_px))
    if _has_swapped_shading(found):
        doubts.append(_SWAPPED)
    elif abs(math.log(found.brightness)) > math.log(limits[found.has_vignetting]):
        doubts.append(_brightness(found))
    return doubts


def _has_swapped_shading(found: ViewCheck) -> bool:
    """Whether the vignetting fits the views only if they are exchanged."""
    is_uneven = found.unlike_measured > UNEVEN
    return is_uneven and 2 * found.unlike_swapped < found.unlike_measured


def with_search(doubts: list[Doubt], found: ViewCheck, looks_swapped: bool) -> list[Doubt]:
    """The doubts after the search, which tells on which side of the focus plane the scene lies.

    Everything in front of it means exchanged views, which would also differ in brightness; only
    where the measured vignetting fits the views as they are, the scene may be so.
    """
    kinds = {doubt.kind for doubt in doubts}
    if not looks_swapped or SWAPPED in kinds or kinds & {"identical", "noise", "other scene"}:
        return doubts
    off = abs(math.log(found.brightness)) + found.unlike_measured
    if found.has_vignetting and 2 * off < found.unlike_swapped:
        return doubts
    return [_SWAPPED, *(doubt for doubt in doubts if doubt.kind != "brightness")]


def calibration_doubts(calibration: Calibration, capture: DualPixelCapture) -> list[Doubt]:
    """A bad verdict on a measured calibration, or another focus; notes tell of estimated ones."""
    if calibration.is_estimated:
        return []
    return [*_bad_grade(calibration), *_other_focus(calibration, capture)]


def _other_focus(calibration: Calibration, capture: DualPixelCapture) -> list[Doubt]:
    theirs = calibration.focus_distance_m
    ours = None if capture.optics is None else capture.optics.focus_distance_m
    if not theirs or not ours or max(theirs / ours, ours / theirs) < OTHER_FOCUS:
        return []
    text = (
        f"The calibration was made at a focus distance of {theirs:.2g} m, but the capture at "
        f"{ours:.2g} m: use a calibration made at the same focus."
    )
    return [Doubt(CALIBRATION, text)]


def _bad_grade(calibration: Calibration) -> list[Doubt]:
    verdict = calibration.verdict or {}
    if verdict.get("grade") != BAD:
        return []
    bad = [check for check in verdict.get("checks", []) if check.get("grade") == BAD]
    remedies = [str(check["remedy"]).rstrip(".") for check in bad if check.get("remedy")]
    why = f" ({'; '.join(remedies)})" if remedies else ""
    text = f"The calibration is graded bad{why}: calibrate again, or use another calibration."
    return [Doubt(CALIBRATION, text)]


def _displaced(vertical_px: float) -> Doubt:
    where = "lower" if vertical_px > 0 else "higher"
    return Doubt(
        "vertical offset",
        f"The right view lies {abs(vertical_px):.1f} px {where} than the left one, but the views "
        "of one exposure differ only along x: use the original files, uncropped and unaligned.",
    )


def _brightness(found: ViewCheck) -> Doubt:
    brighter = "left" if found.brightness > 1 else "right"
    ratio = max(found.brightness, 1 / found.brightness)
    than = "the calibrated vignetting allows" if found.has_vignetting else "the other one"
    return Doubt(
        "brightness",
        f"The {brighter} view is {ratio:.2f} times as bright as {than}: use both views of one "
        "exposure without brightness adjustment, and check the black level.",
    )


_IDENTICAL = Doubt(
    "identical",
    "The two views are identical: unless the whole scene is in focus, one file is a copy of the "
    "other, so check the files.",
)
_NOISE = Doubt(
    "noise",
    "The views show hardly anything but noise: use a brighter exposure or a scene with texture.",
)
_OTHER_SCENE = Doubt(
    "other scene",
    "The views do not show the same scene: check that both files belong to one exposure.",
)
_SWAPPED = Doubt(
    SWAPPED,
    "The left and right view seem to be swapped: fit again with swap_views to exchange them.",
)
