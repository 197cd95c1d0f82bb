"""Checkpoint: the state of a running fit on disk, so that it can go on after an interruption."""

from __future__ import annotations

import json
import os
import zipfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from napari_dpdeblur.errors import FitError

FORMAT = "napari-dpdeblur checkpoint 1"


@dataclass(frozen=True)
class FitState:
    """What has been computed so far: named tensors, finished steps of stages, loss history."""

    tensors: dict[str, Tensor] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)


class Checkpoint:
    """One file that always holds the newest complete state of one fit.

    ``resume`` says whether a state that is already there may be used; it is refused unless it
    comes from the same capture, calibration and settings.
    """

    def __init__(self, path: Path, resume: bool = False) -> None:
        self.path = Path(path)
        self._resume = resume

    def load(self, signature: str, device: torch.device) -> FitState:
        """The saved state, or an empty one."""
        if not self._resume or not self.path.exists():
            return FitState()
        try:
            # numpy leaves a file open that it cannot read
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
                header = json.loads(str(saved["header"]))
                tensors = {
                    name.removeprefix("tensor_"): torch.from_numpy(saved[name]).to(device)
                    for name in saved.files
                    if name.startswith("tensor_")
                }
            found = header["format"], header["signature"]
            state = FitState(tensors, dict(header["steps"]), list(header["history"]))
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
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
        """Replace the file by a newer state, whole or not at all."""
        header = {
            "format": FORMAT,
            "signature": signature,
            "steps": state.steps,
            "history": state.history,
        }
        arrays = {f"tensor_{name}": t.detach().cpu().numpy() for name, t in state.tensors.items()}
        partial = self.path.with_name(self.path.name + ".partial")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as file:
                np.savez(file, header=json.dumps(header), **arrays)  # type: ignore[arg-type]
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self.path)
        except OSError as error:
            with suppress(OSError):
                partial.unlink()
            raise FitError(
                f"The checkpoint {self.path} cannot be written: {error.strerror or error}."
            ) from error

    def remove(self) -> None:
        """Delete the file after the fit has ended well."""
        self.path.unlink(missing_ok=True)
