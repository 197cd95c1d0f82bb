"""Residual over noise and the verdict."""

from __future__ import annotations

import re

import pytest
import torch

from napari_dpdeblur.fitting.parameters.report import ReportParameters
from napari_dpdeblur.fitting.report.residual import fit_report, judge
from napari_dpdeblur.fitting.surfaces.colors import LayerColors, Observation
from napari_dpdeblur.fitting.surfaces.stack import SurfaceLayers

PARAMETERS = ReportParameters()


def test_a_residual_of_known_size() -> None:
    """The left half misses by three sigma, the right half explains the views."""
    views = torch.full((2, 1, 64, 80), 0.5)
    rendered = views.clone()
    rendered[..., :40] += 0.03
    half = torch.zeros(1, 64, 80)
    half[..., :40] = 1
    own = torch.stack([half, 1 - half])
    layers = SurfaceLayers(own, own, torch.ones_like(own), torch.tensor([1.0, 0.5]))
    observed = Observation(views, torch.full_like(views, 0.01), views > 1)
    gain = torch.full((2, 1, 64, 80), 1.02)
    colors = LayerColors(torch.zeros(2, 1, 64, 80), gain, rendered, error=4.5e-4)
    report = fit_report(observed, colors, layers, torch.ones(64, 80), PARAMETERS)
    assert report.residual_over_noise == pytest.approx(3 / 2**0.5, rel=1e-3)
    assert report.of_layers == pytest.approx([3, 0], abs=1e-3)
    assert float(report.residual[30, 20]) == pytest.approx(3, rel=1e-3)
    assert float(report.gain.mean()) == pytest.approx(0.02, rel=1e-3)
    assert report.describe()["residual_over_noise"] == pytest.approx(2.121)


@pytest.mark.parametrize(
    ("figures", "verdict", "cause"),
    [
        ((1.5, 0.1, 0.2, 0.0), "good", None),
        ((3.0, 0.1, 0.2, 0.0), "acceptable", r"3\.0 times the noise: outlines or the calibration"),
        ((2.0, 0.2, 0.2, 0.0), "acceptable", r"2\.0 times the noise: outlines or the calibration"),
        ((9.0, 0.1, 0.2, 0.0), "doubtful", r"9\.0 times the noise: the calibration does not fit"),
        ((2.0, 0.4, 0.2, 0.0), "doubtful", r"2\.0 times the noise: the calibration does not fit"),
        ((1.5, 0.1, 0.9, 0.0), "acceptable", r"too little texture: the defocus of 90% of the"),
        ((1.5, 0.1, 0.2, 0.1), "acceptable", r"10% of the pixels are clipped"),
    ],
)
def test_verdicts(
    figures: tuple[float, float, float, float], verdict: str, cause: str | None
) -> None:
    found, causes = judge(*figures, PARAMETERS)
    assert found == verdict
    assert len(causes) == (cause is not None)
    assert cause is None or re.search(cause, causes[0])


def test_a_doubtful_fit_stays_doubtful_whatever_else_is_wrong() -> None:
    verdict, causes = judge(9.0, 0.1, 0.9, 0.1, PARAMETERS)
    assert verdict == "doubtful"
    assert len(causes) == 3


@pytest.mark.parametrize(("shift_px", "noise"), [(0.0, 0.01), (0.3, 0.01), (0.3, 0.0)])
def test_the_misfit_of_a_displaced_view(shift_px: float, noise: float) -> None:
    """Whatever the contrast and the noise, the misfit is the displacement."""
    generator = torch.Generator().manual_seed(0)
    cols = torch.arange(160.0).expand(96, 160)
    pattern, moved = (0.5 + 0.3 * torch.sin((cols + s) / 6) for s in (0.0, shift_px))
    captured = torch.stack([pattern, pattern])[:, None]
    captured = captured + noise * torch.randn(captured.shape, generator=generator)
    own = torch.ones(1, 1, 96, 160)
    layers = SurfaceLayers(own, own, own, torch.tensor([1.0]))
    observed = Observation(captured, torch.full_like(captured, max(noise, 1e-4)), captured > 2)
    rendered = torch.stack([moved, moved])[:, None]
    colors = LayerColors(rendered[:1], torch.ones_like(rendered), rendered, error=0.0)
    report = fit_report(observed, colors, layers, torch.ones(96, 160), PARAMETERS)
    assert report.misfit_px == pytest.approx(shift_px, abs=0.03)
