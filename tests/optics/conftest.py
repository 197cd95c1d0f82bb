"""Fixtures of the optics tests: kernels that no symmetry can hide behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from napari_dpdeblur.optics import KernelGrid


@pytest.fixture
def random_kernels() -> Callable[..., KernelGrid]:
    """Make grids of random, hence asymmetric kernels, different in every tile and view."""

    def make(
        rows: int, cols: int, size: int | tuple[int, int] = 5, dtype: torch.dtype = torch.float64
    ) -> KernelGrid:
        height, width = (size, size) if isinstance(size, int) else size
        kernels = torch.rand(rows * cols, 2, height, width, dtype=dtype)
        return KernelGrid(kernels / kernels.sum(dim=(-2, -1), keepdim=True), rows, cols)

    return make


@pytest.fixture(scope="session")
def published_kernels(pixel4_data: Path) -> KernelGrid:
    """The 6 x 8 grid that was calibrated for the published captures."""
    folder = pixel4_data / "pixel4" / "calibration"
    views = [np.load(folder / f"blur_kernels_{side}.npy") for side in ("left", "right")]
    return KernelGrid.from_array(np.stack(views, axis=1), 6, 8)
