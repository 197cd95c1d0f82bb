"""What every control of a panel must have."""

from __future__ import annotations

from qtpy.QtCore import Qt
from qtpy.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QWidget,
)
from superqt import QCollapsible

KINDS = (QAbstractButton, QAbstractSlider, QAbstractSpinBox, QComboBox)


def own_controls(panel: QWidget) -> list[QWidget]:
    """All controls of a panel but those that Qt and superqt make for themselves."""
    found = [control for kind in KINDS for control in panel.findChildren(kind)]
    return [control for control in found if not _is_inner(control)]


def _is_inner(control: QWidget) -> bool:
    name = control.objectName()
    is_scroll_bar = "Scroll" in type(control).__name__ + name
    is_made_inside = isinstance(control.parent(), QCollapsible | QLineEdit)
    return is_scroll_bar or name.startswith("qt_") or is_made_inside


def assert_usable(panel: QWidget, at_least: int) -> None:
    """A name, a tooltip and the keyboard for each control."""
    own = own_controls(panel)
    assert len(own) >= at_least
    assert [control for control in own if not control.objectName()] == []
    assert [control.objectName() for control in own if not control.toolTip()] == []
    focus = Qt.FocusPolicy.NoFocus
    assert [control.objectName() for control in own if control.focusPolicy() == focus] == []
