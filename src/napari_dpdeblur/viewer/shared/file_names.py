"""Names that a dialog gave without the suffix of what is saved."""

from __future__ import annotations

from pathlib import Path

from napari_dpdeblur.results.movie import refuse_existing


def with_suffix(path: Path, suffix: str) -> Path:
    """The name with the suffix at its end; ResultError when there is such a file already.

    The dialog has asked about the name that it gave, not about this one.
    """
    completed = path.with_name(path.name + suffix)
    refuse_existing(completed, overwrite=False)
    return completed
