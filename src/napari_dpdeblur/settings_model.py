"""What all settings share: unit, default and description, no unknown names, one sentence."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from napari_dpdeblur.errors import SettingsError

if TYPE_CHECKING:
    from typing_extensions import Self

NO_UNIT = "none"  # of choices, switches and plain numbers


def setting(default: Any, unit: str, description: str, **limits: Any) -> Any:
    """A field of a settings model; ``limits`` are pydantic's, such as ``ge=0``."""
    return Field(default, description=description, json_schema_extra={"unit": unit}, **limits)


class SettingsModel(BaseModel):
    """Frozen settings that refuse unknown names, infinity and NaN."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """Check plain values; anything wrong is one SettingsError sentence."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise SettingsError(cls._sentence(error)) from None

    @classmethod
    def _sentence(cls, error: ValidationError) -> str:
        """The first complaint of pydantic as one sentence."""
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = ", ".join(cls.model_fields)
            return f"There is no setting named {name}; known settings are {known}."
        text = first["msg"].removeprefix("Value error, ")
        where = f"The setting {name} = {reprlib.repr(first['input'])}" if name else "The settings"
        return f"{where} cannot be used: {text[0].lower()}{text[1:]}."
