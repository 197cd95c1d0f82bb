"""What a user should know about a finished search: notes, kept in the provenance of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from napari_dpdeblur.fitting.problem import resample

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.fitting.defocus.search import DefocusSearch
    from napari_dpdeblur.fitting.settings import FitSettings

BAD = "bad"  # grade of a verdict
TRACE = 0.01  # of the confidence: less than this is not worth a note
OUTSIDE = 0.05


def scene_notes(
    search: DefocusSearch, settings: FitSettings, calibration: Calibration
) -> tuple[list[str], bool]:
    """Sentences about the scene, and whether the views look swapped."""
    parameters = settings.parameters
    confidence = search.estimate.confidence(parameters.local_estimate)
    # A resumed fit has a finer map.
    values = resample(search.defocus_map, (confidence.shape[-2], confidence.shape[-1]))
    in_front = _share(values < 0, confidence)
    look_swapped = in_front > parameters.search.swapped_share
    notes = []
    if look_swapped:
        notes.append(
            "Everything lies in front of the focus plane: are the views swapped? Fit again with "
            "swap_views to exchange them."
        )
    elif in_front > TRACE and calibration.front_kernels is None and not calibration.is_estimated:
        notes.append(
            f"{in_front:.0%} of the scene lies in front of the focus plane, where the kernels were "
            "derived from those behind it."
        )
    outside = _share(_outside(values, settings), confidence)
    if outside > OUTSIDE:
        notes.append(f"{outside:.0%} of the scene lies outside the given range of defocus.")
    return notes, look_swapped


def lens_notes(calibration: Calibration, capture: DualPixelCapture) -> list[str]:
    """Where an estimated lens comes from and how good it is; nothing about a measured one."""
    if not calibration.is_estimated:
        return []
    names = list(calibration.source.get("captures") or [])
    count = "1 other capture" if len(names) == 1 else f"{len(names)} captures"
    origin = "this capture" if names == [capture.name] else count
    verdict = calibration.verdict or {}
    grade = str(verdict.get("grade") or "none")
    sentences = [f"The lens was estimated from {origin} (verdict: {grade})."]
    if grade == BAD:
        bad = [check for check in verdict.get("checks", []) if check["grade"] == BAD]
        sentences += [str(check["remedy"]) for check in bad]
        sentences += [str(note) for note in verdict.get("notes", [])]
    if (problem := optics_problem(capture)) is not None:
        sentences.append(problem)
    return [" ".join(sentences)]


def optics_problem(capture: DualPixelCapture) -> str | None:
    """Why an estimate does not use the optics of a capture, if they are known but impossible."""
    from napari_dpdeblur.calibration.estimate.geometry import has_plausible_blur
    from napari_dpdeblur.calibration.estimate.settings import TileParameters

    optics = capture.optics
    frame = (round(capture.shape[-2] * capture.pixel_aspect), capture.shape[-1])
    if optics is None or not optics.is_complete:
        return None
    if has_plausible_blur(optics, frame, TileParameters()):
        return None
    return (
        f"The optics were not used: they give a blur of {optics.blur_at_infinity_px:.3g} px, which "
        f"is not possible for a picture of {frame[1]} px; check focal length, f-number, focus "
        "distance and sensor width."
    )


def _outside(values: Tensor, settings: FitSettings) -> Tensor:
    low = -float("inf") if settings.front_scale is None else settings.front_scale
    high = float("inf") if settings.back_scale is None else settings.back_scale
    return (values < low) | (values > high)


def _share(where: Tensor, confidence: Tensor) -> float:
    """Share of the confidence that belongs to some pixels."""
    return float((confidence * where).sum() / confidence.sum().clamp_min(1e-12))
