"""State of a lens estimate on disk, to resume it after an interruption."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor

from napari_dpdeblur.calibration.estimate.optimise import LensState
from napari_dpdeblur.files import read_regular, write_atomically
from napari_dpdeblur.files.plain import parse_json

FORMAT = "napari-dpdeblur lens estimate 1"
MAX_BYTES = 100_000
TENSORS = ("values", "mean", "square")


class LensCheckpoint:
    """A small file with the latest state of one estimate; without a path nothing is kept.

    An estimate takes seconds: a state that cannot be read or written, or that belongs to another
    estimate, only means to start again.
    """

    def __init__(self, path: Path | None, signature: str) -> None:
        self._path, self._signature = path, signature

    def load(self, start: Tensor) -> LensState:
        """The saved state, or the one at the start."""
        if self._path is None or not self._path.exists():
            return LensState.start(start)
        try:
            saved = parse_json(read_regular(self._path, MAX_BYTES))
            values, mean, square = (
                torch.tensor(saved[name], dtype=start.dtype) for name in TENSORS
            )
            state = LensState(values, mean, square, int(saved["step"]))
            is_same = (saved["format"], saved["signature"]) == (FORMAT, self._signature)
        except (OSError, ValueError, TypeError, KeyError, RuntimeError):
            return LensState.start(start)
        fits = all(getattr(state, name).shape == start.shape for name in TENSORS)
        return state if is_same and fits else LensState.start(start)

    def save(self, state: LensState) -> None:
        """Replace the file by a newer state."""
        if self._path is None:
            return
        tensors = {name: getattr(state, name).tolist() for name in TENSORS}
        content = {"format": FORMAT, "signature": self._signature, "step": state.step, **tensors}
        try:
            write_atomically(self._path, json.dumps(content).encode(), follows_link=False)
        except OSError:
            self._path = None

    def remove(self) -> None:
        """Delete the file after a finished estimate."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
