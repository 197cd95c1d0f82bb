"""The canvas while layers are removed."""

from __future__ import annotations

from qtpy.QtGui import QOpenGLContext

from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.convert import capture_layers


def test_the_canvas_deletes_in_its_own_context(viewer, scene_capture):
    """Mesa 22 crashes when napari does so in that of the window."""
    left, _ = put_layers(viewer, capture_layers(scene_capture))
    viewer.window._qt_window.grab()
    canvas = viewer.window._qt_viewer.canvas.native
    canvas.doneCurrent()
    assert QOpenGLContext.currentContext() is None
    seen = []
    viewer.layers.events.removed.connect(lambda _: seen.append(QOpenGLContext.currentContext()))
    left.visible = False
    viewer.layers.remove(left)
    assert seen == [canvas.context()]
    viewer.window._qt_window.grab()
