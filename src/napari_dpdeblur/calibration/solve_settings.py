"""Settings of the kernel solve; without torch, so that a form or a parser can read them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator


class SolveSettings(BaseModel):
    """Size of the grid and of the kernels, and the weights of the objective."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rows: int = Field(6, ge=1, le=64, description="tiles from top to bottom")
    cols: int = Field(8, ge=1, le=64, description="tiles from left to right")
    kernel_px: int = Field(61, ge=5, le=151, description="height and width of a kernel, odd")
    iterations: int = Field(120, ge=1, description="steps of the accelerated projected gradient")
    rough_iterations: int = Field(
        60, ge=0, description="steps before the place of the screen is refined; 0: do not"
    )
    smoothness: float = Field(
        15.0, ge=0, description="l1, relative to noise and size of the kernels"
    )
    least_noise: float = Field(
        0.008, ge=0, description="noise that is assumed at least, as a share of white"
    )
    energy: float = Field(0.0, ge=0, description="l2")
    radial: float = Field(1e-5, ge=0, description="l3, at the border of the kernel")
    radial_power: float = Field(4.0, gt=0, description="growth of the radial penalty")
    gradient: float = Field(0.0, ge=0, description="l4")
    shadow_noise: float = Field(
        0.2, gt=0, description="noise variance of black, as a share of what white adds to it"
    )
    min_valid: float = Field(0.35, ge=0, le=1, description="usable share of a solved tile")
    min_texture: float = Field(0.1, ge=0, description="contrast of the pattern in a solved tile")

    @field_validator("kernel_px")
    @classmethod
    def _odd(cls, value: int) -> int:
        if value % 2 == 0:
            raise ValueError("the kernel size must be odd")
        return value
