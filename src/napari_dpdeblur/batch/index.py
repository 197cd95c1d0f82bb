"""Read and write `index.json`, the status of every capture of a batch."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.files import read_regular, write_atomically
from napari_dpdeblur.files.plain import parse_json

INDEX_FILE = "index.json"
FORMAT: Final = "napari-dpdeblur batch"
MAX_BYTES = 64_000_000

Status = Literal["waiting", "done", "failed"]


class Entry(BaseModel):
    """One capture; ``key`` is the SHA-256 of everything that affects its result."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    key: str = Field(pattern=r"^[0-9a-f]{64}$")
    name: str
    files: tuple[str, ...]
    folder: str
    status: Status = "waiting"
    message: str = ""
    elapsed_s: float | None = None
    photo: str | None = None

    @field_validator("folder")
    @classmethod
    def _beside_the_index(cls, folder: str) -> str:
        if folder in ("", ".", "..") or any(mark in folder for mark in "/\\\0"):
            raise ValueError("a run folder must be beside the index")
        return folder

    def after(self, status: Status, message: str = "", elapsed_s: float | None = None) -> Entry:
        """A copy with another status."""
        return self.model_copy(
            update={"status": status, "message": message, "elapsed_s": elapsed_s}
        )


class Index(BaseModel):
    """All captures ever fitted into one output folder."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["napari-dpdeblur batch"] = FORMAT
    version: Literal[1] = 1
    captures: tuple[Entry, ...] = ()

    def count(self, status: Status) -> int:
        """Number of captures with a status."""
        return sum(entry.status == status for entry in self.captures)


def read_index(folder: Path) -> Index:
    """Read the index of an output folder; an empty one if there is none."""
    path = Path(folder) / INDEX_FILE
    if not path.exists():
        return Index()
    try:
        return Index.model_validate(parse_json(read_regular(path, MAX_BYTES)))
    except (OSError, ValueError, ValidationError) as error:
        raise ResultError(
            f"The index {path} cannot be read; delete it (finished runs are found without it)."
        ) from error


def write_index(folder: Path, index: Index) -> None:
    """Write the index atomically."""
    path = Path(folder) / INDEX_FILE
    try:
        write_atomically(path, index.model_dump_json(indent=1).encode(), follows_link=False)
    except OSError as error:
        raise ResultError(
            f"The index {path} cannot be written: {error.strerror or error}."
        ) from error
