"""OpenWidget: open captures, choose one of several, and fit all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from napari.qt.threading import create_worker
from napari.utils.notifications import show_error
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QFileDialog, QLineEdit, QVBoxLayout

from napari_dpdeblur.errors import SettingsError
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.camera import zoom_to
from napari_dpdeblur.viewer.layers.metadata import LEFT, layer_info
from napari_dpdeblur.viewer.open.batch import FitPlan, ListedFits, opened_capture
from napari_dpdeblur.viewer.open.cameras import last_folder
from napari_dpdeblur.viewer.open.capture_list import CaptureList
from napari_dpdeblur.viewer.open.folder import Found, find_captures, is_run
from napari_dpdeblur.viewer.open.listing import Entry, listing_of
from napari_dpdeblur.viewer.open.picker import SamplePicker
from napari_dpdeblur.viewer.reader import open_paths, read_pair
from napari_dpdeblur.viewer.shared.controls import (
    MARGIN_PX,
    SteadyLabel,
    browse_button,
    in_row,
    push_button,
)
from napari_dpdeblur.viewer.shared.dock import DockedWidget
from napari_dpdeblur.viewer.shared.timers import call_later

FILTER = "Captures (*.png *.jpg *.jpeg *.tif *.tiff *.pgm *.cr2 *.cr3);;All files (*)"
EMPTY = "Open a folder or the files of a capture, drop them onto the list, or start with a sample."
UNLISTED = "Open: {}."


class OpenWidget(DockedWidget):
    """Buttons to open captures, the list of those found, and the fits of all of them.

    ``plan`` tells the settings and the calibration of these fits. ``opened`` gives the capture
    that was picked when its layers are there.
    """

    opened = Signal(object)

    def __init__(self, viewer: Any, plan: Callable[[], FitPlan]) -> None:
        super().__init__()
        self.setObjectName("open_widget")
        self._viewer, self._plan = viewer, plan
        self.listing = listing_of(viewer)
        self.list = CaptureList(self.listing, self)
        self.fits = ListedFits(viewer, self.listing, self)
        self.status = SteadyLabel("open_status", "What happens to the captures", 3)
        self._make_buttons()
        self._lay_out()
        self.list.picked.connect(self.pick)
        self.list.dropped.connect(self.add)
        self.list.itemSelectionChanged.connect(self._update)
        self.listing.changed.connect(self._update)
        self.fits.changed.connect(self._update)
        for event in self._layer_events():
            event.connect(self._layers_changed)
        self._update()

    def add(self, paths: Sequence[Path]) -> None:
        """List the captures in files and folders, and open a single one; in the background.

        A run folder is opened at once.
        """
        runs = [path for path in paths if is_run(path)]
        for folder in runs:
            open_paths(self._viewer, folder)
        others = [path for path in paths if path not in runs]
        if others:
            self.status.setText(f"Looking for captures in {others[0].name}...")
            worker = create_worker(find_captures, others)
            worker.returned.connect(self._list_found)
            worker.start()

    def pick(self, entry: Entry) -> None:
        """Show a capture, alone; it is opened first if it is not open."""
        self.list.select(entry)
        if opened_capture(self._viewer, entry) is not None:
            self._show_alone(entry)
            return
        self.status.setText(f"Opening {entry.name}...")
        files = [str(file) for file in entry.files]
        open_paths(self._viewer, files, read_pair, lambda _: self._show_alone(entry))

    def fit_all(self) -> None:
        """Fit the selected captures, or all of them if at most one is selected."""
        try:
            plan = self._plan()
        except SettingsError as error:
            show_error(str(error))
            return
        folder = self.output.text().strip()
        output = Path(folder).expanduser() if folder else None
        self.fits.start(self._to_fit(), FitPlan(plan.settings, plan.calibration, output))

    def show_result(self) -> None:
        """Open the run folders of the selected captures."""
        for entry in self.list.selected:
            if entry.run_folder is not None:
                open_paths(self._viewer, entry.run_folder)

    def stop_all(self) -> None:
        """Kill the fits."""
        for event in self._layer_events():
            event.disconnect(self._layers_changed)
        self.list.stop()
        self.fits.stop()

    def _layer_events(self) -> list[Any]:
        events = self._viewer.layers.events
        return [events.inserted, events.removed]

    def _layers_changed(self, event: Any = None) -> None:
        """A sample is open, although no list has it."""
        if not self.listing.entries:
            call_later(self._update)

    def _list_found(self, found: Found) -> None:
        captures, problem = found
        if self.is_closed:
            return
        if problem:
            self.status.setText(problem)
            show_error(problem)
            return
        entries = self.listing.add(captures)
        self._update()
        if len(entries) == 1:
            self.pick(entries[0])
        else:
            self.status.setText(f"{len(entries)} captures found: click the one to open.")

    def _show_alone(self, entry: Entry) -> None:
        capture = opened_capture(self._viewer, entry)
        if self.is_closed or capture is None:
            return
        groups = {
            info.group
            for _, info in queries.described_layers(self._viewer)
            if info.capture is capture
        }
        left_behind = []
        for layer, info in queries.described_layers(self._viewer):
            if info.capture is capture:
                layer.visible = True
            elif info.group not in groups and layer.visible:
                layer.visible = False
                left_behind.append(layer)
        left = [
            layer
            for layer, info in queries.described_layers(self._viewer)
            if info.capture is capture and info.kind == LEFT
        ]
        if left and left_behind and not _same_size(left[0], left_behind[-1]):
            zoom_to(self._viewer, left)
        if left and layer_info(self._viewer.layers.selection.active or left[0]) is None:
            self._viewer.layers.selection.active = left[0]
        height, width = capture.shape[-2:]
        size = f"{width} x {round(height * capture.pixel_aspect)} px"
        self.status.setText(f"{entry.name} is open ({size}).")
        self.opened.emit(capture)

    def _make_buttons(self) -> None:
        self.folder_button = push_button(
            "Folder…", "open_folder", "Open all captures in a folder, or a run folder", self._folder
        )
        self.files_button = push_button(
            "Files…", "open_files", "Open the two files of a capture, or one of them", self._files
        )
        self.samples_button = push_button(
            "Samples…", "open_samples", "Choose a synthetic or published scene", self._samples
        )
        self.fit_button = push_button(
            "Fit all",
            "fit_all",
            "Fit the selected captures, or all, with the settings and the calibration of the Fit "
            "tab, one after the other",
            self.fit_all,
        )
        self.cancel_button = push_button(
            "Cancel", "cancel_all", "Cancel these fits; those that are done stay", self.fits.cancel
        )
        self.result_button = push_button(
            "Show result",
            "show_result",
            "Open the result of the selected capture",
            self.show_result,
        )
        self.output = QLineEdit()
        self.output.setObjectName("list_output")
        self.output.setPlaceholderText("Results: beside each capture")
        self.output.setToolTip("Folder for the run folders of these fits")

    def _lay_out(self) -> None:
        browse = browse_button("choose_list_output", "Choose the folder", self._choose_output)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN_PX, MARGIN_PX, MARGIN_PX, MARGIN_PX)
        layout.addWidget(in_row(self.folder_button, self.files_button, self.samples_button))
        layout.addWidget(self.list, stretch=1)
        layout.addWidget(self.status)
        layout.addWidget(in_row(self.output, browse))
        layout.addWidget(in_row(self.fit_button, self.cancel_button, self.result_button))

    def _to_fit(self) -> list[Entry]:
        chosen = self.list.selected
        return chosen if len(chosen) > 1 else self.listing.entries

    def _update(self) -> None:
        count = len(self._to_fit())
        is_part = 0 < count < len(self.listing.entries)
        self.fit_button.setText(f"Fit {'selected' if is_part else 'all'} ({count})")
        self.fit_button.setEnabled(count > 0)
        self.cancel_button.setEnabled(self.fits.is_busy)
        has_result = any(entry.run_folder is not None for entry in self.list.selected)
        self.result_button.setEnabled(has_result)
        if not self.listing.entries:
            opened = ", ".join(queries.captures(self._viewer))
            self.status.setText(UNLISTED.format(opened) if opened else EMPTY)

    def _folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, "Open captures", last_folder())
        if folder:
            self.add([Path(folder)])

    def _files(self) -> None:
        paths, _ = QFileDialog.getOpenFileNames(self, "Open a capture", last_folder(), FILTER)
        if paths:
            self.add([Path(path) for path in paths])

    def _samples(self) -> None:
        SamplePicker(self._viewer, self).open()

    def _choose_output(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, "Save runs in", self.output.text())
        if folder:
            self.output.setText(folder)


def _same_size(layer: Any, other: Any) -> bool:
    """Whether two layers cover the same part of the canvas."""
    edges, others = (np.asarray(each.extent.world)[:, -2:] for each in (layer, other))
    return bool(np.allclose(edges, others, atol=1.0))
