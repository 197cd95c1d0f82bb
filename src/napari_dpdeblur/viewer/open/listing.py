"""Listing: the captures that the Open tab offers, with the state of their fits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from qtpy.QtCore import QObject, Signal

from napari_dpdeblur.capture.pairing import capture_name
from napari_dpdeblur.viewer.open.folder import Files

_listings: WeakKeyDictionary[Any, Listing] = WeakKeyDictionary()


@dataclass(eq=False)
class Entry:
    """A capture on disk; ``state`` is a short text about its fit, ``details`` a longer one."""

    name: str
    files: Files
    state: str = ""
    details: str = ""
    fraction: float | None = None  # of a running fit
    run_folder: Path | None = None
    thumbnail: Any = field(default=None, repr=False)  # bytes (h, w) or (h, w, 3)

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return self.files[0].parent


class Listing(QObject):
    """Captures in the order in which they were found, each once. GUI thread only."""

    changed = Signal()  # entries were added or removed
    entry_changed = Signal(object)

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self._viewer = viewer
        self.entries: list[Entry] = []

    def add(self, captures: Iterable[Files]) -> list[Entry]:
        """List captures by their files; returns the entries of all of them."""
        known = {entry.files: entry for entry in self.entries}
        asked = []
        for files in captures:
            if files not in known:
                known[files] = Entry(capture_name(files), files)
            asked.append(known[files])
        if len(known) > len(self.entries):
            self.entries = list(known.values())
            self.changed.emit()
        return asked

    def remove(self, entries: Iterable[Entry]) -> None:
        """Take captures off the list; their files stay."""
        gone = list(entries)
        self.entries = [entry for entry in self.entries if entry not in gone]
        self.changed.emit()

    def show_tab(self) -> None:
        """Open the Open tab in the window of the viewer."""
        from napari_dpdeblur.viewer.dock import OPEN, show_dock  # which shows this list

        show_dock(self._viewer, OPEN)


def listing_of(viewer: Any) -> Listing:
    """The list of a viewer."""
    if viewer not in _listings:
        _listings[viewer] = Listing(viewer)
    return _listings[viewer]
