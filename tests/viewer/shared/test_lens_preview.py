"""The small picture of a lens."""

from __future__ import annotations

import numpy as np
from qtpy.QtWidgets import QWidget

from napari_dpdeblur.viewer.shared.lens_preview import HEIGHT_PX, WIDTH_PX, LensPreview


def test_it_shows_kernels_at_their_places_and_hides(qtbot, calibration):
    parent = QWidget()
    qtbot.addWidget(parent)
    preview = LensPreview(parent)
    assert preview.isHidden()
    views = np.zeros((2, 60, 80), np.float32)
    views[0, :30, :40] = 1.0  # only the left view, at the top left
    preview.show_kernels(views, "so far")
    assert not preview.isHidden()
    assert preview.text.text() == "so far"
    shown = preview.picture.pixmap()
    assert shown.width() <= WIDTH_PX
    assert shown.height() <= HEIGHT_PX
    color = shown.toImage().pixelColor(shown.width() // 4, shown.height() // 4)
    assert (color.red(), color.green(), color.blue()) == (255, 0, 0)
    preview.show_lens(calibration, "done")
    assert preview.text.text() == "done"
    preview.clear()
    assert preview.isHidden()
