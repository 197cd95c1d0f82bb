"""Settings of the kernel solve; imports no torch, so forms and parsers load quickly."""

from __future__ import annotations

from pydantic import field_validator

from napari_dpdeblur.settings_model import NO_UNIT, SettingsModel, setting


class SolveSettings(SettingsModel):
    """Grid size, kernel size and weights of the objective."""

    rows: int = setting(6, "tiles", "tiles from top to bottom", ge=1, le=64)
    cols: int = setting(8, "tiles", "tiles from left to right", ge=1, le=64)
    kernel_px: int = setting(61, "px", "height and width of a kernel, odd", ge=5, le=151)
    iterations: int = setting(120, "steps", "steps of the accelerated projected gradient", ge=1)
    rough_iterations: int = setting(
        60, "steps", "steps before the screen geometry is refined; 0: no refinement", ge=0
    )
    smoothness: float = setting(
        15.0,
        NO_UNIT,
        "weight l1 of the kernel gradient, relative to noise and kernel size",
        ge=0,
    )
    least_noise: float = setting(
        0.008, "share of white", "minimum noise to assume, as a share of white", ge=0
    )
    energy: float = setting(0.0, NO_UNIT, "weight l2 of the kernel energy", ge=0)
    radial: float = setting(
        1e-5, NO_UNIT, "weight l3 of the radial penalty, at the border of the kernel", ge=0
    )
    radial_power: float = setting(4.0, NO_UNIT, "exponent of the radial penalty", gt=0)
    gradient: float = setting(0.0, NO_UNIT, "weight l4 of the gradient error", ge=0)
    shadow_noise: float = setting(
        0.2,
        "share of what white adds",
        "noise variance of black, as a share of what white adds",
        gt=0,
    )
    min_valid: float = setting(
        0.35, "share of the tile", "minimum usable share of a tile", ge=0, le=1
    )
    min_texture: float = setting(
        0.1, "share of white", "minimum contrast of the pattern in a tile", ge=0
    )

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the tiles."""
        return self.rows, self.cols

    @field_validator("kernel_px")
    @classmethod
    def _odd(cls, value: int) -> int:
        if value % 2 == 0:
            raise ValueError("the kernel size must be odd")
        return value
