from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse
import torch
from scipy.sparse.linalg import spsolve
from torch import Tensor

from napari_dpdeblur.fitting.defocus.grid_solver import GridSystem, solve
from napari_dpdeblur.fitting.parameters.defocus import SolverParameters

SHAPES = [(1, 1), (1, 9), (7, 1), (2, 2), (3, 5), (16, 16), (37, 52)]


def random_system(height: int, width: int, spread: float) -> GridSystem:
    """Weights and stiffnesses over ``spread`` decades, many pixels without any weight."""

    def positive(*size: int) -> Tensor:
        return 10 ** (spread * torch.rand(size, dtype=torch.float64))

    weight = positive(height, width) * (torch.rand(height, width) < 0.3)
    weight[0, 0] = 1.0
    return GridSystem(weight, positive(height, width - 1), positive(height - 1, width))


def matrix_of(system: GridSystem) -> sparse.csc_matrix:
    """The same matrix, assembled edge by edge."""
    height, width = system.weight.shape
    number = np.arange(height * width).reshape(height, width)
    matrix = sparse.lil_matrix((height * width, height * width))
    matrix.setdiag(system.weight.flatten().numpy())
    edges = [
        (number[:, :-1], number[:, 1:], system.along_x),
        (number[:-1], number[1:], system.along_y),
    ]
    for first, second, stiffness in edges:
        for i, j, s in zip(first.flat, second.flat, stiffness.flatten().tolist(), strict=True):
            matrix[i, i] += s
            matrix[j, j] += s
            matrix[i, j] -= s
            matrix[j, i] -= s
    return matrix.tocsc()


@pytest.mark.parametrize("shape", SHAPES)
def test_the_system_is_the_matrix(shape: tuple[int, int]) -> None:
    system, values = random_system(*shape, spread=2), torch.randn(shape, dtype=torch.float64)
    expected = matrix_of(system) @ values.flatten().numpy()
    np.testing.assert_allclose(system(values).flatten(), expected, rtol=1e-10, atol=1e-10)
    diagonal = matrix_of(system).diagonal()
    np.testing.assert_allclose(system.diagonal.flatten(), diagonal, rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("spread", [0.0, 2.0])
def test_agrees_with_a_direct_solver(shape: tuple[int, int], spread: float) -> None:
    system = random_system(*shape, spread=spread)
    right_side = system.weight * torch.rand(shape, dtype=torch.float64)
    expected = np.atleast_1d(spsolve(matrix_of(system), right_side.flatten().numpy()))
    exact = SolverParameters(steps=200, tolerance=1e-8)
    found = solve(system, right_side, torch.zeros(shape, dtype=torch.float64), exact)
    np.testing.assert_allclose(found.flatten(), expected, atol=1e-4)


def test_few_steps_are_enough_for_a_map() -> None:
    torch.manual_seed(1)
    system = random_system(64, 96, spread=1)
    right_side = system.weight * torch.rand(64, 96, dtype=torch.float64)
    expected = spsolve(matrix_of(system), right_side.flatten().numpy()).reshape(64, 96)
    found = solve(system, right_side, torch.zeros_like(right_side), SolverParameters())
    assert float(np.abs(found.numpy() - expected).max()) < 1e-2
    assert float(np.abs(found.numpy() - expected).mean()) < 1e-3


def test_a_constant_is_kept_where_nothing_contradicts() -> None:
    system = random_system(20, 30, spread=2)
    start = torch.zeros(20, 30, dtype=torch.float64)
    found = solve(system, system.weight * 0.7, start, SolverParameters(steps=100))
    np.testing.assert_allclose(found, 0.7, atol=1e-3)


def test_the_start_is_not_changed() -> None:
    system, start = random_system(8, 8, spread=1), torch.zeros(8, 8, dtype=torch.float64)
    solve(system, system.weight, start, SolverParameters())
    assert not start.any()
