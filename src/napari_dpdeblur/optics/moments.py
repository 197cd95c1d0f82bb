"""First moments of kernels, of tensors and of NumPy arrays; does not load torch for the latter."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def first_moment(kernels: Any, axis: int) -> Any:
    """Sum of mass times offset from the centre pixel along an axis, of kernels (..., Ky, Kx).

    ``axis`` is -1 for x and -2 for y. Of kernels that sum to 1 this is the centroid in pixels.
    """
    profile = kernels.sum(-2 if axis == -1 else -1)
    return (profile * centred_offsets(profile)).sum(-1)


def centred_offsets(values: Any) -> Any:
    """Offsets of the entries along the last axis from the central one."""
    size = values.shape[-1]
    if isinstance(values, np.ndarray):
        return np.arange(size) - size // 2
    torch = sys.modules["torch"]
    return torch.arange(size, device=values.device, dtype=values.dtype) - size // 2
