"""Grades of an estimated lens."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from napari_dpdeblur.calibration.estimate.verdict import HalfLenses, compare_halves
from napari_dpdeblur.generators import finish


def problem(reference: Tensor | None) -> Any:
    """A problem whose loss is the sum of the parameters of the lens."""
    posed = SimpleNamespace(
        field=torch.zeros(4, 2),
        prior=torch.tensor([1.0, 1.0]),
        reference=reference,
        all_windows=lambda: [(0, torch.arange(2))],
        loss=lambda values, windows: values.sum(),
        light=lambda values: values,
        parameters=None,
    )
    posed.restricted = lambda is_kept: posed
    return posed


def compared(reference: Tensor | None) -> HalfLenses:
    steps = compare_halves(problem(reference), torch.tensor([0.5, 0.5]), steps=0)
    return finish(steps, lambda _: None)


@pytest.mark.parametrize(("reference", "gain"), [(None, 1.0), (torch.tensor([2.0, 2.0]), 3.0)])
def test_the_gain_is_that_over_the_reference(reference: Tensor | None, gain: float) -> None:
    found = compared(reference)
    assert found.gain == pytest.approx(gain)
    assert found.difference == 0
