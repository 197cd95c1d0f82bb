"""CaptureList: the captures of a listing with thumbnails and the state of their fits."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from qtpy.QtCore import QSize, Qt, Signal
from qtpy.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QIcon, QKeyEvent
from qtpy.QtWidgets import QAbstractItemView, QListWidget, QListWidgetItem, QWidget

from napari_dpdeblur.viewer.open.listing import Entry, Listing
from napari_dpdeblur.viewer.open.thumbnails import (
    HEIGHT_PX,
    WIDTH_PX,
    Thumbnails,
    capture_thumbnail,
    pixmap,
)

TIP = (
    "Captures to choose from: a click opens one. Drop files or folders here; Delete removes the "
    "selected ones from the list."
)
ENTRY = Qt.ItemDataRole.UserRole


class CaptureList(QListWidget):
    """Follows a listing; ``picked`` gives the entry that was clicked, ``dropped`` paths."""

    picked = Signal(object)
    dropped = Signal(object)

    def __init__(self, listing: Listing, parent: QWidget) -> None:
        super().__init__(parent)
        self._listing = listing
        self._thumbnails = Thumbnails(self)
        self._thumbnails.made.connect(self._keep_thumbnail)
        self.setObjectName("captures")
        self.setToolTip(TIP)
        self.setIconSize(QSize(WIDTH_PX, HEIGHT_PX))
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setUniformItemSizes(True)
        self.setAcceptDrops(True)
        self.setMinimumHeight(HEIGHT_PX + 8)
        self.itemClicked.connect(lambda item: self.picked.emit(item.data(ENTRY)))
        self.itemActivated.connect(lambda item: self.picked.emit(item.data(ENTRY)))
        listing.changed.connect(self.refresh)
        listing.entry_changed.connect(self._update)
        self.refresh()

    @property
    def selected(self) -> list[Entry]:
        """The selected entries."""
        return [item.data(ENTRY) for item in self.selectedItems()]

    def refresh(self) -> None:
        """Show the entries of the listing; the selection is kept."""
        chosen = self.selected
        self.clear()
        for entry in self._listing.entries:
            item = QListWidgetItem()
            item.setData(ENTRY, entry)
            self.addItem(item)
            self._show(item)
            item.setSelected(entry in chosen)
            if entry.thumbnail is None:
                self._thumbnails.add(entry, partial(capture_thumbnail, entry.files))

    def select(self, entry: Entry) -> None:
        """Select one entry alone."""
        for item in self._items():
            item.setSelected(item.data(ENTRY) is entry)

    def _items(self) -> Iterable[QListWidgetItem]:
        return (self.item(row) for row in range(self.count()))

    def _update(self, entry: Entry) -> None:
        for item in self._items():
            if item.data(ENTRY) is entry:
                self._show(item)

    def _show(self, item: QListWidgetItem) -> None:
        entry = item.data(ENTRY)
        item.setText(f"{entry.name}\n{entry.state}")
        item.setToolTip("\n".join(filter(None, [entry.details, *map(str, entry.files)])))
        item.setIcon(QIcon(pixmap(entry.thumbnail)))

    def _keep_thumbnail(self, entry: Entry, picture: object) -> None:
        entry.thumbnail = picture
        self._update(entry)

    def stop(self) -> None:
        """Make no more thumbnails."""
        self._thumbnails.drop()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self._listing.remove(self.selected)
        else:
            super().keyPressEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        _accept_files(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        _accept_files(event)

    def dropEvent(self, event: QDropEvent) -> None:
        urls = [url for url in event.mimeData().urls() if url.isLocalFile()]
        self.dropped.emit([Path(url.toLocalFile()) for url in urls])
        event.acceptProposedAction()


def _accept_files(event: QDragEnterEvent | QDragMoveEvent) -> None:
    if event.mimeData().hasUrls():
        event.acceptProposedAction()
    else:
        event.ignore()
