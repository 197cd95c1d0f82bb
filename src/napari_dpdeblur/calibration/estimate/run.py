"""Estimate the lens of a camera from ordinary captures, as a generator of events."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from napari_dpdeblur.calibration.estimate.checkpoint import LensCheckpoint
from napari_dpdeblur.calibration.estimate.events import EstimateClock, EstimateEvent
from napari_dpdeblur.calibration.estimate.first_look import (
    largest_disparity,
    matched_disparities,
    view_ratio,
)
from napari_dpdeblur.calibration.estimate.geometry import Geometry, gathered, lens_geometry
from napari_dpdeblur.calibration.estimate.optimise import (
    LensProblem,
    all_scales,
    occurring_scales,
    optimise,
)
from napari_dpdeblur.calibration.estimate.profiles import chosen_profile, generic_lens, spread
from napari_dpdeblur.calibration.estimate.pupil import NAMES, kernel_size_px, sampled_kernels
from napari_dpdeblur.calibration.estimate.refine import refined
from napari_dpdeblur.calibration.estimate.settings import EstimateSettings
from napari_dpdeblur.calibration.estimate.verdict import compare_halves, half_steps, judge_lens
from napari_dpdeblur.calibration.kept_estimate import check_same_camera, estimate_signature
from napari_dpdeblur.calibration.record import ESTIMATE, Calibration, Field
from napari_dpdeblur.calibration.verdict import BAD
from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.generators import translated

SHOWN_EVERY = 5  # steps between two previews of the kernels
MEAN = 0.5  # of the normalised views
IN_FOCUS = (
    "Everything is in focus, so there is no lens to estimate: this is a generic one, which leaves "
    "the picture as it is. Focus elsewhere to get blur."
)
NO_TEXTURE = (
    "There is no texture to estimate a lens from: this is a generic one. Add captures of a "
    "textured scene at several distances."
)


@dataclass(frozen=True, eq=False)
class _Views:
    """Grey views (2, H, W) of each capture with equal vignetting, and its ratio (H, W)."""

    grey: list[Tensor]
    ratio: np.ndarray


def estimate_events(
    captures: Sequence[DualPixelCapture],
    settings: EstimateSettings | None = None,
    *,
    start: Calibration | None = None,
    checkpoint: Path | None = None,
) -> Generator[EstimateEvent, None, Calibration]:
    """Estimate a lens as a generator that yields events and returns the Calibration.

    With ``start``, adapt that calibration. ``checkpoint`` is a file for the state, removed at the
    end.
    """
    settings, clock = settings or EstimateSettings(), EstimateClock()
    check_same_camera(captures)
    for capture in captures:
        _check_views(capture)
    if start is not None:
        return (yield from refined(captures, start, settings, clock))
    square = [capture.with_square_pixels() for capture in captures]
    kept = LensCheckpoint(checkpoint, estimate_signature(captures, settings))
    views = _equalised(square)
    yield clock.event("vignetting", 1, 1, "vignetting of both views")
    largest_px = _largest_disparity(views.grey, settings)
    yield clock.event("disparity", 1, 1, f"disparity of up to {largest_px:.1f} px")
    profile = chosen_profile(captures, settings.profile)
    geometry = lens_geometry(square[0], largest_px, settings)
    prior = generic_lens(profile, settings.spread, geometry.has_optics)
    if largest_px < settings.disparity.in_focus_px:
        return _generic(captures, views, geometry, prior, profile, IN_FOCUS)
    problem = _posed(views.grey, geometry, prior, settings)
    if not problem.all_windows():
        return _generic(captures, views, geometry, prior, profile, NO_TEXTURE)
    problem, geometry = _gauged(problem, geometry, views.grey, settings)
    steps = settings.steps + settings.lens.steps_per_capture * (len(captures) - 1)
    values = yield from _optimised(problem, geometry, steps, kept, clock)
    verdict = yield from _judged(problem, values, settings, clock)
    kept.remove()
    return _calibration(captures, views, geometry, problem, values, verdict, profile)


def _check_views(capture: DualPixelCapture) -> None:
    check_cancelled()
    if np.array_equal(capture.raw[0], capture.raw[1]):
        raise CalibrationError(
            f"The two views of {capture.name} are identical, so there is no lens to estimate; "
            "open the left and the right view of one exposure."
        )


def _equalised(captures: Sequence[DualPixelCapture]) -> _Views:
    grey = []
    for capture in captures:
        grey.append(capture.views.mean(1))
        check_cancelled()
    ratio = view_ratio(grey)
    check_cancelled()
    views = []
    for pair in grey:
        equal = torch.from_numpy(np.stack([pair[0], pair[1] * ratio]))
        views.append(equal * (MEAN / equal.mean().clamp_min(1e-9)))
    return _Views(views, ratio)


def _largest_disparity(views: Sequence[Tensor], settings: EstimateSettings) -> float:
    found = [matched_disparities(pair, settings.disparity) for pair in views]
    return largest_disparity(torch.cat(found), settings.disparity)


def _posed(
    views: Sequence[Tensor], geometry: Geometry, prior: Tensor, settings: EstimateSettings
) -> LensProblem:
    evidence = [gathered(pair, geometry, settings.evidence) for pair in views]
    return LensProblem(
        evidence=[one for one in evidence if len(one.tiles)],
        field=geometry.field(),
        prior=prior,
        spread=spread(settings.spread, geometry.has_optics),
        radius_px=geometry.radius_of_estimate,
        disparity_px=geometry.disparity_px / geometry.pitch_px,
        scales=all_scales(settings.lens, geometry.farthest_scale),
        parameters=settings.lens,
        # not the prior: that of a known camera may be right already
        reference=generic_lens("neutral", settings.spread, geometry.has_optics),
    )


def _gauged(
    problem: LensProblem, geometry: Geometry, views: Sequence[Tensor], settings: EstimateSettings
) -> tuple[LensProblem, Geometry]:
    """The problem on the sides that occur, with a unit of defocus that suits the scene."""
    scales, factor = occurring_scales(problem, problem.prior)
    if geometry.radius_px is None:
        geometry = geometry.with_disparity(factor * geometry.disparity_px, settings.evidence)
        problem = _posed(views, geometry, problem.prior, settings)
    return replace(problem, scales=scales), geometry


def _optimised(
    problem: LensProblem,
    geometry: Geometry,
    steps: int,
    kept: LensCheckpoint,
    clock: EstimateClock,
) -> Generator[EstimateEvent, None, Tensor]:
    state = kept.load(problem.prior)
    for moved in optimise(problem, state, steps):
        state = moved
        content: dict[str, Any] = {"loss": state.loss}
        if state.step % SHOWN_EVERY == 0 or state.step == steps:
            kept.save(state)
            content["kernels"] = _kernels(problem, geometry, state.values)
        yield clock.event("lens", state.step, steps, f"log cost {state.loss:.3f}", **content)
    return state.values


def _judged(
    problem: LensProblem, values: Tensor, settings: EstimateSettings, clock: EstimateClock
) -> Generator[EstimateEvent, None, dict[str, Any]]:
    count, total = itertools.count(1), half_steps(settings.steps, settings.verdict)

    def told(_: None) -> EstimateEvent:
        return clock.event("verdict", next(count), 2 * total + 1, "halves of the picture compared")

    halves = yield from translated(compare_halves(problem, values, total), told)
    verdict = judge_lens(problem, values, halves, settings.verdict)
    yield clock.event("verdict", 2 * total + 1, 2 * total + 1, f"verdict: {verdict['grade']}")
    return verdict


def _radius_px(problem: LensProblem, geometry: Geometry, values: Tensor) -> float:
    with torch.no_grad():
        return geometry.pitch_px * float(problem.radius(problem.light(values)))


def _kernels(problem: LensProblem, geometry: Geometry, values: Tensor) -> np.ndarray:
    radius_px = _radius_px(problem, geometry, values)
    with torch.no_grad():
        size = kernel_size_px(radius_px)
        return sampled_kernels(values, geometry.kernel_field(), radius_px, size).numpy()


def _calibration(
    captures: Sequence[DualPixelCapture],
    views: _Views,
    geometry: Geometry,
    problem: LensProblem,
    values: Tensor,
    verdict: dict[str, Any],
    profile: str,
) -> Calibration:
    radius_px = _radius_px(problem, geometry, values)
    found = {name: round(float(v), 4) for name, v in zip(NAMES, values, strict=True)}
    source = {"radius_px": round(radius_px, 3), "pupil": found, "profile": profile}
    kernels = _kernels(problem, geometry, values)
    return _record(captures, views, geometry, kernels, verdict, source)


def _generic(
    captures: Sequence[DualPixelCapture],
    views: _Views,
    geometry: Geometry,
    prior: Tensor,
    profile: str,
    why: str,
) -> Calibration:
    """The generic lens, graded bad, for captures that say nothing about theirs."""
    radius_px = geometry.radius_px or geometry.generic_radius_px
    size = kernel_size_px(radius_px)
    kernels = sampled_kernels(prior, geometry.kernel_field(), radius_px, size).numpy()
    verdict = {"grade": BAD, "checks": [], "notes": [why]}
    return _record(captures, views, geometry, kernels, verdict, {"profile": profile})


def _record(
    captures: Sequence[DualPixelCapture],
    views: _Views,
    geometry: Geometry,
    kernels: np.ndarray,
    verdict: dict[str, Any],
    source: dict[str, Any],
) -> Calibration:
    height, width = geometry.frame_shape
    first = captures[0]
    optics = first.optics
    return Calibration(
        kernels,
        geometry.rows,
        geometry.cols,
        Field(0, 0, height, width),
        (height, width),
        vignetting=np.stack([views.ratio, np.ones_like(views.ratio)]),
        camera=(optics and optics.camera) or "unknown camera",
        focus_distance_m=optics.focus_distance_m if optics else None,
        captured_on=datetime.date.today().isoformat(),
        verdict=verdict,
        lens_constants=geometry.lens_constants,
        source={
            "format": ESTIMATE,
            "captures": [capture.name for capture in captures],
            "sha256": [digest for capture in captures for digest in capture.source.sha256],
            **source,
        },
        orientation=first.orientation,
    )
