"""Settings of the kernel solve; without torch, so that a form or a parser can read them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator


def _unit(name: str) -> dict[str, JsonValue]:
    """What the reference page gives as the unit of a setting."""
    return {"unit": name}


class SolveSettings(BaseModel):
    """Size of the grid and of the kernels, and the weights of the objective."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rows: int = Field(
        6, json_schema_extra=_unit("tiles"), ge=1, le=64, description="tiles from top to bottom"
    )
    cols: int = Field(
        8, json_schema_extra=_unit("tiles"), ge=1, le=64, description="tiles from left to right"
    )
    kernel_px: int = Field(
        61,
        json_schema_extra=_unit("px"),
        ge=5,
        le=151,
        description="height and width of a kernel, odd",
    )
    iterations: int = Field(
        120,
        json_schema_extra=_unit("steps"),
        ge=1,
        description="steps of the accelerated projected gradient",
    )
    rough_iterations: int = Field(
        60,
        json_schema_extra=_unit("steps"),
        ge=0,
        description="steps before the place of the screen is refined; 0: do not",
    )
    smoothness: float = Field(
        15.0,
        json_schema_extra=_unit("none"),
        ge=0,
        description="weight l1 of the kernels' gradient, relative to noise and size of the kernels",
    )
    least_noise: float = Field(
        0.008,
        json_schema_extra=_unit("share of white"),
        ge=0,
        description="noise that is assumed at least, as a share of white",
    )
    energy: float = Field(
        0.0, json_schema_extra=_unit("none"), ge=0, description="weight l2 of the kernels' energy"
    )
    radial: float = Field(
        1e-5,
        json_schema_extra=_unit("none"),
        ge=0,
        description="weight l3 of the radial penalty, at the border of the kernel",
    )
    radial_power: float = Field(
        4.0,
        json_schema_extra=_unit("none"),
        gt=0,
        description="power with which the radial penalty grows",
    )
    gradient: float = Field(
        0.0,
        json_schema_extra=_unit("none"),
        ge=0,
        description="weight l4 of the error of gradients",
    )
    shadow_noise: float = Field(
        0.2,
        json_schema_extra=_unit("share of what white adds"),
        gt=0,
        description="noise variance of black, as a share of what white adds to it",
    )
    min_valid: float = Field(
        0.35,
        json_schema_extra=_unit("share of the tile"),
        ge=0,
        le=1,
        description="usable share of a solved tile",
    )
    min_texture: float = Field(
        0.1,
        json_schema_extra=_unit("share of white"),
        ge=0,
        description="contrast of the pattern in a solved tile",
    )

    @field_validator("kernel_px")
    @classmethod
    def _odd(cls, value: int) -> int:
        if value % 2 == 0:
            raise ValueError("the kernel size must be odd")
        return value
