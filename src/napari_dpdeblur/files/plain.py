"""Parse JSON and YAML safely: no code, no aliases, limited nesting."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import yaml

MAX_DEPTH = 32

# The C version is twenty times faster on a long loss history, but not always available.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_json(text: str | bytes) -> Any:
    """Parse JSON; ValueError says what is wrong."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_yaml(text: str) -> Any:
    """Parse YAML to plain values; ValueError says what is wrong.

    Aliases are refused because a few of them can expand to gigabytes, tags because they name types.
    """
    try:
        wrong = _wrong_event(yaml.parse(text, Loader=_Loader))
        content = None if wrong else yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, RecursionError, OverflowError, ValueError) as error:
        raise ValueError("it is not plain YAML") from error
    if wrong is not None:
        raise ValueError(f"it {wrong}")
    return content


def _wrong_event(events: Iterator[yaml.Event]) -> str | None:
    depth = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            return "contains aliases"
        if getattr(event, "tag", None) is not None:
            return "is not plain YAML: it contains tags"
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            return "is not plain YAML: it is nested too deeply"
    return None
