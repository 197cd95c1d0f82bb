"""What a job and the one who waits for it say to each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from napari_dpdeblur.array_types import FloatArray


@dataclass(frozen=True)
class Job:
    """What to do: ``function`` is "module:name" of a generator function.

    It is called with ``request``, yields :class:`Progress` and :class:`Note`, and returns the
    result, under the parent's control. Both must be importable and picklable in a fresh process.
    ``title`` begins sentences about it, such as "The fit".
    """

    function: str
    request: Any
    title: str


class Command(Enum):
    """What the parent may say after the job."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"


@dataclass(frozen=True)
class Progress:
    """A step of the job; pictures are small, None where there is nothing new to see."""

    stage: str
    step: int
    total: int
    fraction: float
    losses: dict[str, float] = field(default_factory=dict)
    all_in_focus: FloatArray | None = None  # (h, w) or (h, w, 3)
    defocus_map: FloatArray | None = None  # (h, w)
    found: dict[str, Any] = field(default_factory=dict)  # what else there is to look at


@dataclass(frozen=True)
class Note:
    """A sentence for the user; ``is_problem`` when something went wrong that ends nothing."""

    text: str
    is_problem: bool = False


@dataclass(frozen=True)
class Finished:
    """The job has ended well."""

    result: Any


@dataclass(frozen=True)
class Failed:
    """The job has ended with a sentence for the user; ``details`` go to the log."""

    text: str
    details: str = ""


@dataclass(frozen=True)
class Cancelled:
    """The job has ended because it was asked to."""


Message = Progress | Note | Finished | Failed | Cancelled
ENDS = (Finished, Failed, Cancelled)
