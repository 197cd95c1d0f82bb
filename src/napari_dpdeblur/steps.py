"""Long computations are generators that yield after every step and return their result."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

Step = TypeVar("Step")
Other = TypeVar("Other")
Result = TypeVar("Result")


def finish(
    steps: Generator[Step, None, Result], on_step: Callable[[Step], object] = lambda step: None
) -> Result:
    """Run a computation to its end; ``on_step`` is called with everything that it yields."""
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
        on_step(step)


def translated(
    steps: Generator[Step, None, Result], translate: Callable[[Step], Other]
) -> Generator[Other, None, Result]:
    """The same computation, whose steps are told in other words."""
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
        yield translate(step)
