"""Levels of a map: the values of its plateaus."""

from __future__ import annotations

import numpy as np
import pytest

from napari_dpdeblur.fitting.parameters.surfaces import SurfaceParameters
from napari_dpdeblur.fitting.surfaces.levels import find_levels, nearest_level, plateaus

PARAMETERS = SurfaceParameters()


def _levels(values: np.ndarray, **changed: float) -> np.ndarray:
    parameters = PARAMETERS.model_copy(update=changed)
    return find_levels(values, np.ones_like(values), parameters)


@pytest.mark.parametrize("expected", [[1.2], [1.3, 0.4], [0.9, 0.1, -0.6]])
def test_levels_of_known_clusters(expected: list[float]) -> None:
    generator = np.random.default_rng(0)
    values = np.repeat(np.float32(expected), 500)
    values += generator.normal(0, 0.01, values.size).astype(np.float32)
    np.testing.assert_allclose(_levels(values), expected, atol=0.01)


def test_weights_decide_which_values_count() -> None:
    values = np.float32([0.2] * 100 + [0.8] * 100)
    weights = np.float32([0] * 100 + [1] * 100)
    np.testing.assert_allclose(find_levels(values, weights, PARAMETERS), [0.8], atol=1e-3)


def test_a_ramp_takes_as_many_levels_as_its_range_needs() -> None:
    ramp = np.linspace(-0.5, 0.5, 2000, dtype=np.float32)
    levels = _levels(ramp, level_rms=0.1)
    # The rms distance from the middle of an interval is its width / sqrt(12).
    assert len(levels) == 3
    assert len(_levels(ramp, level_rms=0.001, max_levels=5)) == 5


def test_nearest_level() -> None:
    levels = np.float32([1.0, 0.5, -0.5])
    found = nearest_level(np.float32([2, 0.8, 0.7, 0.1, -0.1, -3]), levels)
    np.testing.assert_array_equal(found, [0, 0, 1, 1, 2, 2])


def test_plateaus_exclude_steps_and_exist_in_any_map() -> None:
    step = np.zeros((40, 40), np.float32)
    step[:, 20:] = 1
    found = plateaus(step, PARAMETERS)
    assert found[:, :15].all()
    assert not found[:, 18:22].any()
    noise = np.random.default_rng(0).random((40, 40), np.float32)
    assert plateaus(noise, PARAMETERS).all()
