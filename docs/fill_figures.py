"""Write the figures of benchmarks/results into the README and the documentation.

    python docs/fill_figures.py [--check]

A figure stands between two HTML comments, which Markdown, MyST and PyPI do not show:

    It takes <!--=quality_standard.time_s:.0f-->28<!--/--> s.

The first names the figure set (the file without `.json`), the figure in it, and its format, a
format specification of Python. `--check` only lists the figures that are out of date.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
RESULTS = REPOSITORY / "benchmarks" / "results"
MARKER = re.compile(r"<!--=(?P<name>[\w.]+):(?P<format>[^\s>]*?)-->(?P<text>[^<>]*)<!--/-->")
OPENING = re.compile(r"<!--=")


class FigureError(ValueError):
    """A marker that names no figure."""


@cache
def figure_set(name: str) -> dict[str, Any]:
    """The figures of one file."""
    path = RESULTS / f"{name}.json"
    if not path.is_file():
        raise FigureError(f"there is no figure set {name} in benchmarks/results")
    figures: dict[str, Any] = json.loads(path.read_text("utf-8"))["figures"]
    return figures


def figure(name: str) -> float:
    """A figure by its full name: `set.figure` or `set.group.figure`."""
    first, *parts = name.split(".")
    value: Any = figure_set(first)
    for part in parts:
        if not isinstance(value, dict) or part not in value:
            raise FigureError(f"there is no figure {name}")
        value = value[part]
    if not isinstance(value, int | float):
        raise FigureError(f"{name} is not a number")
    return value


def filled(text: str) -> str:
    """The text of a page with every figure as it stands in its file."""

    def replaced(marker: re.Match[str]) -> str:
        shown = format(figure(marker["name"]), marker["format"])
        return f"<!--={marker['name']}:{marker['format']}-->{shown}<!--/-->"

    return MARKER.sub(replaced, text)


def pages() -> Iterator[Path]:
    """Every page that may hold figures."""
    yield REPOSITORY / "README.md"
    yield from sorted((REPOSITORY / "docs").rglob("*.md"))


def differences(before: str, after: str) -> list[str]:
    """What would change: the name of each figure with its old and its new text."""
    pairs = zip(MARKER.finditer(before), MARKER.finditer(after), strict=True)
    return [
        f"{old['name']}: {old['text']} -> {new['text']}"
        for old, new in pairs
        if old["text"] != new["text"]
    ]


def main() -> int:
    """Fill in all pages; with `--check`, 1 when one is out of date."""
    parser = argparse.ArgumentParser(description="Write figures into the documentation.")
    parser.add_argument("--check", action="store_true", help="list what is out of date, only")
    is_check = parser.parse_args().check
    texts = {page: page.read_text("utf-8") for page in pages()}
    try:  # all pages or none
        pairs = {page: (before, filled(before)) for page, before in texts.items()}
    except FigureError as error:
        sys.exit(f"Nothing was written: {error}.")
    changes = 0
    for page, (before, after) in pairs.items():
        for line in differences(before, after):
            changes += 1
            print(f"{page.relative_to(REPOSITORY)}: {line}")
        if not is_check and after != before:
            page.write_text(after, "utf-8")
    return int(is_check and changes > 0)


if __name__ == "__main__":
    sys.exit(main())
