"""Entries of files that other programs may have changed: what is known is checked."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError


class KnownEntries(BaseModel):
    """Base of models that check the entries they know and ignore all others."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)


def first_problem(error: ValidationError) -> tuple[str, str]:
    """Name of the first invalid entry (dotted), and what is wrong with it."""
    first = error.errors()[0]
    return ".".join(str(part) for part in first["loc"]), str(first["msg"])
