"""Edge-aware filling of sparse maps, instead of the bilateral solver of the publications."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.fitting.defocus.grid_solver import GridSystem, solve
from napari_dpdeblur.fitting.parameters.defocus import SolverParameters

EDGE_FLOOR = 1e-3
SOLVER_STEPS = 40


def edge_aware_fill(
    target: FloatArray, confidence: FloatArray, guide: FloatArray, smoothness: float, edge: float
) -> FloatArray:
    """Minimise sum c (x - target)^2 + smoothness sum w_ij (x_i - x_j)^2 over 4-neighbours.

    All maps are (h, w). w = exp(-|difference of the guide| / edge): the objective of the fast
    global smoother (Min et al. 2014) and, with weights from a bilateral grid, of the bilateral
    solver (Barron and Poole 2016).
    """
    picture, weight, values = (
        torch.from_numpy(np.ascontiguousarray(a, np.float32)) for a in (guide, confidence, target)
    )
    along_x = smoothness * _affinity(picture[:, 1:] - picture[:, :-1], edge)
    along_y = smoothness * _affinity(picture[1:] - picture[:-1], edge)
    system = GridSystem(weight, along_x, along_y)
    start = torch.full_like(values, float((weight * values).sum() / weight.sum().clamp_min(1e-30)))
    solved = solve(system, weight * values, start, SolverParameters(steps=SOLVER_STEPS))
    return np.asarray(solved.numpy())


def _affinity(difference: Tensor, edge: float) -> Tensor:
    return torch.exp(-difference.abs() / edge) + EDGE_FLOOR
