"""Adapt an existing calibration to captures: another unit of the camera, another focus distance.

The kernels of all tiles are multiplied by a smooth correction, exp of a polynomial in the position
within the kernel and in the field. It is kept only if it explains tiles that it has not seen.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from napari_dpdeblur.calibration.estimate.events import EstimateClock, EstimateEvent
from napari_dpdeblur.calibration.estimate.evidence import Evidence, gather_evidence
from napari_dpdeblur.calibration.estimate.first_look import reduced
from napari_dpdeblur.calibration.estimate.geometry import reduction
from napari_dpdeblur.calibration.estimate.optimise import (
    LensProblem,
    LensState,
    all_scales,
    occurring_scales,
    optimise,
)
from napari_dpdeblur.calibration.estimate.pupil import REACH, SAMPLES, field_positions, pupil_grid
from napari_dpdeblur.calibration.estimate.settings import EstimateSettings, LensParameters
from napari_dpdeblur.calibration.estimate.verdict import compare_halves, half_steps
from napari_dpdeblur.calibration.record import Calibration
from napari_dpdeblur.calibration.sides import disparity_px
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.generators import translated
from napari_dpdeblur.optics import TileLayout

DEGREE = 3  # of the correction within a kernel
FIELD_TERMS = 6  # 1, x, y, x^2, xy, y^2
MEAN = 0.5  # of the normalised views
KEPT = (
    "The captures do not support a change (held-out gain {gain:.3f}), so the calibration was kept "
    "as it is."
)
ADAPTED = "Adapted to {count} (held-out gain {gain:.3f})."


@dataclass(frozen=True, eq=False)
class CorrectionProblem(LensProblem):
    """Corrections of given pupils ``base`` (P, 2, n, n) instead of a parametric pupil."""

    base: Tensor = field(default_factory=lambda: torch.ones(1))
    largest_exponent: float = 2.0

    def light(self, values: Tensor) -> Tensor:
        """The corrected pupils (P, 2, n, n)."""
        grid = pupil_grid()
        light: Tensor = self.base * correction(
            values, self.field, grid / REACH, self.largest_exponent
        )
        return light / light.sum((-2, -1), keepdim=True)


def correction(values: Tensor, positions: Tensor, place: Tensor, largest: float) -> Tensor:
    """Factors (P, 2, n, n) at places (n,) from -1 to 1 within kernels, for tiles (P, 2).

    ``largest`` limits their logarithm.
    """
    y, x = positions.unbind(1)
    over_field = torch.stack([torch.ones_like(x), x, y, x * x, x * y, y * y], 1)
    within = [
        place[:, None] ** j * place[None, :] ** i
        for i in range(DEGREE + 1)
        for j in range(DEGREE + 1 - i)
        if i + j > 0
    ]
    coefficients = values.reshape(2, FIELD_TERMS, len(within))
    exponent = torch.einsum("pf,vfb,byx->pvyx", over_field, coefficients, torch.stack(within))
    return torch.exp(exponent.clamp(-largest, largest))


def refined(
    captures: Sequence[DualPixelCapture],
    start: Calibration,
    settings: EstimateSettings,
    clock: EstimateClock,
) -> Generator[EstimateEvent, None, Calibration]:
    """``start`` adapted to the captures, or unchanged with a note if they do not support it."""
    views = [_grey(start.prepare(capture)) for capture in captures]
    yield clock.event("vignetting", 1, 1, "views prepared")
    problem = _posed(views, start, settings)
    yield clock.event("disparity", 1, 1, "views divided into tiles")
    if not problem.all_windows():
        return _noted(start, KEPT.format(gain=0.0))
    scales, _ = occurring_scales(problem, problem.prior)
    problem = replace(problem, scales=scales)
    steps, count = half_steps(settings.steps, settings.verdict), itertools.count(1)

    def told(_: None) -> EstimateEvent:
        return clock.event("verdict", next(count), 2 * steps + 1, "halves of the picture compared")

    state = LensState.start(problem.prior)
    for moved in optimise(problem, state, settings.steps):
        state = moved
        yield clock.event("lens", state.step, settings.steps, "corrected", loss=state.loss)
    halves = yield from translated(compare_halves(problem, problem.prior, steps), told)
    if halves.gain < settings.refine.least_gain:
        return _noted(start, KEPT.format(gain=halves.gain))
    number = "1 capture" if len(captures) == 1 else f"{len(captures)} captures"
    adapted = replace(start, kernels=_corrected(start, problem, state.values))
    source = {**start.source, "adapted_to": [capture.name for capture in captures]}
    note = ADAPTED.format(count=number, gain=halves.gain)
    return _noted(replace(adapted, source=source), note)


def _grey(views: np.ndarray) -> Tensor:
    grey = torch.from_numpy(views.mean(1))
    return grey * (MEAN / grey.mean().clamp_min(1e-9))


def _posed(
    views: Sequence[Tensor], start: Calibration, settings: EstimateSettings
) -> CorrectionProblem:
    height, width = start.field.height, start.field.width
    disparity = float(np.abs(disparity_px(start.kernels)).mean())
    pitch = reduction((height, width), disparity, settings.evidence, settings.tiles)
    radius = start.kernels.shape[-1] / 2 / REACH / pitch
    base = _pupils(torch.from_numpy(np.array(start.kernels)))
    zeros = torch.zeros(2 * FIELD_TERMS * ((DEGREE + 1) * (DEGREE + 2) // 2 - 1))
    margin = int(REACH * settings.lens.largest_scale * radius) + settings.tiles.context_px
    layout = TileLayout.regular(height, width, start.rows, start.cols).coarser(pitch, pitch)

    def evidence(pair: Tensor) -> Evidence:
        found = gather_evidence(reduced(pair, pitch), layout, margin, settings.evidence)
        return found.with_texture()

    gathered = [one for one in map(evidence, views) if len(one.tiles)]
    return CorrectionProblem(
        evidence=gathered,
        field=field_positions(start.rows, start.cols, height, width),
        prior=zeros,
        spread=torch.full_like(zeros, settings.refine.coefficient_spread),
        radius_px=radius,
        disparity_px=disparity / pitch,
        scales=all_scales(settings.lens),
        parameters=_careful(settings.lens, settings.refine.careful),
        base=base,
        largest_exponent=settings.refine.largest_exponent,
    )


def _careful(parameters: LensParameters, share: float) -> LensParameters:
    """Smaller steps: a hundred coefficients of a lens that is nearly right already."""
    rate = share * parameters.learning_rate
    return parameters.model_copy(update={"learning_rate": rate})


def _pupils(kernels: Tensor) -> Tensor:
    """Kernels (P, 2, K, K) on the samples of a pupil: (P, 2, n, n)."""
    light = interpolate(kernels, size=(SAMPLES, SAMPLES), mode="area")
    return light / light.sum((-2, -1), keepdim=True)


def _corrected(start: Calibration, problem: CorrectionProblem, values: Tensor) -> np.ndarray:
    size = start.kernels.shape[-1]
    place = (2 * torch.arange(size) + 1) / size - 1
    factors = correction(values, problem.field, place, problem.largest_exponent)
    kernels = torch.from_numpy(np.array(start.kernels)) * factors
    return np.asarray((kernels / kernels.sum((-2, -1), keepdim=True)).numpy())


def _noted(calibration: Calibration, note: str) -> Calibration:
    """The calibration with a further note in its verdict."""
    verdict: dict[str, Any] = dict(calibration.verdict or {})
    return replace(calibration, verdict={**verdict, "notes": [*verdict.get("notes", []), note]})
