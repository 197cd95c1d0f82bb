"""Check the entries of `run.yaml` that the program uses."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, ValidationError

from napari_dpdeblur.files.schema import KnownEntries, first_problem

LIMIT = 1_000_000_000
Pixels = Annotated[int, Field(ge=0, le=LIMIT)]
Number = Annotated[float, Field(ge=-LIMIT, le=LIMIT)]


class _Capture(KnownEntries):
    height_px: Pixels | None = None
    width_px: Pixels | None = None
    pixel_aspect: Number | None = None


class _Field(KnownEntries):
    top: Number | None = None
    left: Number | None = None


class _Calibration(KnownEntries):
    field: _Field | None = None
    frame_shape: Annotated[list[Pixels], Field(min_length=2, max_length=2)] | None = None
    lens_constants: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None


class _Placement(KnownEntries):
    scale: list[Number] = Field(default_factory=list)
    translate: list[Number] = Field(default_factory=list)


class _Verdict(KnownEntries):
    verdict: str | None = None
    causes: list[str] | None = None
    residual_over_noise: Number | None = None


class _Lens(KnownEntries):
    sha256: str = ""


class _LensModel(KnownEntries):
    is_centred: bool = True
    sharpening_steps: Annotated[int, Field(ge=0, le=100)] = 0
    negligible_mass: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    is_exact: bool = False
    blend_px: Annotated[int, Field(ge=0, le=512)] = 0
    plane_step: Annotated[float, Field(gt=1e-3, le=LIMIT)] = 1.0


class _Provenance(KnownEntries):
    capture: _Capture | None = None
    calibration: _Calibration | None = None
    crop: Annotated[list[Pixels], Field(min_length=4, max_length=4)] | None = None
    placement: _Placement | None = None
    lens: _Lens | None = None
    lens_model: _LensModel | None = None
    loss_history: list[Any] | None = None
    notes: list[str] | None = None
    views_look_swapped: bool | None = None
    fit_verdict: _Verdict | None = None


def invalid_entry(content: dict[str, Any]) -> str | None:
    """The first invalid entry and why it is invalid; None if all are valid."""
    try:
        _Provenance.model_validate(content)
    except ValidationError as error:
        where, problem = first_problem(error)
        return f"its entry {where} is invalid ({problem})"
    return None
