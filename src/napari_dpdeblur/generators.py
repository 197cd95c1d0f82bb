"""Helpers for long computations: generators that yield steps and return a result."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Generic, TypeVar

Step = TypeVar("Step")
Other = TypeVar("Other")
Result = TypeVar("Result")


class _WithResult(Generic[Step, Result]):
    """Iterates over a computation; ``result`` is set at its end."""

    result: Result

    def __init__(self, steps: Generator[Step, None, Result]) -> None:
        self._steps = steps

    def __iter__(self) -> Iterator[Step]:
        self.result = yield from self._steps


def finish(
    steps: Generator[Step, None, Result], on_step: Callable[[Step], object] = lambda step: None
) -> Result:
    """Run a computation to its end, calling ``on_step`` with each step; return its result."""
    kept = _WithResult(steps)
    for step in kept:
        on_step(step)
    return kept.result


def translated(
    steps: Generator[Step, None, Result], translate: Callable[[Step], Other]
) -> Generator[Other, None, Result]:
    """The same computation with each step translated."""
    return (yield from expanded(steps, lambda step: (translate(step),)))


def expanded(
    steps: Generator[Step, None, Result], expand: Callable[[Step], Iterable[Other]]
) -> Generator[Other, None, Result]:
    """The same computation with each step expanded to any number of others."""
    kept = _WithResult(steps)
    for step in kept:
        yield from expand(step)
    return kept.result
