"""FitSettings: one source for YAML, command line, window and provenance."""

from __future__ import annotations

import reprlib
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from napari_dpdeblur.errors import SettingsError
from napari_dpdeblur.files import read_regular
from napari_dpdeblur.files.plain import parse_yaml
from napari_dpdeblur.fit.presets import Preset

MAX_SETTINGS_BYTES = 1_000_000


def _unit(name: str) -> dict[str, JsonValue]:
    """What the reference page gives as the unit of a setting."""
    return {"unit": name}


_NO_UNIT = _unit("none")
_SCALE = _unit("multiples of the calibrated blur")


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Weights(_Model):
    """Weights of the terms of the objective, in the paper's unit; 0 switches a term off."""

    data: float = Field(
        2.5e4, json_schema_extra=_NO_UNIT, ge=0, description="Error of the rendered views (Eq. 7)."
    )
    auxiliary: float = Field(
        2.5e4,
        json_schema_extra=_NO_UNIT,
        ge=0,
        description="Error of each layer by itself (Eq. 9).",
    )
    intensity: float = Field(
        30.0, json_schema_extra=_NO_UNIT, ge=0, description="Smoothness of the colours (Eq. 11)."
    )
    alpha: float = Field(
        7.5e4,
        json_schema_extra=_NO_UNIT,
        ge=0,
        description="Smoothness of the layers' shapes (Eq. 12).",
    )
    entropy: float = Field(
        30.0,
        json_schema_extra=_NO_UNIT,
        ge=0,
        description="Concentration of a pixel on few layers (Eq. 13), before / ln N.",
    )


class FitSettings(_Model):
    """Everything that a fit can be told. Defocus scales are multiples of the calibrated blur."""

    preset: Preset = Field(
        "standard",
        json_schema_extra=_NO_UNIT,
        description="standard: closed form, then rendering through occlusions; preview: closed "
        "form alone; paper: the published optimisation.",
    )
    layers: int = Field(
        12,
        json_schema_extra=_unit("layers"),
        ge=2,
        le=64,
        description="Number of layers of the multiplane image.",
    )
    front_scale: float | None = Field(
        None,
        json_schema_extra=_SCALE,
        gt=0,
        le=4,
        description="Smallest defocus scale; found from the data when not given.",
    )
    back_scale: float | None = Field(
        None,
        json_schema_extra=_SCALE,
        gt=0,
        le=4,
        description="Largest defocus scale; found from the data when not given.",
    )
    weights: Weights = Field(
        default_factory=Weights, json_schema_extra=_NO_UNIT, description="Weights of the objective."
    )
    bias_correction: bool = Field(
        True,
        json_schema_extra=_NO_UNIT,
        description="Correct for what noise does to the error at each defocus scale (Eq. 5).",
    )
    centre_kernels: bool = Field(
        True,
        json_schema_extra=_NO_UNIT,
        description="Remove the offset that both views' kernels share, which would warp the image.",
    )
    blend_px: int = Field(
        32,
        json_schema_extra=_unit("px"),
        ge=0,
        le=512,
        description="Width of the blending between tiles, in pixels; 0: none.",
    )
    image_rounds: int = Field(
        2,
        json_schema_extra=_unit("rounds"),
        ge=1,
        le=50,
        description="Re-weighting rounds of the image (standard).",
    )
    image_steps: int = Field(
        6,
        json_schema_extra=_unit("steps"),
        ge=1,
        le=500,
        description="Conjugate-gradient steps in each round (standard).",
    )
    steps: int = Field(
        10_000,
        json_schema_extra=_unit("steps"),
        ge=1,
        le=1_000_000,
        description="Adam steps (paper).",
    )
    guided_filter: bool = Field(
        False,
        json_schema_extra=_NO_UNIT,
        description="Sharpen the edges of the defocus map with a guided filter.",
    )
    smooth_image: float = Field(
        0.03,
        json_schema_extra=_unit("intensity, at a mean of 0.5"),
        ge=0,
        le=1,
        description="Intensity range of the bilateral filter that smooths the image at the end, "
        "at a mean intensity of 0.5 (the paper: 0.05); 0: none.",
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = Field(
        "auto",
        json_schema_extra=_NO_UNIT,
        description="Where to compute; auto takes an accelerator where there is one.",
    )
    threads: int | None = Field(
        None,
        json_schema_extra=_unit("threads"),
        ge=1,
        le=1024,
        description="CPU threads; all that torch would take when not given.",
    )
    seed: int = Field(
        0,
        json_schema_extra=_NO_UNIT,
        ge=0,
        description="Kept with the result; all presets are deterministic.",
    )

    @model_validator(mode="after")
    def _front_before_back(self) -> FitSettings:
        if self.front_scale and self.back_scale and self.front_scale >= self.back_scale:
            raise ValueError(
                f"the front scale ({self.front_scale:g}) must be smaller than the back scale "
                f"({self.back_scale:g})"
            )
        return self

    @classmethod
    def of(cls, values: dict[str, Any]) -> FitSettings:
        """Check plain values; anything wrong is one SettingsError sentence."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise SettingsError(_sentence(error)) from None

    def changed(self, **values: Any) -> FitSettings:
        """A checked copy with other values; None leaves a value as it is."""
        given = {name: value for name, value in values.items() if value is not None}
        return FitSettings.of({**self.model_dump(), **given})

    def to_yaml(self) -> str:
        """As text that :meth:`from_yaml` reads."""
        return yaml.safe_dump(self.model_dump(), sort_keys=False)

    @classmethod
    def from_yaml(cls, text: str) -> FitSettings:
        """Read settings; missing ones take their default, unknown ones are refused."""
        try:
            values = parse_yaml(text)
        except ValueError:
            raise SettingsError(
                "The settings are not plain YAML; write `name: value` lines."
            ) from None
        if values is None:
            values = {}
        if not isinstance(values, dict):
            raise SettingsError("The settings are not a list of names; write `name: value` lines.")
        return cls.of({str(name): value for name, value in values.items()})

    @classmethod
    def read(cls, path: Path) -> FitSettings:
        """Read a YAML file."""
        try:
            return cls.from_yaml(read_regular(path, MAX_SETTINGS_BYTES).decode("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise SettingsError(f"The settings file {path} cannot be read: {reason}.") from None


def _sentence(error: ValidationError) -> str:
    """The first complaint of pydantic as one sentence."""
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = ", ".join(FitSettings.model_fields)
        return f"There is no setting named {name}; known settings are {known}."
    text = first["msg"].removeprefix("Value error, ")
    where = f"The setting {name} = {reprlib.repr(first['input'])}" if name else "The settings"
    return f"{where} cannot be used: {text[0].lower()}{text[1:]}."
