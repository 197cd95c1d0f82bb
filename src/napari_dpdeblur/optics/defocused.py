"""DefocusedKernels: kernels of one defocus scale, as the stretched Fourier transform of a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from napari_dpdeblur.computing.memory import concatenated

# Context around a kernel: one that is shifted by a fraction of a pixel has side lobes.
SIDE_LOBES_PX = 8
NYQUIST = 0.5  # cycles per pixel


@dataclass(frozen=True)
class DefocusedKernels:
    """Kernels of one defocus scale, evaluated where they are used: in the Fourier domain.

    A kernel stretched by d has the spectrum K(f) = K_1(f d) of the calibrated one. That is exact
    for every d: a point at d = 0, and turned by 180 degrees where ``stretch`` (y, x) is negative.
    ``kernels`` (P, V, Ky, Kx) are the calibrated ones. Has the interface of a KernelGrid as far as
    a blur needs it.
    """

    kernels: Tensor
    rows: int
    cols: int
    stretch: tuple[float, float]

    @property
    def size_px(self) -> tuple[int, int]:
        """Height and width of the support, with its side lobes."""
        height, width = (2 * (reach + SIDE_LOBES_PX) + 1 for reach in self.reach_px)
        return height, width

    @property
    def reach_px(self) -> tuple[int, int]:
        """Rows and columns from the centre to the end of the support, without side lobes."""
        rows, cols = (
            math.ceil(size // 2 * abs(stretch))
            for size, stretch in zip(self.kernels.shape[-2:], self.stretch, strict=True)
        )
        return rows, cols

    def is_turned(self, other: DefocusedKernels) -> bool:
        """Whether the kernels of another grid are these, turned by 180 degrees."""
        opposite = all(
            math.isclose(own, -its, rel_tol=1e-6)
            for own, its in zip(self.stretch, other.stretch, strict=True)
        )
        return opposite and self.kernels is other.kernels

    def select(self, tile_indices: Sequence[int], rows: int, cols: int) -> DefocusedKernels:
        """The sub-grid of the given tiles (row-major indices)."""
        return replace(self, kernels=self.kernels[list(tile_indices)], rows=rows, cols=cols)

    def spectrum(self, fft_px: tuple[int, int]) -> Tensor:
        """Fourier transforms with the kernels' centre at the origin: (P, V, n, m // 2 + 1)."""
        like = self.kernels
        freq_y = torch.fft.fftfreq(fft_px[0], device=like.device, dtype=like.dtype)
        freq_x = torch.fft.rfftfreq(fft_px[1], device=like.device, dtype=like.dtype)
        along_y = _transform(freq_y * self.stretch[0], like.shape[-2])
        along_x = _transform(freq_x * self.stretch[1], like.shape[-1])

        def transformed(tiles: range) -> Tensor:
            kernels = torch.complex(like[tiles.start : tiles.stop], like.new_zeros(()))
            return along_y @ (kernels @ along_x.T)

        return concatenated(len(like), transformed)

    def sampled(self, negligible_mass: float) -> Tensor:
        """The kernels themselves (P, V, Ky, Kx), without a rim of less than this share.

        Their side lobes may be negative: what a blur with :meth:`spectrum` does, for convolutions
        that need kernels.
        """
        size = self.size_px
        kernels = torch.fft.irfft2(self.spectrum(size), s=size).roll(
            (size[0] // 2, size[1] // 2), dims=(-2, -1)
        )
        rim_y, rim_x = (
            _negligible_rim(kernels.abs().sum(axis), negligible_mass) for axis in (-1, -2)
        )
        cut: Tensor = kernels[..., rim_y : size[0] - rim_y, rim_x : size[1] - rim_x]
        return cut / cut.sum(dim=(-2, -1), keepdim=True)


def power_of(spectrum: Tensor) -> Tensor:
    """Sum over the views of the squared absolute values: (P, V, n, m) to (P, n, m).

    Eight times as fast as the squares of `abs`, which takes roots.
    """
    squares = torch.view_as_real(spectrum).square().sum(1)
    return squares[..., 0] + squares[..., 1]


def _transform(frequency: Tensor, size: int) -> Tensor:
    """Fourier transform at frequencies (n,) of ``size`` samples around the origin: (n, size).

    Zero beyond the Nyquist frequency of the samples, which say nothing about it.
    """
    offsets = torch.arange(size, device=frequency.device, dtype=frequency.dtype) - size // 2
    turn = (-2 * math.pi) * frequency[:, None] * offsets
    known = (frequency.abs() <= NYQUIST).to(frequency.dtype)[:, None]
    return torch.polar(known.expand_as(turn).contiguous(), turn)


def without_rim(kernels: Tensor, mass: float) -> Tensor:
    """Remove the rim that is negligible everywhere, symmetrically so that the centre stays."""
    rim_y = _negligible_rim(kernels.sum(dim=-1), mass)
    rim_x = _negligible_rim(kernels.sum(dim=-2), mass)
    height, width = kernels.shape[-2:]
    return kernels[..., rim_y : height - rim_y, rim_x : width - rim_x]


def _negligible_rim(profile: Tensor, mass: float) -> int:
    """How many entries at both ends of profiles (P, V, K) hold less than this share of the sum."""
    share = profile / profile.sum(-1, keepdim=True)
    folded = torch.maximum(share.cumsum(-1), share.flip(-1).cumsum(-1)).amax(dim=(0, 1))
    rim = int((folded < mass).sum())
    return min(rim, profile.shape[-1] // 2)
