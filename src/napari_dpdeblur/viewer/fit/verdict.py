"""The verdict on a fit in plain words, with a colour that is visible at a glance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from qtpy.QtWidgets import QLabel, QWidget

from napari_dpdeblur.viewer.calibrate.verdict import COLORS

GOOD, ACCEPTABLE, DOUBTFUL = "good", "acceptable", "doubtful"
FIT_COLORS = {GOOD: COLORS["good"], ACCEPTABLE: COLORS["acceptable"], DOUBTFUL: COLORS["bad"]}
HEADLINES = {
    GOOD: "Good fit: the layers explain both views.",
    ACCEPTABLE: "Acceptable fit.",
    DOUBTFUL: "Do not trust this fit.",
}
EXPECTED = "This fit will be doubtful."
STYLE = "QLabel#{name} {{border-left: 4px solid {color}; padding-left: 6px;}}"


class VerdictLabel(QLabel):
    """A headline with the colour of the verdict, and the causes with their remedies below it."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setWordWrap(True)
        self.setToolTip("How well the layers of the fit explain both views")
        self.clear_verdict()

    def show_verdict(self, found: Mapping[str, Any]) -> None:
        """Show the `fit_verdict` of a result; hidden if it has none."""
        grade = str(found.get("verdict", ""))
        if grade not in HEADLINES:
            self.clear_verdict()
            return
        self._show(grade, HEADLINES[grade], [str(cause) for cause in found.get("causes") or []])

    def show_doubts(self, sentences: Sequence[str]) -> None:
        """Show why the fit that runs should not be trusted."""
        self._show(DOUBTFUL, EXPECTED, sentences)

    def clear_verdict(self) -> None:
        """Hide the label."""
        self.clear()
        self.hide()

    def _show(self, grade: str, headline: str, causes: Sequence[str]) -> None:
        color = FIT_COLORS[grade]
        self.setStyleSheet(STYLE.format(name=self.objectName(), color=color))
        # The words keep the colour of the theme: not every colour is readable on every ground.
        head = f'<span style="color:{color}">&#9679;</span> <b>{headline}</b>'
        lines = [head, *map(escape, causes)]
        self.setText("<br>".join(lines))
        self.setToolTip(self.text())  # in full, where the panel is too low for it
        self.show()
