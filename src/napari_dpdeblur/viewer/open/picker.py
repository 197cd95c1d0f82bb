"""SamplePicker: all samples with thumbnails; those that were not downloaded have none yet."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from qtpy.QtCore import QSize, Qt
from qtpy.QtGui import QIcon
from qtpy.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QListView,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.open.thumbnails import (
    Thumbnails,
    capture_thumbnail,
    pixmap,
    thumbnail_of,
)

THUMBNAIL_PX = (128, 96)
SYNTHETIC_PX = (336, 252)  # of which a thumbnail is made
CELL_PX = (140, 142)
SIZE_PX = (640, 470)
SAMPLE = Qt.ItemDataRole.UserRole
TEXT = (
    "Scenes by Xin et al. (ICCV 2021) and He et al. (ICCV 2025) are downloaded when they are "
    "opened, and have a thumbnail from then on."
)


@dataclass(frozen=True)
class Sample:
    """An entry of the picker: its title, how to open it, and where its views are kept."""

    title: str
    open: Callable[[], Any]
    files: tuple[Path, ...] = ()

    @property
    def is_here(self) -> bool:
        """Whether its files are on this computer."""
        return all(file.is_file() for file in self.files)


def all_samples() -> list[Sample]:
    """The synthetic scene, then the published ones of both cameras."""
    # Deferred: pooch and the synthetic scenes take time to import.
    from napari_dpdeblur.datasets.canon_r6 import CANON_R6, FOLDERS
    from napari_dpdeblur.datasets.pixel4 import PIXEL4, SCENES
    from napari_dpdeblur.viewer import canon_samples, samples

    pixel4, canon = (_place(files) for files in (PIXEL4, CANON_R6))
    return [
        Sample("Synthetic still life", samples.synthetic),
        *(
            Sample(f"Pixel 4, scene {scene}", partial(samples.pixel4, scene), _pair(pixel4, scene))
            for scene in SCENES
        ),
        *(
            Sample(
                f"Canon R6, {scene.replace('_', ' ')}",
                partial(canon_samples.canon_r6, scene),
                (canon / folder / "l.png", canon / folder / "r.png"),
            )
            for scene, folder in FOLDERS.items()
        ),
    ]


DOWNLOAD = "⬇"


class SamplePicker(QDialog):
    """A grid of samples; a double click or Open adds one to the viewer."""

    def __init__(self, viewer: Any, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._viewer = viewer
        self.setObjectName("sample_picker")
        self.setWindowTitle("Samples")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.list = _grid()
        self._thumbnails = Thumbnails(self)
        self._thumbnails.made.connect(self._show_thumbnail)
        text = QLabel(TEXT)
        text.setWordWrap(True)
        kinds = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(kinds.Open | kinds.Cancel)
        self.buttons.accepted.connect(self._open_chosen)
        self.buttons.rejected.connect(self.reject)
        self.list.itemDoubleClicked.connect(lambda _: self._open_chosen())
        self.list.itemSelectionChanged.connect(self._update)
        layout = QVBoxLayout(self)
        for part in (self.list, text, self.buttons):
            layout.addWidget(part)
        self.resize(*SIZE_PX)
        self._fill()
        self._update()

    def _fill(self) -> None:
        for sample in all_samples():
            is_download = bool(sample.files) and not sample.is_here
            item = QListWidgetItem(sample.title + ("\n(download)" if is_download else ""))
            item.setData(SAMPLE, sample)
            item.setToolTip(sample.title)
            item.setIcon(QIcon(pixmap(None, THUMBNAIL_PX, DOWNLOAD if is_download else "")))
            item.setTextAlignment(Qt.AlignmentFlag.AlignHCenter)
            self.list.addItem(item)
            if sample.is_here:
                self._thumbnails.add(self.list.count() - 1, partial(_thumbnail, sample))

    def _show_thumbnail(self, row: int, picture: Any) -> None:
        self.list.item(row).setIcon(QIcon(pixmap(picture, THUMBNAIL_PX)))

    def _update(self) -> None:
        button = self.buttons.button(QDialogButtonBox.StandardButton.Open)
        button.setEnabled(bool(self.list.selectedItems()))

    def _open_chosen(self) -> None:
        chosen = [item.data(SAMPLE) for item in self.list.selectedItems()]
        self._thumbnails.drop()
        self.accept()
        for sample in chosen:
            put_layers(self._viewer, sample.open())


def _thumbnail(sample: Sample) -> Any:
    """Of the files, or of the synthetic scene, made small in a fraction of a second."""
    from napari_dpdeblur.datasets.synthetic.simulation import sample as synthetic

    if sample.files:
        return capture_thumbnail(sample.files, THUMBNAIL_PX)
    width, height = SYNTHETIC_PX
    return thumbnail_of(synthetic(height, width).capture, THUMBNAIL_PX)


def _grid() -> QListWidget:
    grid = QListWidget()
    grid.setObjectName("samples")
    grid.setToolTip("Samples; a double click opens one")
    grid.setViewMode(QListView.ViewMode.IconMode)
    grid.setResizeMode(QListView.ResizeMode.Adjust)
    grid.setMovement(QListView.Movement.Static)
    grid.setIconSize(QSize(*THUMBNAIL_PX))
    grid.setGridSize(QSize(*CELL_PX))
    grid.setWordWrap(True)
    return grid


def _place(files: Any) -> Path:
    """Where the files of a dataset are: a local mirror, else the cache."""
    mirror = os.environ.get(files.mirror_variable, "")
    return Path(mirror) if mirror and Path(mirror).is_dir() else files.cache_folder()


def _pair(folder: Path, scene: str) -> tuple[Path, ...]:
    return folder / f"{scene}_left.png", folder / f"{scene}_right.png"


def choose_sample() -> None:
    """The menu entry that opens the picker."""
    import napari

    viewer = napari.current_viewer()
    if viewer is not None:
        SamplePicker(viewer, viewer.window._qt_window).open()
