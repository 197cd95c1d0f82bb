"""Levels of captures."""

from __future__ import annotations

import numpy as np
import pytest

from napari_dpdeblur.capture.levels import darkest_level


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("shape", [(2, 1, 37, 53), (11, 90)])
def test_the_darkest_level_is_a_percentile(dtype: type, shape: tuple[int, ...]) -> None:
    raw = np.random.default_rng(4).gamma(2.0, 20.0, shape).clip(0, 255).astype(dtype)
    assert darkest_level(raw) == pytest.approx(float(np.percentile(raw, 0.1)), abs=1e-6)
