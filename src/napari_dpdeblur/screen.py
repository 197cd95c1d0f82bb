"""Detect whether a napari window or a notebook can show a result."""

from __future__ import annotations

import importlib.util
import os
import sys

QT_BINDINGS = ("PyQt6", "PySide6", "PyQt5", "PySide2")


def no_window_reason() -> str | None:
    """Why napari cannot be opened here; None if it can."""
    if sys.platform == "linux" and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        return "there is no display"
    if not any(importlib.util.find_spec(name) for name in QT_BINDINGS):
        return "no Qt binding is installed; install napari-dpdeblur[all]"
    return None


def in_notebook() -> bool:
    """Whether the code runs in a notebook kernel that can display images."""
    # If IPython is not loaded, this is not a notebook; do not import it to find out.
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None
