"""What a fit has to say about its result, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QVBoxLayout, QWidget

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.results import Result
from napari_dpdeblur.viewer.calibrate.verdict import verdict_html
from napari_dpdeblur.viewer.shared.controls import push_button, text_label
from napari_dpdeblur.viewer.shared.lens_preview import LensPreview


class FitNotes(QWidget):
    """The notes of the last fit; hidden if there are none."""

    swap_clicked = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.text = text_label("fit_notes", "Notes on the last result")
        self.swap = push_button(
            "Swap views and fit again",
            "swap_views",
            "Exchange the left and the right view, and repeat the fit",
            self.swap_clicked.emit,
        )
        self.lens = LensPreview(self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.lens)
        layout.addWidget(self.text)
        layout.addWidget(self.swap)
        self.clear()

    def show_kernels(self, views: np.ndarray) -> None:
        """Show the lens that is being estimated: both views of its kernels (2, H, W)."""
        self.lens.show_kernels(views, "Estimating the lens from this capture.")
        self.swap.setVisible(False)
        self.setVisible(True)

    def show_lens(self, calibration: Calibration) -> None:
        """Show the lens that was estimated, with its verdict, before the fit begins."""
        verdict = verdict_html(calibration.verdict, calibration.front, is_short=True)
        self.lens.show_lens(calibration, f"Lens estimated from this capture.<br>{verdict}")
        self.swap.setVisible(False)
        self.setVisible(True)

    def show_doubts(self, sentences: Sequence[str]) -> None:
        """Show why the fit that runs should not be trusted."""
        self.text.setText("\n".join(sentences))
        self.swap.setVisible(False)
        self.setVisible(True)

    def show_notes(self, result: Result) -> None:
        """Show the notes of a result and the verdict; the button only if its views look swapped."""
        self.lens.clear()  # the notes contain the verdict on it
        sentences = [*result.notes, *filter(None, [result.verdict_text])]
        self.text.setText("\n".join(sentences))
        self.swap.setVisible(result.views_look_swapped)
        self.setVisible(bool(sentences) or result.views_look_swapped)

    def clear(self) -> None:
        """Hide the notes, because another fit begins."""
        self.text.clear()
        self.lens.clear()
        self.setVisible(False)
