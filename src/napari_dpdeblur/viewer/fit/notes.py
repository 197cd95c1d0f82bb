"""What a fit has to say about its result, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QVBoxLayout, QWidget

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.results import Result
from napari_dpdeblur.viewer.calibrate.verdict import verdict_html
from napari_dpdeblur.viewer.fit.verdict import VerdictLabel
from napari_dpdeblur.viewer.shared.controls import push_button, text_label
from napari_dpdeblur.viewer.shared.lens_preview import LensPreview


class FitNotes(QWidget):
    """The notes of the last fit; hidden if there are none."""

    swap_clicked = Signal()
    undo_clicked = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.text = text_label("fit_notes", "Notes on the last result")
        self.swap = push_button(
            "Swap views and fit again",
            "swap_views",
            "Exchange the left and the right view, and repeat the fit",
            self.swap_clicked.emit,
        )
        self.undo = push_button(
            "Undo",
            "undo_removal",
            "Bring back the layers of quick looks and cancelled fits that the result replaced",
            self.undo_clicked.emit,
        )
        self.verdict = VerdictLabel("fit_verdict", self)
        self.lens = LensPreview(self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        for part in (self.lens, self.verdict, self.text, self.swap, self.undo):
            layout.addWidget(part)
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
        self.verdict.show_doubts(sentences)
        self.swap.setVisible(False)
        self.setVisible(True)

    def show_notes(self, result: Result) -> None:
        """Show the notes of a result and the verdict; the button only if its views look swapped."""
        self.lens.clear()  # the notes contain the verdict on it
        self.verdict.show_verdict(result.fit_verdict)
        self.text.setText("\n".join(result.notes))
        self.text.setVisible(bool(result.notes))
        self.swap.setVisible(result.views_look_swapped)
        has_verdict = not self.verdict.isHidden()
        self.setVisible(bool(result.notes) or has_verdict or result.views_look_swapped)

    def show_removed(self, count: int) -> None:
        """Offer to bring back layers that a result has replaced; none: no such button."""
        self.undo.setText(f"Bring back {count} replaced layer{'s' * (count > 1)}")
        self.undo.setVisible(count > 0)
        if count:
            self.setVisible(True)

    def clear(self) -> None:
        """Hide the notes, because another fit begins or the result is gone."""
        self.text.clear()
        self.verdict.clear_verdict()
        for button in (self.swap, self.undo):
            button.setVisible(False)
        self.lens.clear()
        self.setVisible(False)
