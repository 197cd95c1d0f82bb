"""SettingsModel: settings with unit, default and description that refuse unknown names."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from napari_dpdeblur.errors import SettingsError

if TYPE_CHECKING:
    from typing_extensions import Self

NO_UNIT = "none"  # of choices, switches and plain numbers


def setting(
    default: Any, unit: str, description: str, is_expert: bool = False, **limits: Any
) -> Any:
    """A field of a settings model; ``limits`` are pydantic's, such as ``ge=0``.

    Expert settings are not shown in the forms of the window.
    """
    extra: dict[str, Any] = {"unit": unit, "expert": True} if is_expert else {"unit": unit}
    return Field(default, description=description, json_schema_extra=extra, **limits)


class SettingsModel(BaseModel):
    """Frozen settings that refuse unknown names, infinity and NaN.

    ``removed`` are settings of earlier versions and their defaults; they are ignored, with a
    warning if they were changed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    removed: ClassVar[Mapping[str, Any]] = {}

    @model_validator(mode="before")
    @classmethod
    def _without_removed(cls, values: Any) -> Any:
        """Accept settings that were removed, until version 0.4."""
        if not isinstance(values, dict) or not cls.removed.keys() & values.keys():
            return values
        for name in cls.removed.keys() & values.keys():
            if values[name] != cls.removed[name]:
                warnings.warn(
                    f"the setting {name} was removed and is ignored", FutureWarning, stacklevel=2
                )
        return {name: value for name, value in values.items() if name not in cls.removed}

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """Validate plain values; an invalid one raises a SettingsError of one sentence."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise SettingsError(cls._sentence(error)) from None

    @classmethod
    def shown_fields(cls) -> list[str]:
        """Names of the settings that are not for experts only."""
        extras = {name: field.json_schema_extra for name, field in cls.model_fields.items()}
        return [n for n, e in extras.items() if not (isinstance(e, dict) and e.get("expert"))]

    @classmethod
    def _sentence(cls, error: ValidationError) -> str:
        """The first error that pydantic found, as one sentence."""
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = ", ".join(cls._model_at(first["loc"][:-1]).model_fields)
            return f"There is no setting named {name}; known settings are {known}."
        text = first["msg"].removeprefix("Value error, ")
        where = f"The setting {name} = {reprlib.repr(first['input'])}" if name else "The settings"
        return f"{where} cannot be used: {text[0].lower()}{text[1:]}."

    @classmethod
    def _model_at(cls, path: tuple[int | str, ...]) -> type[BaseModel]:
        """The model of a group of settings, such as ``("parameters", "search")``."""
        model: type[BaseModel] = cls
        for name in path:
            kind = model.model_fields[str(name)].annotation
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                model = kind
        return model


def merged(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Plain values with changes, group by group; what a change does not name stays."""
    result = dict(values)
    for name, change in changes.items():
        before = values.get(name)
        both = isinstance(before, dict) and isinstance(change, dict)
        result[name] = merged(before, change) if both else change  # type: ignore[arg-type]
    return result
