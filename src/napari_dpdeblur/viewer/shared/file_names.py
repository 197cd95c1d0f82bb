"""File names that a dialog returned without a suffix."""

from __future__ import annotations

from pathlib import Path

from napari_dpdeblur.results.movie import refuse_existing


def with_suffix(path: Path, suffix: str) -> Path:
    """The name with the suffix appended; ResultError if such a file exists.

    The dialog has confirmed the name that it returned, not this one.
    """
    completed = path.with_name(path.name + suffix)
    refuse_existing(completed, overwrite=False)
    return completed
