"""Messages between a job and its parent."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from napari_dpdeblur.array_types import FloatArray


@dataclass(frozen=True)
class Job:
    """A computation: ``function`` is "module:name" of a generator function.

    It is called with ``request``, yields :class:`Progress` and :class:`Note`, and returns the
    result. Both must be importable and picklable in a new process. ``title`` starts messages about
    it, such as "The fit".
    """

    function: str
    request: Any
    title: str


class Command(Enum):
    """Commands of the parent to a running job."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"


@dataclass(frozen=True)
class Progress:
    """A step of the job; images are small, None if there is nothing new."""

    stage: str
    step: int
    total: int
    fraction: float
    losses: dict[str, float] = field(default_factory=dict)
    all_in_focus: FloatArray | None = None  # (h, w) or (h, w, 3)
    defocus_map: FloatArray | None = None  # (h, w)
    found: dict[str, Any] = field(default_factory=dict)  # other intermediate results


@dataclass(frozen=True)
class Note:
    """A message for the user; ``is_problem`` marks an error that does not end the job."""

    text: str
    is_problem: bool = False


@dataclass(frozen=True)
class Finished:
    """The job has finished successfully."""

    result: Any


@dataclass(frozen=True)
class Failed:
    """The job has failed; ``text`` is for the user, ``details`` for the log."""

    text: str
    details: str = ""


@dataclass(frozen=True)
class Cancelled:
    """The job was cancelled."""


Message = Progress | Note | Finished | Failed | Cancelled
ENDS = (Finished, Failed, Cancelled)
