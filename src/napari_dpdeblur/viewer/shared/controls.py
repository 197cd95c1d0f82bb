"""Building blocks of the panels; every control has a name and a tooltip."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from qtpy.QtCore import QEvent, QObject, QSize, Qt
from qtpy.QtGui import QIcon, QPixmap
from qtpy.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from superqt import QCollapsible

MARGIN_PX = 6
PROBE_PX = 1000  # wide enough for a line with a single letter
COLLAPSED, EXPANDED = "▶", "▼"
# As napari's own accent; white on it is readable in the dark and in the light theme.
PROMINENT = (
    "QPushButton:enabled {background-color: #1f6fbf; color: white; font-weight: bold;}"
    "QPushButton:enabled:hover {background-color: #2a82da;}"
)


def push_button(
    text: str, name: str, tip: str, clicked: Callable[[], None] | None = None
) -> QPushButton:
    """A push button; the caller connects it if ``clicked`` is not given."""
    button = QPushButton(text)
    button.setObjectName(name)
    button.setToolTip(tip)
    if clicked is not None:
        button.clicked.connect(lambda: clicked())
    return button


def prominent(button: QPushButton) -> QPushButton:
    """Mark a button as the main one of its panel."""
    button.setStyleSheet(PROMINENT)
    return button


Choice = tuple[str, Callable[[], None]]  # an entry of a menu


def menu_on_click(
    button: QPushButton | QToolButton, choices: Callable[[], Iterable[Choice]]
) -> None:
    """Show a menu when a button is pressed; its entries are found out then."""
    menu = QMenu(button)
    menu.setObjectName(f"{button.objectName()}_menu")
    menu.setToolTipsVisible(True)

    def fill() -> None:
        menu.clear()
        for text, action in choices():
            menu.addAction(text).triggered.connect(lambda *_, action=action: action())

    menu.aboutToShow.connect(fill)
    button.setMenu(menu)
    if isinstance(button, QToolButton):
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        button.setStyleSheet("QToolButton::menu-indicator {image: none;}")


def browse_button(name: str, tip: str, clicked: Callable[[], None]) -> QToolButton:
    """A small button that opens a file dialog."""
    button = QToolButton()
    button.setText("…")
    button.setObjectName(name)
    button.setToolTip(tip)
    button.clicked.connect(lambda: clicked())
    return button


def choice(name: str, tip: str) -> QComboBox:
    """A combo box that may be narrower than its entries."""
    box = QComboBox()
    box.setObjectName(name)
    box.setToolTip(tip)
    let_shrink(box)
    return box


def let_shrink(box: QComboBox) -> None:
    """Let a combo box be narrower than its longest entry."""
    box.setMinimumContentsLength(12)
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)


def text_label(name: str, tip: str) -> QLabel:
    """A label that wraps its text."""
    label = QLabel("")
    label.setObjectName(name)
    label.setToolTip(tip)
    label.setWordWrap(True)
    return label


_NEW_LOOK = (QEvent.Type.Show, QEvent.Type.Polish, QEvent.Type.StyleChange, QEvent.Type.FontChange)


class SteadyLabel(QLabel):
    """A text that never changes its height, so that it moves nothing; the tooltip has all of it."""

    def __init__(self, name: str, tip: str, lines: int) -> None:
        super().__init__("")
        self._tip, self._lines = tip, lines
        self.setObjectName(name)
        self.setWordWrap(True)
        self.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.setFixedHeight(lines * self.fontMetrics().lineSpacing() + 2)
        self.setMinimumWidth(1)
        self.setText("")

    def setText(self, text: str) -> None:
        """Qt: also as a tooltip, because a long text is cut."""
        super().setText(text)
        self.setToolTip(text or self._tip)

    @property
    def lines(self) -> int:
        """How many lines of text there is room for."""
        return self._lines

    def event(self, event: QEvent) -> bool:
        """Qt: only later the font and the padding are known, which napari's theme sets."""
        handled = bool(super().event(event))
        if event.type() in _NEW_LOOK:
            self._fix_height()
        return handled

    def _fix_height(self) -> None:
        text = self.text()
        super().setText("\n".join("x" * self._lines))
        height = self.heightForWidth(PROBE_PX)
        super().setText(text)
        if height > 0 and height != self.height():
            self.setFixedHeight(height)


def section(title: str, name: str, tip: str, content: QWidget) -> QCollapsible:
    """A collapsible section, collapsed at first."""
    nothing = QPixmap(1, 1)
    nothing.fill(Qt.GlobalColor.transparent)
    folded = QCollapsible(title, expandedIcon=QIcon(nothing), collapsedIcon=QIcon(nothing))
    # In the text, which follows the theme: superqt draws its icons in black.
    folded.toggled.connect(lambda is_open: folded.setText(_with_arrow(title, is_open)))
    folded.setText(_with_arrow(title, False))
    folded.setObjectName(name)
    folded.setToolTip(tip)
    folded.layout().setContentsMargins(0, 0, 0, 0)
    folded.setContent(content)
    folded.collapse(animate=False)
    return folded


def _with_arrow(title: str, is_open: bool) -> str:
    return f"{EXPANDED if is_open else COLLAPSED}  {title}"


def lay_out_scrolling(widget: QWidget, parts: list[QWidget], pinned: list[QWidget]) -> None:
    """Stack ``parts`` in a scroll area, with ``pinned`` below it."""
    content = QWidget()
    _stack_vertically(content, parts).addStretch(1)
    scroll = _TallArea()
    scroll.setObjectName("scroll")
    scroll.setWidgetResizable(True)
    scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    scroll.setWidget(content)
    lay_out_steps(widget, scroll, pinned)


def lay_out_steps(widget: QWidget, main: QWidget, pinned: list[QWidget]) -> None:
    """A part that takes all the room there is, with ``pinned`` below it."""
    outer = QVBoxLayout(widget)
    outer.setContentsMargins(0, 0, 0, 0)
    outer.setSpacing(0)
    outer.addWidget(main, stretch=1)
    if pinned:
        footer = QWidget()
        _stack_vertically(footer, pinned)
        outer.addWidget(footer)


class _TallArea(QScrollArea):
    """A scroll area that is wide enough for its content and its scroll bar."""

    def minimumSizeHint(self) -> QSize:
        bar_px = self.verticalScrollBar().sizeHint().width()
        width = self.widget().minimumSizeHint().width() + bar_px + 2 * self.frameWidth()
        return QSize(width, super().minimumSizeHint().height())


def _stack_vertically(widget: QWidget, parts: list[QWidget]) -> QVBoxLayout:
    layout = QVBoxLayout(widget)
    layout.setContentsMargins(MARGIN_PX, MARGIN_PX, MARGIN_PX, MARGIN_PX)
    for part in parts:
        layout.addWidget(part)
    return layout


def in_row(*parts: QWidget) -> QWidget:
    """A widget with its parts side by side."""
    row = QWidget()
    layout = QHBoxLayout(row)
    layout.setContentsMargins(0, 0, 0, 0)
    for part in parts:
        layout.addWidget(part)
    return row


class _WheelFilter(QObject):
    """Passes the wheel on to the panel while its control has no focus."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Wheel and not watched.hasFocus():
            event.ignore()
            return True
        return False


def ignore_wheel(control: QWidget) -> None:
    """Let the wheel scroll the panel instead of changing a control that was not clicked."""
    control.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    control.installEventFilter(_WheelFilter(control))
