"""Where a result can be shown: a window of napari, a notebook, or nowhere."""

from __future__ import annotations

import importlib.util
import os
import sys

QT_BINDINGS = ("PyQt6", "PySide6", "PyQt5", "PySide2")


def no_window_reason() -> str | None:
    """Why napari cannot be opened here; None when it can."""
    if sys.platform == "linux" and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        return "there is no display"
    if not any(importlib.util.find_spec(name) for name in QT_BINDINGS):
        return "no Qt binding is installed, see the extra 'all'"
    return None


def in_notebook() -> bool:
    """Whether this runs in a kernel, whose front end shows pictures below the cell."""
    # Without IPython in memory nobody can be in a notebook: do not load it to find that out.
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None
