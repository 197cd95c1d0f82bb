"""Checkpoints of interrupted fits in the user's cache, one file per signature."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import torch

from napari_dpdeblur.errors import FitError
from napari_dpdeblur.files.cache import user_cache
from napari_dpdeblur.fitting.checkpoint import Checkpoint, FitState

MAX_CHECKPOINTS = 4
SUFFIX = ".checkpoint"


def checkpoint_folder() -> Path:
    """The folder of checkpoints in the user's cache."""
    return user_cache("checkpoints")


class CachedCheckpoint(Checkpoint):
    """Resumes an interrupted fit with the same signature; its failures never stop a fit.

    A damaged file is discarded. If the disk is full, ``problem`` says so and the fit continues
    without checkpoints.
    """

    def __init__(self, folder: Path, signature: str) -> None:
        super().__init__(folder / f"{signature}{SUFFIX}", resume=True)
        self.problem: str | None = None
        self.is_resumed = False

    def load(self, signature: str, device: torch.device) -> FitState:
        """The saved state, or an empty one."""
        try:
            state = super().load(signature, device)
        except FitError:
            self.remove()
            return FitState()
        self.is_resumed = bool(state.steps)
        return state

    def save(self, signature: str, state: FitState) -> None:
        """Save the state, if possible."""
        if self.problem is not None:
            return
        try:
            super().save(signature, state)
        except FitError as error:
            self.problem = str(error)

    def remove(self) -> None:
        """Delete the file, if possible; a failure must not lose the result."""
        with suppress(OSError):
            super().remove()


def forget_old_checkpoints(folder: Path, keep: int = MAX_CHECKPOINTS) -> None:
    """Delete all but the newest checkpoints, as each takes tens of megabytes."""
    with suppress(OSError):
        files = sorted(folder.glob(f"*{SUFFIX}*"), key=lambda path: -path.stat().st_mtime)
        for path in files[keep:]:
            path.unlink(missing_ok=True)
