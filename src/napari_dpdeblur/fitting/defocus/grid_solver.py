"""Edge-aware weighted least squares on the pixel grid, by multigrid-preconditioned CG."""

from __future__ import annotations

import torch
from torch import Tensor

from napari_dpdeblur.cancellation import check_cancelled

SMOOTHING_STEPS = 2
DAMPING = 0.7


class GridSystem:
    """The matrix of sum w (x - c)^2 + sum s_ij (x_i - x_j)^2 over 4-neighbours, with its halves.

    ``weight`` (H, W) is the pull of the data, ``along_x`` (H, W - 1) and ``along_y`` (H - 1, W)
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
        """The system of 2 x 2 blocks of pixels that move together."""
        height, width = self.weight.shape
        blocks_y, blocks_x = -(-height // 2), -(-width // 2)
        weight = _padded(self.weight, 2 * blocks_y, 2 * blocks_x)
        crossing_x = _padded(self.along_x, 2 * blocks_y, 2 * blocks_x)[:, 1::2]
        crossing_y = _padded(self.along_y, 2 * blocks_y, 2 * blocks_x)[1::2]
        # Rigid blocks are twice as stiff as smooth maps are: halve what connects them.
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


def _v_cycle(levels: list[GridSystem], residual: Tensor) -> Tensor:
    """An approximate solution of levels[0] x = residual: symmetric, so CG may use it."""
    system = levels[0]
    values = DAMPING * residual / system.diagonal
    for _ in range(SMOOTHING_STEPS - 1):
        values += DAMPING * (residual - system(values)) / system.diagonal
    if len(levels) > 1:
        values += _coarse_correction(levels, residual - system(values))
    for _ in range(SMOOTHING_STEPS):
        values += DAMPING * (residual - system(values)) / system.diagonal
    return values


def _coarse_correction(levels: list[GridSystem], residual: Tensor) -> Tensor:
    height, width = residual.shape
    blocks_y, blocks_x = levels[1].weight.shape
    gathered = _block_sums(_padded(residual, 2 * blocks_y, 2 * blocks_x))
    coarse = _v_cycle(levels[1:], gathered)
    return coarse.repeat_interleave(2, 0).repeat_interleave(2, 1)[:height, :width]


def solve(
    system: GridSystem,
    right_side: Tensor,
    start: Tensor,
    steps: int = 20,
    tolerance: float = 1e-5,
) -> Tensor:
    """Solve system(x) = right_side from ``start`` by preconditioned conjugate gradients.

    ``check`` is called in every step, so that a long solution can be interrupted.
    """
    levels = _pyramid(system)
    values = start.clone()
    residual = right_side - system(values)
    direction = _v_cycle(levels, residual)
    energy = (residual * direction).sum()
    enough = tolerance * right_side.norm()
    for _ in range(steps):
        check_cancelled()
        moved = system(direction)
        length = energy / (direction * moved).sum().clamp_min(torch.finfo(values.dtype).tiny)
        values += length * direction
        residual -= length * moved
        if bool(residual.norm() <= enough):
            break
        correction = _v_cycle(levels, residual)
        previous, energy = energy, (residual * correction).sum()
        direction = correction + energy / previous.clamp_min(1e-30) * direction
    return values
