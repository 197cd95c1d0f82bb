"""Settings that are remembered between sessions: plain JSON in the user's configuration folder.

A convenience: damaged, foreign or unwritable content is passed over, never an error.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qtpy.QtCore import QStandardPaths

from napari_dpdeblur.viewer.preferences import preference

FILE_NAME = "napari-dpdeblur.json"
FOLDER_VARIABLE = "DPDEBLUR_CONFIG"
MAX_BYTES = 1_000_000


def state_file() -> Path:
    """Where the settings are kept; the variable DPDEBLUR_CONFIG names another folder."""
    location = QStandardPaths.StandardLocation.GenericConfigLocation
    folder = os.environ.get(FOLDER_VARIABLE) or QStandardPaths.writableLocation(location)
    return Path(folder) / FILE_NAME


def remembered(section: str, defaults: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What was remembered under a section, such as "fit", on top of ``defaults``.

    With ``defaults``, unknown names and values of another type are left out; a default of None
    accepts any plain value. Whoever uses a value still has to check its range.
    """
    stored = _read().get(section) if preference("remember_settings") else None
    values = stored if isinstance(stored, dict) else {}
    if defaults is None:
        return values
    usable = {name: values[name] for name in defaults if name in values}
    return {**defaults, **{n: v for n, v in usable.items() if _fits(v, defaults[n])}}


def remember(section: str, values: Mapping[str, Any]) -> None:
    """Keep plain values under a section; other names in it and other sections stay."""
    if not preference("remember_settings"):
        return
    content = _read()
    stored = content.get(section)
    content[section] = {**(stored if isinstance(stored, dict) else {}), **values}
    try:
        _write(json.dumps(content, indent=2))
    except (OSError, TypeError, ValueError):
        return  # a full or read-only home must not stop anybody's work


def forget() -> None:
    """Go back to the defaults of everything."""
    state_file().unlink(missing_ok=True)


def _fits(value: Any, default: Any) -> bool:
    if default is None or type(value) is type(default):
        return True
    return isinstance(default, float) and type(value) is int


def _read() -> dict[str, Any]:
    path = state_file()
    try:
        if path.stat().st_size > MAX_BYTES:
            return {}
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _write(text: str) -> None:
    """Replace the file in one step, so that a crash leaves the old one or the new one."""
    path = state_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(prefix=f".{FILE_NAME}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(beside, path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
