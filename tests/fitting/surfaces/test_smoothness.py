from __future__ import annotations

import pytest
import torch

from napari_dpdeblur.fitting.surfaces.smoothness import SmoothnessWeights


@pytest.mark.parametrize("pixel_pitch", [(1, 1), (2, 1)])
def test_smoothness_is_symmetric_with_its_diagonal(pixel_pitch: tuple[int, int]) -> None:
    weights = SmoothnessWeights(torch.rand(2, 5, 6, dtype=torch.float64), 0.01, pixel_pitch, 0.02)
    units = torch.eye(60, dtype=torch.float64).reshape(60, 2, 5, 6)
    matrix = torch.stack([weights.gradient(unit).flatten() for unit in units])
    torch.testing.assert_close(matrix, matrix.T)
    diagonal = weights.diagonal().expand(2, 5, 6).flatten()
    torch.testing.assert_close(matrix.diagonal(), diagonal)
    assert float(torch.linalg.eigvalsh(matrix).min()) > -1e-12
    constant = torch.ones(2, 5, 6, dtype=torch.float64)
    torch.testing.assert_close(weights.gradient(constant), torch.zeros_like(constant))
