"""LensModel: how kernels of a calibration are used, the same for a fit and for what follows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from napari_dpdeblur.optics.parameters import OpticsParameters
from napari_dpdeblur.optics.planes import PLANE_STEP

if TYPE_CHECKING:
    from napari_dpdeblur.optics.defocused import DefocusedKernels
    from napari_dpdeblur.optics.kernels import KernelGrid

DEFAULTS = OpticsParameters()


@dataclass(frozen=True)
class LensModel:
    """Corrections of the calibrated kernels, and how they are stretched and blended.

    ``is_centred``: without the offset that both views share. ``sharpening_steps`` remove the blur
    that the calibration added; 0 leaves it. ``is_exact``: stretched by their Fourier transform,
    otherwise by area. ``blend_px`` is the blending between tiles, ``plane_step`` the distance of
    the planes of a slanted layer.
    """

    is_centred: bool = True
    sharpening_steps: int = 0
    negligible_mass: float = DEFAULTS.negligible_mass
    is_exact: bool = False
    blend_px: int = 32
    plane_step: float = PLANE_STEP

    def corrected(self, grid: KernelGrid, excess_variance_px2: tuple[float, float]) -> KernelGrid:
        """The kernels of a calibration as this lens uses them."""
        grid = replace(grid, negligible_mass=self.negligible_mass)
        if self.is_centred:
            grid = grid.centred()
        if self.sharpening_steps:
            grid = grid.sharpened(excess_variance_px2, self.sharpening_steps)
        return grid

    def stretched(
        self, grid: KernelGrid, scale: float, pixel_pitch: tuple[float, float] = (1.0, 1.0)
    ) -> DefocusedKernels | KernelGrid:
        """Corrected kernels at a signed defocus scale, for a blur."""
        if self.is_exact:
            return grid.defocused(scale, pixel_pitch)
        return grid.scaled(scale, pixel_pitch)

    def describe(self) -> dict[str, Any]:
        """Plain values, from which :meth:`described` makes the same lens."""
        return asdict(self)

    @classmethod
    def described(cls, entry: Mapping[str, Any] | None) -> LensModel | None:
        """The lens that :meth:`describe` was called on; None without a description."""
        if not entry:
            return None
        return cls(**{name: entry[name] for name in cls.__dataclass_fields__ if name in entry})


AS_STORED = LensModel(is_centred=False)  # as `render` used kernels before runs described their lens
CENTRED = LensModel()  # as refocusing did
