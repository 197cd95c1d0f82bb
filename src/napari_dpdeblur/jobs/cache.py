"""Where interrupted fits are kept: one file each in the user's cache, named by its signature."""

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
    """Goes on from an interrupted fit of the same signature, and is never in the way of a fit.

    A damaged file is thrown away. When the disk is full, ``problem`` says so and the fit goes on
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
        """Keep a newer state if that is possible."""
        if self.problem is not None:
            return
        try:
            super().save(signature, state)
        except FitError as error:
            self.problem = str(error)

    def remove(self) -> None:
        """Delete the file if that is possible: the result must not be lost with it."""
        with suppress(OSError):
            super().remove()


def forget_old_checkpoints(folder: Path, keep: int = MAX_CHECKPOINTS) -> None:
    """Delete all but the newest checkpoints: a full-size fit leaves some tens of megabytes."""
    with suppress(OSError):
        files = sorted(folder.glob(f"*{SUFFIX}*"), key=lambda path: -path.stat().st_mtime)
        for path in files[keep:]:
            path.unlink(missing_ok=True)
