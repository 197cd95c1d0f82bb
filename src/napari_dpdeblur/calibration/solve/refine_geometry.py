"""Refine the screen geometry within each tile beyond what the disc centres give.

A homography and a radial distortion do not describe a real lens exactly. The displacement that
remains within one tile is nearly linear: u(x) = B (x - c). If the sharp pattern is off by a tenth
of a pixel at the border of a tile, the solver puts weight at the ends of the kernels, which shifts
their centroids. To first order a view differs from its model by u . grad(model), so B is a linear
least-squares problem. A shift of the whole tile is absorbed by the kernels.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from napari_dpdeblur.calibration.solve.kernel_problem import KernelProblem

MAX_STRETCH = 0.02  # anything larger is a failed estimate, not a lens
DAMPING = 1e-3


def tile_stretches(problem: KernelProblem, kernels: Tensor) -> np.ndarray:
    """B (n, 2, 2) of the tiles of ``problem``, in pixels of displacement per pixel, (x, y)."""
    model = problem.model(kernels)
    slope_y, slope_x = torch.gradient(model, dim=(-2, -1))
    height, width = model.shape[-2:]
    y = (torch.arange(height) - (height - 1) / 2)[:, None]
    x = torch.arange(width) - (width - 1) / 2
    columns = torch.stack([x * slope_x, y * slope_x, x * slope_y, y * slope_y], dim=1)
    design = (columns * problem.weight.sqrt()[:, None]).flatten(2)  # (n, 4, 2 h w)
    misfit = problem.residual(kernels).flatten(1)
    normal = design @ design.transpose(1, 2)
    damping = DAMPING * normal.diagonal(dim1=1, dim2=2).mean(1)[:, None, None] * torch.eye(4)
    found = torch.linalg.solve(normal + damping + 1e-12 * torch.eye(4), design @ misfit[..., None])
    return np.asarray(found.view(-1, 2, 2).clamp(-MAX_STRETCH, MAX_STRETCH))
