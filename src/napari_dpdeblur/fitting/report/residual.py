"""Residual over noise of a fit, and the verdict on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from napari_dpdeblur.fitting.image.filters import box_mean, largest_around, squared_slopes
from napari_dpdeblur.fitting.parameters.report import ReportParameters
from napari_dpdeblur.fitting.surfaces.colors import LayerColors, Observation
from napari_dpdeblur.fitting.surfaces.stack import SurfaceLayers

Verdict = Literal["good", "acceptable", "doubtful"]


@dataclass(frozen=True)
class FitReport:
    """How well the layers explain the views.

    ``residual`` (h, w) is the rms over views and channels of (rendered - captured) / sigma, on the
    grid of the map; ``gain`` (h, w) is how much brighter the left view is than the mean of both.
    ``misfit_px`` is how far the views would have to be displaced for an error as large as that of
    the surfaces, away from outlines, beyond noise: small for kernels that fit, whatever the
    contrast. ``of_layers`` is the residual of each layer, back to front.
    """

    residual: Tensor
    gain: Tensor
    residual_over_noise: float
    misfit_px: float
    of_layers: list[float]
    uncertain_share: float
    clipped_share: float
    verdict: Verdict
    causes: list[str]

    def describe(self) -> dict[str, Any]:
        """The figures, for the provenance."""
        return {
            "verdict": self.verdict,
            "causes": self.causes,
            "residual_over_noise": round(self.residual_over_noise, 3),
            "misfit_px": round(self.misfit_px, 4),
            "residual_of_layers": [round(value, 3) for value in self.of_layers],
            "uncertain_share": round(self.uncertain_share, 4),
            "clipped_share": round(self.clipped_share, 4),
        }


def fit_report(
    observed: Observation,
    colors: LayerColors,
    layers: SurfaceLayers,
    confidence: Tensor,
    parameters: ReportParameters,
) -> FitReport:
    """Compare the rendered views with the captured ones, in units of their noise."""
    squares = (observed.errors(colors.rendered) / observed.sigma).square().mean((0, 1))
    inner = _inner(torch.ones_like(squares), parameters.border_px)
    overall = _rms(squares, inner)
    of_layers = [_rms(squares, inner * own[0]) for own in layers.own]
    uncertain = float((confidence < parameters.confident).float().mean())
    clipped = float(observed.is_clipped.float().mean())
    away = inner * _away_from_outlines(layers, parameters.outline_px)
    misfit_px = _misfit_px(observed, colors.rendered, away, parameters.smooth_px)
    verdict, causes = judge(overall, misfit_px, uncertain, clipped, parameters)
    gain = colors.gain[0, 0] - 1
    return FitReport(
        squares.sqrt(), gain, overall, misfit_px, of_layers, uncertain, clipped, verdict, causes
    )


def _misfit_px(observed: Observation, rendered: Tensor, where: Tensor, smooth_px: int) -> float:
    """Rms error beyond noise over the rms slope of the rendered views, within a mask (h, w)."""
    if not bool(where.any()):
        where = torch.ones_like(where)
    radius = (smooth_px // 2,) * 2
    error = box_mean(observed.errors(rendered), radius).square().mean((0, 1))
    noise = observed.sigma.square().mean((0, 1)) / (2 * radius[0] + 1) ** 2
    slope = torch.zeros_like(where)
    for view in rendered.flatten(0, 1):
        along_y, along_x = squared_slopes(view)
        slope += (along_y + along_x) / (rendered.shape[0] * rendered.shape[1])
    excess = ((error - noise) * where).sum().clamp_min(0)
    return float((excess / (slope * where).sum().clamp_min(1e-12)).sqrt())


def _away_from_outlines(layers: SurfaceLayers, distance_px: int) -> Tensor:
    """1 where no outline is near, else 0: (h, w)."""
    outline = torch.zeros_like(layers.own[0])
    for own in layers.own:
        seen = (own > 0.5).to(own.dtype)
        outline = outline.maximum(largest_around(seen, (1, 1)) - seen)
    return 1 - largest_around(outline, (distance_px, distance_px))[0]


def judge(
    residual_over_noise: float,
    misfit_px: float,
    uncertain: float,
    clipped: float,
    parameters: ReportParameters,
) -> tuple[Verdict, list[str]]:
    """Verdict and its causes, as sentences; a good fit has none."""
    causes = []
    verdict: Verdict = "good"
    if uncertain > parameters.max_uncertain:
        verdict = "acceptable"
        causes.append(
            f"There is too little texture: the defocus of {uncertain:.0%} of the pixels is "
            "uncertain; trust the map where the confidence is high."
        )
    if clipped > parameters.max_clipped:
        verdict = "acceptable"
        causes.append(f"{clipped:.0%} of the pixels are clipped; use a shorter exposure.")
    miss = f"The layers miss the views by {residual_over_noise:.1f} times the noise"
    grades = {
        _grade(misfit_px, parameters.good_misfit_px, parameters.acceptable_misfit_px),
        _grade(residual_over_noise, parameters.good_residual, parameters.acceptable_residual),
    }
    if "doubtful" in grades:
        verdict = "doubtful"
        causes.append(
            f"{miss}: the calibration does not fit the capture, or something moved; use a "
            "calibration of this camera, made at the same focus."
        )
    elif "acceptable" in grades:
        verdict = "acceptable"
        causes.append(
            f"{miss}: outlines or the calibration are not exact; look for rims around objects."
        )
    return verdict, causes


def _grade(error: float, good: float, acceptable: float) -> Verdict:
    if error > acceptable:
        return "doubtful"
    return "acceptable" if error > good else "good"


def _inner(values: Tensor, border_px: int) -> Tensor:
    """The values (h, w), 0 within a border, unless nothing would be left."""
    if min(values.shape) <= 2 * border_px + 1:
        return values
    inside = torch.zeros_like(values)
    inside[border_px : values.shape[0] - border_px, border_px : values.shape[1] - border_px] = 1
    return values * inside


def _rms(squares: Tensor, weight: Tensor) -> float:
    return float(((squares * weight).sum() / weight.sum().clamp_min(1e-9)).sqrt())
