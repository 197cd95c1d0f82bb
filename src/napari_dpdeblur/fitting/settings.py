"""FitSettings: one source for YAML, command line, window and provenance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import yaml
from pydantic import field_validator, model_validator

from napari_dpdeblur.errors import SettingsError
from napari_dpdeblur.files import read_regular
from napari_dpdeblur.files.plain import parse_yaml
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.fitting.presets import PRESETS, Preset, Sides
from napari_dpdeblur.settings_model import NO_UNIT, SettingsModel, merged, setting

MAX_SETTINGS_BYTES = 1_000_000
SCALE = "multiples of the calibrated blur"
AUTOMATIC = "automatic"
DEFAULT_PLANES = 12


class Weights(SettingsModel):
    """Weights of the terms of the objective, in the paper's unit; 0 switches a term off.

    The defaults are those of the published results.
    """

    data: float = setting(2.5e4, NO_UNIT, "Error of the rendered views (Eq. 7).", ge=0)
    auxiliary: float = setting(2.5e4, NO_UNIT, "Error of each layer by itself (Eq. 9).", ge=0)
    intensity: float = setting(30.0, NO_UNIT, "Smoothness of the colours (Eq. 11).", ge=0)
    alpha: float = setting(7.5e4, NO_UNIT, "Smoothness of the layers' shapes (Eq. 12).", ge=0)
    entropy: float = setting(
        30.0, NO_UNIT, "Concentration of a pixel on few layers (Eq. 13), before / ln N.", ge=0
    )

    def of_terms(self, layers: int) -> dict[str, float]:
        """Factors of the terms by name; the entropy's is divided by ln N."""
        return {**self.model_dump(), "entropy": self.entropy / math.log(max(layers, 2))}


class FitSettings(SettingsModel):
    """Fit settings. Defocus scales are multiples of the calibrated blur, negative in front."""

    removed: ClassVar[Mapping[str, Any]] = {"seed": 0, "image_rounds": 2, "image_steps": 6}

    preset: Preset = setting(
        "standard",
        NO_UNIT,
        "; ".join(f"{name}: {record.description}" for name, record in PRESETS.items()) + ".",
    )
    layers: int | None = setting(
        None,
        "layers",
        "Number of layers of the multiplane image; when not given, standard makes as many as the "
        "scene has surfaces, the other presets 12.",
        ge=2,
        le=64,
    )
    sides: Sides = setting(
        "both",
        NO_UNIT,
        "Where the scene may lie: on both sides of the focus plane, or only behind it.",
    )
    front_scale: float | None = setting(
        None,
        SCALE,
        "Defocus scale of the nearest layer, negative in front of the focus plane; found from the "
        "data when not given.",
        ge=-4,
        le=4,
    )
    back_scale: float | None = setting(
        None,
        SCALE,
        "Defocus scale of the farthest layer; found from the data when not given.",
        ge=-4,
        le=4,
    )
    swap_views: bool = setting(
        False, NO_UNIT, "Exchange the left and the right view before anything else."
    )
    weights: Weights = setting(Weights(), NO_UNIT, "Weights of the objective.")
    bias_correction: bool = setting(
        True, NO_UNIT, "Correct the bias that noise causes at each defocus scale (Eq. 5)."
    )
    centre_kernels: bool = setting(
        True,
        NO_UNIT,
        "Remove the offset that both views' kernels share, which would warp the image.",
    )
    blend_px: int = setting(
        32,
        "px",
        "Width of the blending between tiles of the renderer, in pixels; 0: none.",
        ge=0,
        le=512,
    )
    steps: int = setting(10_000, "steps", "Adam steps.", ge=1, le=1_000_000)
    guided_filter: bool = setting(
        False, NO_UNIT, "Sharpen the edges of the defocus map with a guided filter."
    )
    smooth_image: float = setting(
        0.03,
        "intensity, at a mean of 0.5",
        "Intensity range of the bilateral filter that smooths the image at the end, "
        "at a mean intensity of 0.5; 0: none. The published results were made with 0.05.",
        ge=0,
        le=1,
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = setting(
        "auto", NO_UNIT, "Compute device; auto prefers an accelerator."
    )
    threads: int | None = setting(
        None, "threads", "CPU threads; torch's default when not given.", ge=1, le=1024
    )
    memory_gb: float | None = setting(
        None,
        "GB",
        "Memory that a fit may use; when not given, what is free, at most 6 GB. A fit that needs "
        "more is refused.",
        gt=0,
        le=4096,
    )
    parameters: Parameters = setting(
        Parameters(), NO_UNIT, "Tuned numbers of the stages, for experts.", is_expert=True
    )

    @field_validator("layers", mode="before")
    @classmethod
    def _automatic(cls, value: Any) -> Any:
        return None if value == AUTOMATIC else value

    @model_validator(mode="after")
    def _front_before_back(self) -> FitSettings:
        front, back = self.front_scale, self.back_scale
        if self.sides == "behind" and min(front or 0, back or 0) < 0:
            raise ValueError(
                "a negative scale lies in front of the focus plane, but the setting sides is "
                "behind; use both"
            )
        if front is not None and back is not None and front >= back:
            raise ValueError(
                f"the front scale ({self.front_scale:g}) must be smaller than the back scale "
                f"({self.back_scale:g})"
            )
        return self

    @property
    def planes(self) -> int:
        """Number of evenly spaced planes: the layers, or 12 when their number is automatic."""
        return self.layers or DEFAULT_PLANES

    def changed(self, **values: Any) -> FitSettings:
        """A checked copy with other values.

        None leaves a value as it is, "automatic" makes the number of layers automatic; a group
        (weights, parameters) may be given in part.
        """
        given = {name: value for name, value in values.items() if value is not None}
        plain = {n: v.model_dump() if isinstance(v, SettingsModel) else v for n, v in given.items()}
        return FitSettings.of(merged(self.model_dump(), plain))

    def to_yaml(self) -> str:
        """As text that :meth:`from_yaml` reads; of the parameters only those that were changed."""
        values = self.model_dump(exclude={"parameters"})
        values["layers"] = self.layers or AUTOMATIC
        changed = self.parameters.model_dump(exclude_defaults=True)
        if changed:
            values["parameters"] = changed
        return yaml.safe_dump(values, sort_keys=False)

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
            raise SettingsError("The settings are not a mapping; write `name: value` lines.")
        return cls.of({str(name): value for name, value in values.items()})

    @classmethod
    def read(cls, path: Path) -> FitSettings:
        """Read a YAML file."""
        try:
            return cls.from_yaml(read_regular(path, MAX_SETTINGS_BYTES).decode("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise SettingsError(f"The settings file {path} cannot be read: {reason}.") from None


def unused_settings(settings: FitSettings) -> list[str]:
    """Names of settings that were changed but have no effect with the preset."""
    used, default = PRESETS[settings.preset].uses, FitSettings()
    changed = _changed_names(settings.model_dump(), default.model_dump())
    return [name for name in changed if name not in used and name.split(".")[0] != "parameters"]


def _changed_names(values: dict[str, Any], default: dict[str, Any], group: str = "") -> list[str]:
    names = []
    for name, value in values.items():
        if isinstance(value, dict):
            names += _changed_names(value, default[name], f"{group}{name}.")
        elif value != default[name]:
            names.append(group + name)
    return names
