"""Generic lenses, with and without known optics."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from napari_dpdeblur.calibration.estimate.profiles import (
    PROFILES,
    SHARED,
    chosen_profile,
    generic_lens,
    spread,
)
from napari_dpdeblur.calibration.estimate.pupil import NAMES, REACH, SAMPLES
from napari_dpdeblur.calibration.estimate.settings import SpreadParameters

LIMITS = SpreadParameters()


def test_known_optics_leave_little_freedom_to_what_both_views_share() -> None:
    ratio = spread(LIMITS, has_optics=True) / spread(LIMITS, has_optics=False)
    expected = [LIMITS.known_optics if name in SHARED else 1.0 for name in NAMES]
    torch.testing.assert_close(ratio, torch.tensor(expected))


def test_known_optics_have_a_hard_rim_and_change_nothing_else() -> None:
    for name, profile in PROFILES.items():
        plain = generic_lens(name, LIMITS, has_optics=False)
        hard = generic_lens(name, LIMITS, has_optics=True)
        assert torch.equal(plain, profile.tensor())
        assert math.isclose(
            math.exp(hard[NAMES.index("edge")]), LIMITS.known_optics_edge, rel_tol=1e-5
        )
        assert torch.equal(hard[1:], plain[1:])


def test_no_profile_has_a_harder_rim_than_the_samples_of_the_pupil_resolve() -> None:
    distance = 2 * REACH / SAMPLES
    assert all(math.exp(profile.edge) >= distance / 2 for profile in PROFILES.values())


@pytest.mark.parametrize(
    ("camera", "file_format", "profile"),
    [
        ("Google Pixel 4", "png", "pixel 4"),
        (None, "pixel-published-png", "pixel 4"),
        (None, "pixel-app-pgm", "pixel"),  # of any phone
        ("Canon EOS R6", "tiff", "canon full frame"),
        (None, "png", "neutral"),
    ],
)
def test_the_profile_follows_from_camera_or_format(
    camera: str | None, file_format: str, profile: str
) -> None:
    capture: Any = SimpleNamespace(
        optics=SimpleNamespace(camera=camera), source=SimpleNamespace(format=file_format)
    )
    assert chosen_profile([capture], "automatic") == profile
