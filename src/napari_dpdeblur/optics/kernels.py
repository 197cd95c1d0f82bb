"""Grids of calibrated blur kernels: check, rescale, normalise, disparity."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from napari_dpdeblur.computing.memory import concatenated
from napari_dpdeblur.optics.defocused import DefocusedKernels, without_rim
from napari_dpdeblur.optics.kernel_check import check_kernels
from napari_dpdeblur.optics.moments import first_moment
from napari_dpdeblur.optics.parameters import OpticsParameters

DEFAULTS = OpticsParameters()
NO_VARIANCE_PX2 = 1e-3  # a blur narrower than this changes nothing
SMALLEST_SCALE = 1e-6  # a kernel shrunk by this is a point


@dataclass(frozen=True)
class KernelGrid:
    """Blur kernels of a rows x cols grid of tiles.

    ``kernels`` has the shape (P, V, Ky, Kx): P = rows * cols tiles in row-major order, V views
    (left, right), odd sizes, each kernel sums to 1. They are those behind the focus plane, at
    defocus scale 1. ``front`` are measured kernels in front of it, of the same shape, at the
    negative scale ``front_scale``; without them, the light cones cross in the focus plane: the
    kernels in front are those behind it, turned by 180 degrees. ``negligible_mass`` is the share
    of its mass below which the rim of a rescaled kernel is cropped.
    """

    kernels: Tensor
    rows: int
    cols: int
    negligible_mass: float = DEFAULTS.negligible_mass
    front: Tensor | None = None
    front_scale: float = -1.0

    @classmethod
    def from_array(
        cls,
        array: np.ndarray,
        rows: int,
        cols: int,
        front: np.ndarray | None = None,
        front_scale: float = -1.0,
    ) -> KernelGrid:
        """Check arrays of shape (P, 2, K, K) and normalise each kernel to sum 1."""
        grid = cls(_checked(array, rows, cols), rows, cols)
        if front is None:
            return grid
        return replace(grid, front=_checked(front, rows, cols), front_scale=front_scale)

    @property
    def size_px(self) -> tuple[int, int]:
        """Height and width of the support."""
        return self.kernels.shape[-2], self.kernels.shape[-1]

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> KernelGrid:
        """The same grid on another device or in another precision."""
        return self._changed(lambda kernels: kernels.to(device=device, dtype=dtype))

    def select(self, tile_indices: Sequence[int], rows: int, cols: int) -> KernelGrid:
        """The sub-grid of the given tiles (row-major indices)."""
        part = self._changed(lambda kernels: kernels[list(tile_indices)])
        return replace(part, rows=rows, cols=cols)

    def centred(self) -> KernelGrid:
        """The same kernels with the mean of the left and right centroid at the centre, per tile.

        A common offset of both views cannot be distinguished from a shift of the scene. A
        calibration leaves one (its target's position is known to a pixel or so), different in each
        tile, and a defocus scale multiplies it, which would warp the recovered image by depth.
        """
        return self._changed(_centred)

    def scaled(self, scale: float, pixel_pitch: tuple[float, float] = (1.0, 1.0)) -> KernelGrid:
        """Kernels of a layer with the signed defocus ``scale``, by exact area integration.

        ``pixel_pitch`` is the size (rows, cols) of the pixels to sample on, in calibrated pixels:
        (2, 2) gives the kernels for an image at half resolution.
        """
        kernels, factor = self._side(scale)
        size = max(abs(factor), SMALLEST_SCALE)
        resize_y = self._resize_matrix(self.size_px[0], size / pixel_pitch[0])
        resize_x = self._resize_matrix(self.size_px[1], size / pixel_pitch[1])
        resized = resize_y @ (kernels if factor >= 0 else kernels.flip(-2, -1)) @ resize_x.T
        cropped = _normalised(without_rim(resized, self.negligible_mass))
        return replace(self, kernels=cropped, front=None)

    def defocused(
        self, scale: float, pixel_pitch: tuple[float, float] = (1.0, 1.0)
    ) -> DefocusedKernels:
        """Kernels of the signed defocus ``scale`` by their Fourier transform.

        Unlike :meth:`scaled` exact near the focus plane, where a kernel is smaller than a pixel.
        """
        kernels, factor = self._side(scale)
        stretch = (factor / pixel_pitch[0], factor / pixel_pitch[1])
        behind, front = self._cropped
        cropped = behind if kernels is self.kernels else front
        return DefocusedKernels(cropped, self.rows, self.cols, stretch)

    @cached_property
    def _cropped(self) -> tuple[Tensor, Tensor]:
        """The kernels behind and in front of the focus plane, without negligible rims."""
        behind = _normalised(without_rim(self.kernels, self.negligible_mass))
        if self.front is None:
            return behind, behind
        return behind, _normalised(without_rim(self.front, self.negligible_mass))

    def sharpened(
        self, variance_px2: tuple[float, float], steps: int = DEFAULTS.sharpening_steps
    ) -> KernelGrid:
        """Remove a blur of this variance along (y, x) that the measurement added.

        A few Richardson-Lucy steps, which keep light positive: the sides of the kernels become
        steep again, and their noise does not grow yet.
        """
        height, width = self.size_px
        blur_y = self._blur_matrix(height, variance_px2[0])
        blur_x = self._blur_matrix(width, variance_px2[1])
        tiny = torch.finfo(self.kernels.dtype).tiny

        def sharp(measured: Tensor) -> Tensor:
            kernels = measured
            for _ in range(steps):
                blurred = (blur_y @ kernels @ blur_x.T).clamp_min(tiny)
                kernels = kernels * (blur_y.T @ (measured / blurred) @ blur_x)
            return _normalised(kernels)

        return self._changed(sharp)

    def disparity_px(self) -> Tensor:
        """Centroid of the left minus centroid of the right kernel along x, per tile: (P,)."""
        centroid = _centroids(self.kernels, -1)
        return centroid[:, 0] - centroid[:, 1]

    def rms_radius_px(self) -> float:
        """Root of the mean squared distance from the centroid, median of tiles and views."""
        variance = torch.zeros_like(self.kernels[..., 0, 0])
        for summed in (-2, -1):
            profile = self.kernels.sum(summed)
            position = torch.arange(profile.shape[-1], device=profile.device, dtype=profile.dtype)
            mean = (profile * position).sum(-1, keepdim=True)
            variance += (profile * (position - mean).square()).sum(-1)
        return float(variance.median().sqrt())

    def spectrum(self, fft_px: tuple[int, int]) -> Tensor:
        """Fourier transforms with the kernels' centre at the origin: (P, V, n, m // 2 + 1)."""
        height, width = self.size_px

        def transformed(tiles: range) -> Tensor:
            kernels = self.kernels[tiles.start : tiles.stop]
            placed = kernels.new_zeros(*kernels.shape[:2], *fft_px)
            placed[..., :height, :width] = kernels
            centred = placed.roll((-(height // 2), -(width // 2)), dims=(-2, -1))
            transform: Tensor = torch.fft.rfft2(centred)
            return transform

        return concatenated(len(self.kernels), transformed)

    def _changed(self, change: Callable[[Tensor], Tensor]) -> KernelGrid:
        """The same change of the kernels behind and in front of the focus plane."""
        front = None if self.front is None else change(self.front)
        return replace(self, kernels=change(self.kernels), front=front)

    def _side(self, scale: float) -> tuple[Tensor, float]:
        """The kernels of the side where a scale lies, and the factor to stretch them by."""
        if scale < 0 and self.front is not None:
            return self.front, scale / self.front_scale
        return self.kernels, scale

    def _offsets(self, size: int) -> Tensor:
        kernels = self.kernels
        return torch.arange(size, device=kernels.device, dtype=kernels.dtype) - size // 2

    def _blur_matrix(self, size: int, variance_px2: float) -> Tensor:
        """Convolution of ``size`` entries with a Gaussian, as a matrix."""
        offsets = self._offsets(size)
        distance = offsets[:, None] - offsets
        weight = torch.exp(distance.square() / (-2 * max(variance_px2, NO_VARIANCE_PX2)))
        return weight / weight.sum(-1, keepdim=True)

    def _resize_matrix(self, size: int, factor: float) -> Tensor:
        """Overlap of each output pixel with each stretched input pixel: (out, in)."""
        half_extent = size * factor / 2
        out_size = 2 * math.ceil(half_extent - 0.5) + 1
        out_edge = self._offsets(out_size)[:, None] - 0.5
        in_edge = (self._offsets(size)[None, :] - 0.5) * factor
        upper = torch.minimum(out_edge + 1, in_edge + factor)
        return (upper - torch.maximum(out_edge, in_edge)).clamp_min(0)


def _checked(array: np.ndarray, rows: int, cols: int) -> Tensor:
    check_kernels(array, rows, cols)
    return _normalised(torch.from_numpy(np.array(array)))


def _normalised(kernels: Tensor) -> Tensor:
    return kernels / kernels.sum(dim=(-2, -1), keepdim=True)


def _centroids(kernels: Tensor, axis: int) -> Tensor:
    """Centroids of kernels (P, V, Ky, Kx) along y (-2) or x (-1): (P, V)."""
    mass = kernels.sum(-2 if axis == -1 else -1).sum(-1)
    centroids: Tensor = first_moment(kernels, axis) / mass
    return centroids


def _centred(kernels: Tensor) -> Tensor:
    """Kernels (P, V, Ky, Kx) shifted so that the views' mean centroid is the centre."""
    height, width = kernels.shape[-2:]
    freq_y = torch.fft.fftfreq(height, device=kernels.device, dtype=kernels.dtype)[:, None]
    freq_x = torch.fft.rfftfreq(width, device=kernels.device, dtype=kernels.dtype)
    offset_y, offset_x = (_centroids(kernels, axis).mean(1)[:, None, None] for axis in (-2, -1))
    turn = 2 * math.pi * (freq_y * offset_y + freq_x * offset_x)
    phase = torch.polar(torch.ones_like(turn), turn)[:, None]
    shifted = torch.fft.irfft2(torch.fft.rfft2(kernels) * phase, s=(height, width))
    # interpolation may undershoot a little; light cannot be negative
    return _normalised(shifted.clamp_min(0))
