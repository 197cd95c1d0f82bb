"""EvaluateWidget: scores of a result against ground truth."""

from __future__ import annotations

from typing import Any

from napari.layers import Image
from napari.utils.notifications import show_error
from qtpy.QtCore import Qt
from qtpy.QtWidgets import (
    QApplication,
    QFormLayout,
    QHeaderView,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.viewer.evaluate.scores import (
    ERROR_MAP,
    IMAGE,
    LABELS,
    MAP,
    MAP_SCORES,
    UNSIGNED_MAP,
    ComparedLayer,
    Comparison,
    compare,
    guess_mode,
)
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.metadata import (
    ALL_IN_FOCUS,
    DEFOCUS_MAP,
    TRUE_DEFOCUS,
    TRUE_IMAGE,
    kind_of,
    layer_info,
)
from napari_dpdeblur.viewer.layers.queries import layer_of, unwrapped_viewer
from napari_dpdeblur.viewer.shared.controls import (
    choice,
    in_row,
    lay_out_scrolling,
    push_button,
    text_label,
)
from napari_dpdeblur.viewer.shared.dock import DockedWidget
from napari_dpdeblur.viewer.shared.latest_task import IsSuperseded, LatestTask

MODES = {
    "Automatic": None,
    "All-in-focus images": IMAGE,
    "Defocus maps": MAP,
    "Defocus maps, true one unsigned": UNSIGNED_MAP,
}
TOO_FEW = (
    "Evaluation needs two image layers: a result and its ground truth. Fit a capture or open a run "
    "folder, then open the ground truth."
)
TRUTHS = {ALL_IN_FOCUS: TRUE_IMAGE, DEFOCUS_MAP: TRUE_DEFOCUS}
MISSING = "-"
ROW_PX = 28


class EvaluateWidget(DockedWidget):
    """Compares two layers: scores and an error map."""

    def __init__(self, napari_viewer: Any, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("evaluate_widget")
        self._viewer = unwrapped_viewer(napari_viewer)
        self._group: str | None = None
        self._worker = LatestTask(self)
        self._worker.done.connect(self._on_done)
        self._worker.failed.connect(self._on_failed)
        self._build()
        events = self._viewer.layers.events
        for event in (events.inserted, events.removed):
            event.connect(self._refresh)
        self._refresh()

    @property
    def is_busy(self) -> bool:
        """Whether a comparison is running."""
        return self._worker.is_busy

    def stop_all(self) -> None:
        """Stop the thread and disconnect from the viewer."""
        self._worker.stop()
        events = self._viewer.layers.events
        for event in (events.inserted, events.removed):
            event.disconnect(self._refresh)

    def _build(self) -> None:
        self.result = choice("evaluate_result", "Layer to evaluate: an image or a defocus map.")
        self.result.currentTextChanged.connect(self._on_result)
        self.truth = choice(
            "evaluate_truth",
            "Ground truth of the same scene. In a defocus map, 0 marks unknown pixels; with "
            "negative values, which are in front of the focus plane, NaN does.",
        )
        self.mode = choice(
            "evaluate_mode",
            "Images are aligned and compared by intensity; maps are compared after an affine fit, "
            "by their absolute values if the true one has no sign.",
        )
        self.mode.addItems(list(MODES))
        self.run = push_button(
            "&Evaluate", "evaluate_run", "Compare the two layers.", self.evaluate
        )
        self.copy = push_button(
            "&Copy table",
            "evaluate_copy",
            "Copy the scores as tab-separated text.",
            self.copy_table,
        )
        self.message = text_label("evaluate_message", "What was compared, or what is missing.")
        self._build_table()
        chosen = QWidget()
        form = QFormLayout(chosen)
        form.setContentsMargins(0, 0, 0, 0)
        form.addRow("Result", self.result)
        form.addRow("Ground truth", self.truth)
        form.addRow("Compare as", self.mode)
        lay_out_scrolling(self, [chosen, in_row(self.run, self.copy), self.table, self.message], [])

    def _build_table(self) -> None:
        self.table = QTableWidget(len(LABELS), 1, objectName="evaluate_table")
        self.table.setToolTip("Scores; images and maps are updated separately.")
        self.table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        self.table.setHorizontalHeaderLabels([MISSING])
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        for row, (label, tip) in enumerate(LABELS.values()):
            header, item = QTableWidgetItem(label), QTableWidgetItem(MISSING)
            header.setToolTip(tip)
            item.setToolTip(tip)
            item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            self.table.setVerticalHeaderItem(row, header)
            self.table.setItem(row, 0, item)
        # The style of the window changes row heights later, so they are set.
        for header in (self.table.verticalHeader(), self.table.horizontalHeader()):
            header.setMinimumSectionSize(ROW_PX)
        self.table.verticalHeader().setDefaultSectionSize(ROW_PX)
        self.table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.table.horizontalHeader().setFixedHeight(ROW_PX)
        self.table.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.table.setFixedHeight((len(LABELS) + 1) * ROW_PX + 2 * self.table.frameWidth() + 2)

    def evaluate(self) -> None:
        """Compare the chosen layers in a thread."""
        layers = self._layers()
        result, truth = layers.get(self.result.currentText()), layers.get(self.truth.currentText())
        if result is None or truth is None:
            self._on_failed(None, TOO_FEW)
            return
        if result is truth:
            self._on_failed(None, "The result and the ground truth are the same layer; choose two.")
            return
        try:
            sides = ComparedLayer.of(result), ComparedLayer.of(truth)
        except EvaluationError as error:
            self._on_failed(None, str(error))
            return
        mode = MODES[self.mode.currentText()] or guess_mode(sides[0].kind or sides[1].kind)

        def work(_: IsSuperseded) -> Comparison:
            return compare(*sides, mode)

        self.run.setEnabled(False)
        self.message.setText("Comparing...")
        self._worker.submit(work, sides)

    def copy_table(self) -> None:
        """Copy the scores to the clipboard."""
        lines = [
            f"{label}\t{self.table.item(row, 0).text()}"
            for row, (label, _) in enumerate(LABELS.values())
        ]
        heading = f"\t{self.table.horizontalHeaderItem(0).text()}"
        QApplication.clipboard().setText("\n".join([heading, *lines]))

    def _layers(self) -> dict[str, Any]:
        return {layer.name: layer for layer in self._viewer.layers if isinstance(layer, Image)}

    def _refresh(self, _: Any = None) -> None:
        names = list(self._layers())
        for box in (self.result, self.truth):
            current = box.currentText()
            box.blockSignals(True)
            box.clear()
            box.addItems(names)
            box.setCurrentIndex(names.index(current) if current in names else -1)
            box.blockSignals(False)
        if self.result.currentIndex() < 0:
            self._suggest()
        elif self.truth.currentIndex() < 0:
            self._on_result()
        is_possible = len(names) > 1 and not self._worker.is_busy
        self.run.setEnabled(is_possible)
        if len(names) < 2:
            self.message.setText(TOO_FEW)
        elif self.message.text() == TOO_FEW:
            self.message.clear()

    def _suggest(self) -> None:
        """Preselect a result of this plugin."""
        for layer in self._layers().values():
            if kind_of(layer) in (ALL_IN_FOCUS, DEFOCUS_MAP):
                self.result.setCurrentText(layer.name)
                self._on_result()
                return

    def _on_result(self, _: Any = None) -> None:
        """Suggest the ground truth of the chosen result if it is open."""
        layer = self._layers().get(self.result.currentText())
        info = None if layer is None else layer_info(layer)
        if info is None or info.kind not in TRUTHS:
            return
        truth = layer_of(self._viewer, info.group, TRUTHS[info.kind])
        if truth is not None:
            self.truth.setCurrentText(truth.name)

    def _on_done(self, sides: tuple[ComparedLayer, ComparedLayer], found: Comparison) -> None:
        self.run.setEnabled(True)
        result, truth = sides
        are_maps = any(name in found.values for name in MAP_SCORES)
        for row, name in enumerate(LABELS):
            is_stale = result.group != self._group or (name in MAP_SCORES) == are_maps
            if name in found.values:
                self.table.item(row, 0).setText(f"{found.values[name]:.4f}")
            elif is_stale:  # a number of another scene, or of another truth
                self.table.item(row, 0).setText(MISSING)
        self._group = result.group
        self.table.setHorizontalHeaderLabels([result.group])
        self.message.setText(f"{result.name} against {truth.name}: {found.remark}.")
        self._show_error_map(found)

    def _show_error_map(self, found: Comparison) -> None:
        """Show the newest error map alone: it is transparent where the ground truth is unknown."""
        for other in self._viewer.layers:
            if kind_of(other).startswith(ERROR_MAP):
                other.visible = False
        (layer,) = put_layers(self._viewer, [found.error_layer])
        layer.visible = True
        if hasattr(layer, "colorbar"):  # napari 0.7 and newer
            layer.colorbar.visible = True

    def _on_failed(self, _: Any, text: str) -> None:
        self.run.setEnabled(len(self._layers()) > 1)
        self.message.setText(text)
        show_error(text)
