"""A small result."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results import Result

MakeResult = Callable[..., Result]


def _make_result(
    channels: int = 1,
    layers: int = 3,
    height: int = 20,
    width: int = 30,
    brightness: float = 0.5,
    scales: tuple[float, float] = (1.4, 0.1),
) -> Result:
    """Random numbers; ``scales`` are those of the farthest and the nearest layer."""
    random = np.random.default_rng(0)

    def values(*shape: int) -> np.ndarray:
        return random.uniform(0.0, 1.0, shape).astype(np.float32)

    alpha = values(layers, 1, height, width)
    alpha[0] = 1.0
    return Result(
        all_in_focus=brightness * values(channels, height, width),
        defocus_map=min(scales[1], 0) + (scales[0] - min(scales[1], 0)) * values(height, width),
        confidence=values(height, width),
        mpi=MultiplaneImage(
            brightness * values(layers, channels, height, width),
            alpha,
            np.linspace(*scales, layers),
        ),
        provenance={
            "settings": {"layers": layers, "preset": "standard"},
            "capture": {"name": "scene", "unit": "(raw - black) / white", "sha256": ["ab", "cd"]},
            "loss_history": [{"step": 1, "data": 0.25}, {"step": 2, "data": 0.125}],
            "elapsed_s": 12.5,
        },
        captured=brightness * values(channels, height, width),
    )


@pytest.fixture
def make_result() -> MakeResult:
    return _make_result
