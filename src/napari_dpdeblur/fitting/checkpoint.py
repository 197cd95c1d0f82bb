"""Checkpoint: the state of a running fit on disk, to resume it after an interruption."""

from __future__ import annotations

import json
import time
import zipfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from torch import Tensor

from napari_dpdeblur.errors import FitError
from napari_dpdeblur.files import atomic_file, leftovers, open_regular
from napari_dpdeblur.files.archive import DAMAGED, check_stored_members, read_array, write_stored
from napari_dpdeblur.files.plain import parse_json

KIND = "napari-dpdeblur checkpoint "
FORMAT = f"{KIND}3"
HEADER_NAME = "header.json"
TENSOR = "tensor_"
# Largest share of the run time that saving may take, plus an allowance at the start.
MAX_SHARE = 0.03
FREE_S = 0.3


@dataclass(frozen=True)
class FitState:
    """State of a fit: named tensors, finished steps of each stage, loss history."""

    tensors: dict[str, Tensor] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)


class Checkpoint:
    """A file with the latest complete state of one fit.

    With ``resume``, an existing state is used; it is refused unless it comes from the same
    capture, calibration and settings. A state whose saving would take more than ``MAX_SHARE`` of
    the run time is skipped.
    """

    def __init__(self, path: Path, resume: bool = False) -> None:
        self.path = Path(path)
        self.spent_s = 0.0
        self._resume = resume
        self._start = time.monotonic()

    def check(self) -> None:
        """Refuse a file in the way that no fit has written: saving a state would replace it."""
        if not self.path.exists() and not self.path.is_symlink():
            return
        with suppress(*DAMAGED, OSError), open_regular(self.path) as (file, size_bytes):
            if not self.path.is_symlink() and _is_checkpoint(file, size_bytes):
                return
        raise FitError(
            f"{self.path} is in the way: it is not the checkpoint of a fit, or a damaged one; move "
            "or delete it."
        )

    def load(self, signature: str, device: torch.device) -> FitState:
        """The saved state, or an empty one."""
        if not self._resume or not self.path.exists():
            return FitState()
        try:
            with open_regular(self.path) as (file, size_bytes), zipfile.ZipFile(file) as archive:
                check_stored_members(archive, size_bytes)
                found, state = _read(archive, size_bytes, device)
        except (*DAMAGED, OSError, TypeError, AttributeError, FitError):
            raise FitError(
                f"The checkpoint {self.path} is damaged; delete it to start again."
            ) from None
        if found != (FORMAT, signature):
            raise FitError(
                f"The checkpoint {self.path} belongs to another capture, calibration or set of "
                "settings; delete it to start again."
            )
        return state

    def save(self, signature: str, state: FitState) -> None:
        """Replace the file atomically by a newer state, unless that takes too long."""
        before = time.monotonic()
        if self.spent_s > FREE_S + MAX_SHARE * (before - self._start):
            return
        header = {
            "format": FORMAT,
            "signature": signature,
            "steps": state.steps,
            "history": state.history,
        }
        arrays = {f"{TENSOR}{name}": _array(tensor) for name, tensor in state.tensors.items()}
        content = json.dumps(header).encode()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_file(self.path, follows_link=False) as beside, beside.open("wb") as file:
                write_stored(file, HEADER_NAME, content, arrays)
        except OSError as error:
            raise FitError(
                f"The checkpoint {self.path} cannot be written: {error.strerror or error}."
            ) from error
        self.spent_s += time.monotonic() - before

    def remove(self) -> None:
        """Delete the file after a successful fit."""
        self.path.unlink(missing_ok=True)
        leftovers.clear(self.path)


def _is_checkpoint(file: IO[bytes], size_bytes: int) -> bool:
    with zipfile.ZipFile(file) as archive:
        check_stored_members(archive, size_bytes)
        header = parse_json(archive.read(HEADER_NAME))
    return isinstance(header, dict) and str(header.get("format", "")).startswith(KIND)


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()


def _read(
    archive: zipfile.ZipFile, size_bytes: int, device: torch.device
) -> tuple[tuple[str, str], FitState]:
    """Format, signature and state; a damaged file raises one of many exceptions."""
    header = parse_json(archive.read(HEADER_NAME))
    names = [name.removesuffix(".npy") for name in archive.namelist() if name.startswith(TENSOR)]
    tensors = {
        name.removeprefix(TENSOR): _tensor(
            read_array(archive, name, name, FitError, size_bytes), device
        )
        for name in names
    }
    steps = {str(stage): int(count) for stage, count in header["steps"].items()}
    history = [dict(entry) for entry in header["history"]]
    return (str(header["format"]), str(header["signature"])), FitState(tensors, steps, history)


def _tensor(array: np.ndarray, device: torch.device) -> Tensor:
    native = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    return torch.from_numpy(native).to(device)
