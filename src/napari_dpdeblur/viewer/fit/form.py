"""A form that is made from the fields of a settings model: one control for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from qtpy.QtCore import QEvent, QObject, Qt, Signal
from qtpy.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QLabel,
    QSpinBox,
    QWidget,
)

LARGEST_INT, LARGEST_FLOAT = 2**31 - 1, 1e9
AUTOMATIC = "automatic"


class SettingsForm(QWidget):
    """Controls for the fields of a model; ``changed`` tells of every edit.

    A field whose type is a model of its own gives the controls of its fields. Where None is
    allowed, the lowest value of the control is shown as "automatic" and means None.
    """

    changed = Signal()

    def __init__(
        self, model: type[BaseModel], names: Iterable[str], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._controls: dict[tuple[str, ...], QWidget] = {}
        layout = QFormLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for name in names:
            self._add(layout, (name,), model.model_fields[name])

    def values(self) -> dict[str, Any]:
        """What the controls show, as plain values."""
        values: dict[str, Any] = {}
        for (first, *rest), control in self._controls.items():
            place = values
            if rest:
                place, first = values.setdefault(first, {}), rest[0]
            place[first] = read_control(control)
        return values

    def show_values(self, values: dict[str, Any]) -> None:
        """Bring the controls to these plain values; others stay."""
        for (first, *rest), control in self._controls.items():
            value = values.get(first, ...)
            if rest and isinstance(value, dict):
                value = value.get(rest[0], ...)
            if value is not ...:
                write_control(control, value)

    def _add(self, layout: QFormLayout, path: tuple[str, ...], field: FieldInfo) -> None:
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            for name, inner in kind.model_fields.items():
                self._add(layout, (*path, name), inner)
            return
        control = make_control(field)
        control.setObjectName("setting_" + "_".join(path))
        control.setToolTip(field.description or "")
        leave_wheel_alone(control)
        on_edit(control, self.changed.emit)
        label = QLabel(": ".join(path).replace("_", " "))
        label.setToolTip(field.description or "")
        label.setBuddy(control)
        layout.addRow(label, control)
        self._controls[path] = control


def make_control(field: FieldInfo) -> QWidget:
    """The control that fits the type and the limits of a field."""
    kinds = [kind for kind in get_args(field.annotation) if kind is not NoneType]
    is_optional = NoneType in get_args(field.annotation)
    kind = kinds[0] if is_optional else field.annotation
    if kind is bool:
        return QCheckBox()
    if get_origin(kind) is Literal:
        control = QComboBox()
        for choice in get_args(kind):
            control.addItem(str(choice), choice)
        return control
    return _number(kind, field, is_optional)


def _number(kind: Any, field: FieldInfo, is_optional: bool) -> QWidget:
    lowest, highest = _limits(field, LARGEST_INT if kind is int else LARGEST_FLOAT)
    control = QSpinBox() if kind is int else QDoubleSpinBox()
    step = 1 if kind is int else (0.01 if highest <= 10 else 1.0)
    if kind is float:
        control.setDecimals(3 if highest <= 10 else 1)
    if is_optional:
        lowest -= step
        control.setSpecialValueText(AUTOMATIC)
        control.setProperty("is_optional", True)
    control.setRange(kind(lowest), kind(highest))
    control.setSingleStep(kind(step))
    control.setKeyboardTracking(False)
    return control


def _limits(field: FieldInfo, largest: float) -> tuple[float, float]:
    lowest, highest = 0.0, largest
    for limit in field.metadata:
        lowest = getattr(limit, "ge", getattr(limit, "gt", lowest))
        highest = getattr(limit, "le", getattr(limit, "lt", highest))
    return float(lowest), float(highest)


def read_control(control: QWidget) -> Any:
    """The plain value of a control."""
    if isinstance(control, QCheckBox):
        return control.isChecked()
    if isinstance(control, QComboBox):
        return control.currentData()
    is_none = control.property("is_optional") and control.value() == control.minimum()
    return None if is_none else control.value()


def write_control(control: QWidget, value: Any) -> None:
    """Show a plain value."""
    if isinstance(control, QCheckBox):
        control.setChecked(bool(value))
    elif isinstance(control, QComboBox):
        control.setCurrentIndex(max(control.findData(value), 0))
    else:
        control.setValue(control.minimum() if value is None else value)


def on_edit(control: QWidget, callback: Callable[[], None]) -> None:
    """Call back when a user or the program changes the control."""
    for name in ("toggled", "currentIndexChanged", "valueChanged"):
        if hasattr(control, name):
            getattr(control, name).connect(lambda *_: callback())
            return


class _WheelGuard(QObject):
    """Lets the wheel scroll the panel instead of changing a value that happens to lie there."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Wheel and not watched.hasFocus():
            event.ignore()
            return True
        return False


def leave_wheel_alone(control: QWidget) -> None:
    """Change the control by the wheel only after it was clicked."""
    control.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    control.installEventFilter(_WheelGuard(control))
