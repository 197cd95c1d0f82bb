"""Settings remembered between sessions, as JSON in the user's configuration folder.

A convenience: damaged or unwritable content is ignored, never an error.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from qtpy.QtCore import QStandardPaths

from napari_dpdeblur.files.atomic import write_atomically
from napari_dpdeblur.viewer.shared.preferences import preference

FILE_NAME = "napari-dpdeblur.json"
FOLDER_VARIABLE = "DPDEBLUR_CONFIG"
MAX_BYTES = 1_000_000
_writer = ThreadPoolExecutor(1, thread_name_prefix="settings")
_pending: dict[Path, dict[str, Any]] = {}  # newer than the file
_lock = Lock()


def state_file() -> Path:
    """Path of the settings file; the variable DPDEBLUR_CONFIG names another folder."""
    location = QStandardPaths.StandardLocation.GenericConfigLocation
    folder = os.environ.get(FOLDER_VARIABLE) or QStandardPaths.writableLocation(location)
    return Path(folder) / FILE_NAME


def remembered(section: str, defaults: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Values remembered in a section such as "fit", on top of ``defaults``.

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
    """Store plain values in a section; other values and sections are kept."""
    if not preference("remember_settings"):
        return
    content = _read()
    stored = content.get(section)
    content[section] = {**(stored if isinstance(stored, dict) else {}), **values}
    with suppress(TypeError, ValueError):  # not plain
        _write_later(state_file(), content)


def flush() -> None:
    """Wait until everything is written; happens by itself when the program ends."""
    _writer.submit(lambda: None).result()


def _fits(value: Any, default: Any) -> bool:
    if default is None or type(value) is type(default):
        return True
    return isinstance(default, float) and type(value) is int


def _read() -> dict[str, Any]:
    path = state_file()
    with _lock:
        pending = _pending.get(path)
    if pending is not None:
        return dict(pending)
    try:
        if path.stat().st_size > MAX_BYTES:
            return {}
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _write_later(path: Path, content: dict[str, Any]) -> None:
    """Write in a thread, because syncing a busy disk would block the window."""
    text = json.dumps(content, indent=2).encode()
    with _lock:
        _pending[path] = content
    _writer.submit(_write, path, content, text)


def _write(path: Path, content: dict[str, Any], text: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
    except OSError:
        pass  # a full or read-only home must not stop anybody's work
    finally:
        with _lock:
            if _pending.get(path) is content:
                del _pending[path]
