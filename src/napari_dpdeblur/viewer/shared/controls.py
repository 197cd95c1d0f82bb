"""Building blocks of the panels; every control has a name and a tooltip."""

from __future__ import annotations

from collections.abc import Callable

from qtpy.QtCore import QEvent, QObject, QSize, Qt
from qtpy.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from superqt import QCollapsible

MARGIN_PX = 6


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


def section(title: str, name: str, tip: str, content: QWidget) -> QCollapsible:
    """A collapsible section, collapsed at first."""
    folded = QCollapsible(title)
    folded.setObjectName(name)
    folded.setToolTip(tip)
    folded.layout().setContentsMargins(0, 0, 0, 0)
    folded.setContent(content)
    folded.collapse(animate=False)
    return folded


def lay_out_scrolling(widget: QWidget, parts: list[QWidget], pinned: list[QWidget]) -> None:
    """Stack ``parts`` in a scroll area, with ``pinned`` below it."""
    content = QWidget()
    _stack_vertically(content, parts).addStretch(1)
    scroll = _TallArea()
    scroll.setObjectName("scroll")
    scroll.setWidgetResizable(True)
    scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    scroll.setWidget(content)
    outer = QVBoxLayout(widget)
    outer.setContentsMargins(0, 0, 0, 0)
    outer.setSpacing(0)
    outer.addWidget(scroll, stretch=1)
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
