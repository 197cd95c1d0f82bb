"""Long computations are generators that yield after every step and return their result."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Generic, TypeVar

Step = TypeVar("Step")
Other = TypeVar("Other")
Result = TypeVar("Result")


class _Kept(Generic[Step, Result]):
    """A computation to loop over, whose ``result`` is there after the loop."""

    result: Result

    def __init__(self, steps: Generator[Step, None, Result]) -> None:
        self._steps = steps

    def __iter__(self) -> Iterator[Step]:
        self.result = yield from self._steps


def finish(
    steps: Generator[Step, None, Result], on_step: Callable[[Step], object] = lambda step: None
) -> Result:
    """Run a computation to its end; ``on_step`` is called with everything that it yields."""
    kept = _Kept(steps)
    for step in kept:
        on_step(step)
    return kept.result


def translated(
    steps: Generator[Step, None, Result], translate: Callable[[Step], Other]
) -> Generator[Other, None, Result]:
    """The same computation, whose steps are told in other words."""
    return (yield from expanded(steps, lambda step: (translate(step),)))


def expanded(
    steps: Generator[Step, None, Result], expand: Callable[[Step], Iterable[Other]]
) -> Generator[Other, None, Result]:
    """The same computation, each of whose steps becomes any number of others."""
    kept = _Kept(steps)
    for step in kept:
        yield from expand(step)
    return kept.result
