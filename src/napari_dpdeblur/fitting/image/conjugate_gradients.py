"""Preconditioned conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

Operator = Callable[[Tensor], Tensor]
SMALLEST_ENERGY = 1e-30  # against a division by zero


def conjugate_gradients(
    matrix: Operator, preconditioner: Operator, start: Tensor, residual: Tensor
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Steps towards the solution of a symmetric, positive definite system from ``start``.

    ``residual`` is the right side minus the matrix times the start. Yields solution, residual and
    step length after each step, without end.
    """
    values = start
    direction = preconditioner(residual)
    energy = (residual * direction).sum()
    while True:
        moved = matrix(direction)
        length = energy / (direction * moved).sum().clamp_min(torch.finfo(values.dtype).tiny)
        values = values + length * direction
        residual = residual - length * moved
        yield values, residual, length
        correction = preconditioner(residual)
        previous, energy = energy, (residual * correction).sum()
        direction = correction + energy / previous.clamp_min(SMALLEST_ENERGY) * direction
