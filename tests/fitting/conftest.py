"""Fixtures of the fit's tests: published figures, and synthetic scenes that are known exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.datasets.synthetic.scene import (
    SyntheticScene,
    default_tiles,
    render_capture,
    synthetic_scene,
)
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.optics import KernelGrid, TiledBlur, TileLayout


@dataclass(frozen=True)
class PublishedTile:
    """Inputs and outputs of the published objective on one tile, float64 (reference/README.md)."""

    views: Tensor  # (2, 1, 168, 168)
    blur: TiledBlur
    kernels: list[KernelGrid]
    bias: Tensor
    color_logits: Tensor  # (12, 1, 168, 168), like the three below
    alpha_logits: Tensor
    color_gradient: Tensor
    alpha_gradient: Tensor
    all_in_focus: Tensor
    defocus_map: Tensor

    @property
    def intensity_scale(self) -> float:
        return 0.5 / float(self.views.mean())


@pytest.fixture(scope="session")
def published_tile(pixel4_data: Path) -> PublishedTile:
    """Scene 005, tile (2, 3), 12 layers of scales 1.3 to 0.1."""
    path = pixel4_data / "reference" / "objective_tile_2_3_scene_005.npz"
    if not path.exists():
        pytest.skip(f"no figures of the published implementation: {path.name} is missing")
    with np.load(path) as file:
        arrays = {name: torch.tensor(file[name], dtype=torch.float64) for name in file.files}
    kernels = [KernelGrid(layer, 1, 1) for layer in arrays["layer_kernels"]]
    logits, gradient = arrays["logits"][:, None], arrays["gradient"][:, None]
    return PublishedTile(
        views=arrays["views"][:, None],
        blur=TiledBlur(kernels, TileLayout.regular(168, 168, 1, 1), blend_px=0),
        kernels=kernels,
        bias=arrays["bias"],
        color_logits=logits[..., 0],
        alpha_logits=logits[..., 1],
        color_gradient=gradient[..., 0],
        alpha_gradient=gradient[..., 1],
        all_in_focus=arrays["all_in_focus"],
        defocus_map=arrays["defocus_map"],
    )


@dataclass(frozen=True)
class Simulated:
    """A scene, what a camera without vignetting makes of it, and the camera's calibration."""

    scene: SyntheticScene
    capture: DualPixelCapture
    calibration: Calibration


@pytest.fixture(scope="session")
def simulated() -> Callable[..., Simulated]:
    """``simulated(height, width, **options of the scene)``; the same call gives the same object."""

    @lru_cache
    def of(height: int, width: int, pixel_aspect: int = 1, **options: int) -> Simulated:
        scene = synthetic_scene(height, width, **options)
        lens = synthetic_calibration(height, width, *default_tiles(height, width))
        capture = render_capture(scene, pixel_aspect=pixel_aspect)
        return Simulated(scene, capture, replace(lens, vignetting=None))

    return of
