"""Check the entries of `run.yaml` that the program works with; all others may be anything."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

LIMIT = 1_000_000_000
Pixels = Annotated[int, Field(ge=0, le=LIMIT)]
Number = Annotated[float, Field(ge=-LIMIT, le=LIMIT)]


class _Entries(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)


class _Capture(_Entries):
    height_px: Pixels | None = None
    width_px: Pixels | None = None
    pixel_aspect: Number | None = None


class _Field(_Entries):
    top: Number | None = None
    left: Number | None = None


class _Calibration(_Entries):
    field: _Field | None = None
    frame_shape: Annotated[list[Pixels], Field(min_length=2, max_length=2)] | None = None


class _Placement(_Entries):
    scale: list[Number] = []
    translate: list[Number] = []


class _Provenance(_Entries):
    capture: _Capture | None = None
    calibration: _Calibration | None = None
    crop: Annotated[list[Pixels], Field(min_length=4, max_length=4)] | None = None
    placement: _Placement | None = None
    loss_history: list[Any] | None = None


def wrong_entry(content: dict[str, Any]) -> str | None:
    """The first entry that is not what a fit writes, and why; None when there is none."""
    try:
        _Provenance.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return f"its entry {where} is wrong ({first['msg']})"
    return None
