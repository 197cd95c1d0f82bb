"""The menu entry that opens two files as a capture, whatever they are called."""

from __future__ import annotations

import napari
from napari.utils.notifications import show_error
from qtpy.QtWidgets import QFileDialog

from napari_dpdeblur.errors import DpDeblurError
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.reader import NOTHING, read_pair

FILTER = "Pictures (*.png *.jpg *.jpeg *.tif *.tiff *.pgm *.cr2 *.cr3);;All files (*)"


def open_two_files() -> None:
    """Choose the left and the right view, and add them as layers."""
    viewer = napari.current_viewer()
    if viewer is None:
        return
    title = "Choose the left and the right view of one capture"
    paths, _ = QFileDialog.getOpenFileNames(None, title, "", FILTER)
    if not paths:
        return
    try:
        layers = read_pair(sorted(paths))
    except DpDeblurError as error:
        show_error(str(error))
        return
    if layers != NOTHING:
        put_layers(viewer, layers)
