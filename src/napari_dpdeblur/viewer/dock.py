"""DeblurDock: all steps from a capture to its result, as tabs of one dock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from napari.qt.threading import create_worker
from napari.utils.notifications import show_error
from qtpy.QtCore import QSize, QUrl
from qtpy.QtGui import QDesktopServices
from qtpy.QtWidgets import QFileDialog, QTabWidget, QToolButton, QVBoxLayout, QWidget
from superqt.utils import QSignalDebouncer

from napari_dpdeblur.errors import DpDeblurError
from napari_dpdeblur.results.movie import refuse_existing
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.metadata import ALL_IN_FOCUS, MPI, kind_of, layer_info
from napari_dpdeblur.viewer.open.batch import FitPlan
from napari_dpdeblur.viewer.open.on_screen import OnScreen
from napari_dpdeblur.viewer.open.reader_choice import PLUGIN, narrow_remembered_choice
from napari_dpdeblur.viewer.shared.controls import MARGIN_PX, PROMINENT, in_row, push_button
from napari_dpdeblur.viewer.shared.dock import DockedWidget
from napari_dpdeblur.viewer.writer import write_run

NAME = "Dual-pixel deblur"
OPEN, CALIBRATE, FIT, INSPECT, EVALUATE = TABS = (
    "Open",
    "Calibrate",
    "Fit",
    "Inspect",
    "Evaluate",
)
DOCS = "https://github.com/napari-dpdeblur/napari-dpdeblur/blob/main/docs/"
HELP = {
    OPEN: "plugin.md#1-open-a-capture",
    CALIBRATE: "howto/calibrate.md",
    FIT: "plugin.md#3-fit",
    INSPECT: "inspect.md",
    EVALUATE: "inspect.md#evaluate",
}
NEXT = {
    OPEN: ("Choose or estimate calibration", CALIBRATE),
    CALIBRATE: ("Fit", FIT),
    FIT: ("Inspect", INSPECT),
    INSPECT: ("Evaluate", EVALUATE),
    EVALUATE: ("Open another capture", OPEN),
}
ARROW = " ▸"
RUN_SUFFIX = ".dprun"
WIDTH_PX = 360
SETTLE_MS = 100


class DeblurDock(DockedWidget):
    """One tab for each step, and below them the button to the next one.

    A tab is made when it is first shown. That of Inspect is made anew each time, because it takes
    over the canvas, which belongs to the other tabs while they are shown.
    """

    def __init__(self, napari_viewer: Any) -> None:
        super().__init__()
        self.setObjectName("deblur_dock")
        self._viewer = queries.unwrapped_viewer(napari_viewer)
        self._made: dict[str, DockedWidget] = {}
        self._capture: Any = None  # the one that was picked last
        self._calibration: Any = None  # likewise
        self._is_saving = False
        narrow_remembered_choice()
        self._make_tabs()
        self._make_footer()
        self._lay_out()
        self._follow_layers()
        self._change_tab()

    def tab(self, name: str) -> Any:
        """The widget of a tab, which is made if need be."""
        if name not in self._made:
            made: Any = _make(name, self._viewer, self)
            self._made[name] = made
            self._page(name).layout().addWidget(self._made[name])
            if name == OPEN:
                made.opened.connect(self._choose_capture)
            if name == CALIBRATE:
                made.used.connect(self._choose_calibration)
            if name == FIT and self._capture is not None:
                made.inputs.choose_capture(self._capture)
            if name == FIT and self._calibration is not None:
                made.inputs.choose_calibration(self._calibration)
        return self._made[name]

    def show_tab(self, name: str) -> Any:
        """Turn to a tab and return its widget."""
        self.tabs.setCurrentIndex(TABS.index(name))
        return self.tab(name)

    @property
    def current(self) -> str:
        """The name of the tab that is shown."""
        return TABS[self.tabs.currentIndex()]

    def plan(self) -> FitPlan:
        """Settings and calibration of the Fit tab, for all captures of the list."""
        fit = self.tab(FIT)
        return FitPlan(fit.settings(), fit.inputs.calibration)

    def save_result(self) -> None:
        """Ask for a name and save the result as a run folder, in a thread."""
        group = self._result_group()
        if group is None:
            show_error("No result to save: fit a capture first.")
            return
        name, _ = QFileDialog.getSaveFileName(
            self, "Save the result", f"{group}{RUN_SUFFIX}", f"Run folders (*{RUN_SUFFIX})"
        )
        if not name:
            return
        path = Path(name)
        path = path if path.suffix == RUN_SUFFIX else path.with_name(path.name + RUN_SUFFIX)
        layers = queries.group_layers(self._viewer, group)
        content = [layer.as_layer_data_tuple() for layer in layers]
        self._is_saving = True
        self._update()
        writer = create_worker(_saved, path, content)
        writer.returned.connect(self._report_saved)
        writer.start()

    def open_help(self) -> None:
        """Open the page of the documentation about the tab that is shown."""
        QDesktopServices.openUrl(QUrl(DOCS + HELP[self.current]))

    def stop_all(self) -> None:
        """Stop whatever the tabs do."""
        for event in self._layer_events():
            event.disconnect(self._layers_changed)
        for widget in self._made.values():
            widget.close_down()

    def sizeHint(self) -> QSize:
        """Qt: leave the width to the canvas."""
        return QSize(WIDTH_PX, super().sizeHint().height())

    def _make_tabs(self) -> None:
        self.tabs = QTabWidget(self)
        self.tabs.setObjectName("steps")
        self.tabs.setToolTip("The steps from a capture to its result")
        for name in TABS:
            page = QWidget()
            QVBoxLayout(page).setContentsMargins(0, 0, 0, 0)
            self.tabs.addTab(page, name)
        self.help_button = QToolButton()
        self.help_button.setObjectName("help")
        self.help_button.setText("?")
        self.help_button.setToolTip("Open the documentation of this tab")
        self.help_button.clicked.connect(lambda: self.open_help())
        self.tabs.setCornerWidget(self.help_button)
        self.tabs.currentChanged.connect(lambda _: self._change_tab())

    def _make_footer(self) -> None:
        self.save_button = push_button(
            "Save result…", "save_result", "Save the result as a run folder", self.save_result
        )
        self.next_button = push_button("", "next", "Go to the next step", self._go_on)
        self._footer = in_row(self.save_button, self.next_button)
        self._footer.layout().setContentsMargins(MARGIN_PX, 0, MARGIN_PX, MARGIN_PX)

    def _lay_out(self) -> None:
        content = QWidget()
        inner = QVBoxLayout(content)
        outer = QVBoxLayout(self)
        for layout in (inner, outer):
            layout.setContentsMargins(0, 0, 0, 0)
            layout.setSpacing(0)
        inner.addWidget(self.tabs, stretch=1)
        inner.addWidget(self._footer)
        outer.addWidget(OnScreen(content, self))

    def _follow_layers(self) -> None:
        self._debouncer = QSignalDebouncer(parent=self)
        self._debouncer.setTimeout(SETTLE_MS)
        self._debouncer.triggered.connect(self._update)
        for event in self._layer_events():
            event.connect(self._layers_changed)

    def _layer_events(self) -> list[Any]:
        events = self._viewer.layers.events
        return [events.inserted, events.removed]

    def _layers_changed(self, event: Any = None) -> None:
        self._debouncer.throttle()

    def _page(self, name: str) -> QWidget:
        page: QWidget = self.tabs.widget(TABS.index(name))
        return page

    def _change_tab(self) -> None:
        if self.current != INSPECT and INSPECT in self._made:
            leaving = self._made.pop(INSPECT)
            leaving.close_down()
            leaving.deleteLater()
        self.tab(self.current)
        self._update()

    def _next(self) -> tuple[str, str]:
        """What the button to the next step says, and where it leads."""
        if self.current == OPEN and self._result_group() is not None:
            return NEXT[FIT]  # a result was opened
        return NEXT[self.current]

    def _update(self) -> None:
        text, _ = self._next()
        self.next_button.setText(text + ARROW)
        is_ready = {
            OPEN: bool(queries.captures(self._viewer)),
            CALIBRATE: bool(queries.calibrations(self._viewer)),
            FIT: self._result_group() is not None,
        }.get(self.current, False)
        self.next_button.setStyleSheet(PROMINENT if is_ready else "")
        self.save_button.setVisible(self.current in (FIT, INSPECT))
        self.save_button.setEnabled(self._result_group() is not None and not self._is_saving)

    def _go_on(self) -> None:
        self.show_tab(self._next()[1])

    def _choose_capture(self, capture: Any) -> None:
        self._capture = capture
        if FIT in self._made:  # making it takes a moment, for which nobody should wait now
            self.tab(FIT).inputs.choose_capture(capture)

    def _choose_calibration(self, calibration: Any) -> None:
        self._calibration = calibration
        if FIT in self._made:
            self.tab(FIT).inputs.choose_calibration(calibration)

    def _result_group(self) -> str | None:
        """The result of the active layer, or else the newest one."""
        kinds: dict[str, set[str]] = {}
        for layer, info in queries.described_layers(self._viewer):
            kinds.setdefault(info.group, set()).add(kind_of(layer))
        complete = [group for group, found in kinds.items() if {ALL_IN_FOCUS, MPI} <= found]
        active = self._viewer.layers.selection.active
        known = None if active is None else layer_info(active)
        if known is not None and known.group in complete:
            return known.group
        return complete[-1] if complete else None

    def _report_saved(self, outcome: str | None) -> None:
        self._is_saving = False
        if outcome is not None:  # the writer itself says what was saved
            show_error(outcome)
        self._update()


def show_dock(viewer: Any, tab: str | None = None) -> DeblurDock:
    """Open the dock in a window, or find it; turn to a tab."""
    _, widget = viewer.window.add_plugin_dock_widget(PLUGIN, NAME)
    dock: DeblurDock = widget
    if tab is not None:
        dock.show_tab(tab)
    return dock


def _make(name: str, viewer: Any, dock: DeblurDock) -> DockedWidget:
    # Deferred: each brings libraries of its own, for which the others need not wait.
    if name == OPEN:
        from napari_dpdeblur.viewer.open.widget import OpenWidget

        return OpenWidget(viewer, dock.plan)
    if name == CALIBRATE:
        from napari_dpdeblur.viewer.calibrate.widget import CalibrateWidget

        return CalibrateWidget(viewer)
    if name == FIT:
        from napari_dpdeblur.viewer.fit.widget import FitWidget

        return FitWidget(viewer)
    if name == INSPECT:
        from napari_dpdeblur.viewer.inspect.widget import InspectWidget

        return InspectWidget(viewer)
    from napari_dpdeblur.viewer.evaluate.widget import EvaluateWidget

    return EvaluateWidget(viewer)


def _saved(path: Path, layers: list[Any]) -> str | None:
    """Save layers as a run folder, in a thread; returns the error message, if any."""
    try:
        refuse_existing(path, overwrite=False)
        write_run(str(path), layers)
    except (DpDeblurError, OSError) as error:
        return str(error)
    return None
