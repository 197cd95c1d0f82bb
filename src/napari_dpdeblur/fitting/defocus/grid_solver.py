"""Edge-aware weighted least squares on the pixel grid, by multigrid-preconditioned CG."""

from __future__ import annotations

from functools import partial
from itertools import islice

import torch
from torch import Tensor

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.image.conjugate_gradients import conjugate_gradients
from napari_dpdeblur.fitting.parameters.defocus import SolverParameters


class GridSystem:
    """The matrix of sum w (x - c)^2 + sum s_ij (x_i - x_j)^2 over 4-neighbours.

    ``weight`` (H, W) is the weight of the data, ``along_x`` (H, W - 1) and ``along_y`` (H - 1, W)
    are the stiffnesses between neighbours.
    """

    def __init__(self, weight: Tensor, along_x: Tensor, along_y: Tensor) -> None:
        self.weight, self.along_x, self.along_y = weight, along_x, along_y
        diagonal = weight.clone()
        diagonal[:, 1:] += along_x
        diagonal[:, :-1] += along_x
        diagonal[1:] += along_y
        diagonal[:-1] += along_y
        self.diagonal = diagonal.clamp_min(torch.finfo(weight.dtype).tiny)

    def __call__(self, values: Tensor) -> Tensor:
        """The matrix times a map (H, W)."""
        out = self.weight * values
        flow_x = self.along_x * (values[:, 1:] - values[:, :-1])
        flow_y = self.along_y * (values[1:] - values[:-1])
        out[:, 1:] += flow_x
        out[:, :-1] -= flow_x
        out[1:] += flow_y
        out[:-1] -= flow_y
        return out

    def halved(self) -> GridSystem:
        """The system at half the resolution, of blocks of 2 x 2 pixels."""
        height, width = self.weight.shape
        blocks_y, blocks_x = -(-height // 2), -(-width // 2)
        weight = _padded(self.weight, 2 * blocks_y, 2 * blocks_x)
        crossing_x = _padded(self.along_x, 2 * blocks_y, 2 * blocks_x)[:, 1::2]
        crossing_y = _padded(self.along_y, 2 * blocks_y, 2 * blocks_x)[1::2]
        # Rigid blocks are twice as stiff as smooth maps: halve their coupling.
        along_x = 0.5 * crossing_x.reshape(blocks_y, 2, blocks_x).sum(1)[:, : blocks_x - 1]
        along_y = 0.5 * crossing_y.reshape(blocks_y, blocks_x, 2).sum(2)[: blocks_y - 1]
        return GridSystem(_block_sums(weight), along_x, along_y)


def _padded(values: Tensor, height: int, width: int) -> Tensor:
    rows, cols = values.shape
    return torch.nn.functional.pad(values, (0, width - cols, 0, height - rows))


def _block_sums(values: Tensor) -> Tensor:
    height, width = values.shape
    return values.reshape(height // 2, 2, width // 2, 2).sum((1, 3))


def _pyramid(system: GridSystem) -> list[GridSystem]:
    levels = [system]
    while min(levels[-1].weight.shape) > 2:
        levels.append(levels[-1].halved())
    return levels


def _v_cycle(levels: list[GridSystem], residual: Tensor, parameters: SolverParameters) -> Tensor:
    """An approximate solution of levels[0] x = residual: symmetric, so CG may use it."""
    system, damping = levels[0], parameters.damping
    values = damping * residual / system.diagonal
    for _ in range(parameters.smoothing_steps - 1):
        values += damping * (residual - system(values)) / system.diagonal
    if len(levels) > 1:
        values += _coarse_correction(levels, residual - system(values), parameters)
    for _ in range(parameters.smoothing_steps):
        values += damping * (residual - system(values)) / system.diagonal
    return values


def _coarse_correction(
    levels: list[GridSystem], residual: Tensor, parameters: SolverParameters
) -> Tensor:
    height, width = residual.shape
    blocks_y, blocks_x = levels[1].weight.shape
    gathered = _block_sums(_padded(residual, 2 * blocks_y, 2 * blocks_x))
    coarse = _v_cycle(levels[1:], gathered, parameters)
    return coarse.repeat_interleave(2, 0).repeat_interleave(2, 1)[:height, :width]


def solve(
    system: GridSystem, right_side: Tensor, start: Tensor, parameters: SolverParameters
) -> Tensor:
    """Solve system(x) = right_side from ``start`` by preconditioned conjugate gradients."""
    levels = _pyramid(system)
    enough = parameters.tolerance * right_side.norm()
    steps = conjugate_gradients(
        system, partial(_v_cycle, levels, parameters=parameters), start, right_side - system(start)
    )
    solution = start
    for values, residual, _ in islice(steps, parameters.steps):
        check_cancelled()
        solution = values
        if bool(residual.norm() <= enough):
            break
    return solution
