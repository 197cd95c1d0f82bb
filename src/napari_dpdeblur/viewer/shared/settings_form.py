"""Settings forms: magicgui controls made from the fields of a pydantic model."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from types import NoneType
from typing import Any, get_args

from magicgui.widgets import CheckBox, Container, create_widget
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QComboBox, QDoubleSpinBox, QFormLayout, QLabel, QWidget

from napari_dpdeblur.settings_model import NO_UNIT
from napari_dpdeblur.viewer.shared.controls import ignore_wheel, let_shrink

LARGEST_INT, LARGEST_FLOAT = 10**9, 1e9
FINE_UP_TO, FINE_STEP = 10.0, 0.01  # numbers that stay below get small steps
INDENT_PX = 12


class SettingsForm(QWidget):
    """One labelled control for each field of a model; ``changed`` tells of every edit.

    A field that is a model itself becomes a form of its own. A field that may be None gets a check
    box "automatic". Expert settings are left out.
    """

    changed = Signal()

    def __init__(
        self,
        model: type[BaseModel],
        names: Iterable[str] | None = None,
        labels: Mapping[str, str] | None = None,
        prefix: str = "setting",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._labels = labels or {}
        self._controls: dict[str, Any] = {}  # magicgui widgets, AutomaticNumber, SettingsForm
        self._rows: dict[str, list[QWidget]] = {}
        self._layout = QFormLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for name in model.model_fields if names is None else names:
            field = model.model_fields[name]
            if is_shown(field):
                self._add(name, field, f"{prefix}_{name}")

    @property
    def value(self) -> dict[str, Any]:
        """What the controls show, as plain values."""
        return {name: control.value for name, control in self._controls.items()}

    @value.setter
    def value(self, values: Mapping[str, Any]) -> None:
        """Show plain values; controls that are not named stay."""
        for name, control in self._controls.items():
            if name in values:
                control.value = _within_limits(control, values[name])

    def show_only(self, names: Collection[str], group: str = "") -> None:
        """Hide the rows of all other settings; they keep their values.

        Settings in a group are named like "weights.data".
        """
        for name, row in self._rows.items():
            for widget in row:
                widget.setVisible(group + name in names)
            if isinstance(form := self._controls.get(name), SettingsForm):
                form.show_only(names, f"{group}{name}.")

    def insert_row(self, position: int, label: str, control: QWidget) -> None:
        """Add a control that is not made from the model."""
        self._layout.insertRow(position, _label(label, control, control.toolTip()), control)

    def _add(self, name: str, field: FieldInfo, object_name: str) -> None:
        text = self._labels.get(name) or label_text(name)
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            control: Any = SettingsForm(kind, labels=self._labels, prefix=object_name)
            control.layout().setContentsMargins(INDENT_PX, 0, 0, 0)
            label = _label(text, control, field.description or "")
            self._layout.addRow(label)
            self._layout.addRow(control)
            self._rows[name] = [label, control]
        else:
            control = make_control(field, object_name)
            label = _label(text, control.native, tooltip(field))
            self._layout.addRow(label, control.native)
            self._rows[name] = [label, control.native]
        control.changed.connect(self._tell)
        self._controls[name] = control

    def _tell(self, *_: Any) -> None:
        self.changed.emit()


class AutomaticNumber:
    """A number, or None while the check box "automatic" is checked."""

    def __init__(self, number: Any, object_name: str, tip: str) -> None:
        self._number = number
        self._automatic = CheckBox(value=True, text="automatic", tooltip=f"Automatic. {tip}")
        self._automatic.native.setObjectName(f"{object_name}_automatic")
        self._row = Container(widgets=[self._automatic, number], layout="horizontal", labels=False)
        self._row.margins = (0, 0, 0, 0)
        self._automatic.changed.connect(self._show_number)
        number.value = min(max(1, number.min), number.max)
        self.native, self.changed = self._row.native, self._row.changed
        self.min, self.max = number.min, number.max
        self._show_number()

    @property
    def value(self) -> Any:
        """The number, or None."""
        return None if self._automatic.value else self._number.value

    @value.setter
    def value(self, value: Any) -> None:
        self._automatic.value = value is None
        if value is not None:
            self._number.value = value

    def _show_number(self, *_: Any) -> None:
        self._number.native.setVisible(not self._automatic.value)


def is_shown(field: FieldInfo) -> bool:
    """Whether a form shows this setting; expert settings are for files and Python."""
    extra = field.json_schema_extra
    is_expert = isinstance(extra, dict) and bool(extra.get("expert"))
    return not is_expert


def make_control(field: FieldInfo, object_name: str) -> Any:
    """The magicgui widget for the type and the limits of a field."""
    kinds = [kind for kind in get_args(field.annotation) if kind is not NoneType]
    is_optional = NoneType in get_args(field.annotation)
    kind = kinds[0] if is_optional else field.annotation
    options: dict[str, Any] = {"tooltip": tooltip(field)}
    if kind is bool:
        options["text"] = ""
    elif kind in (int, float):
        options.update(number_options(kind, field))
    start = {} if is_optional else {"value": field.default}
    control: Any = create_widget(annotation=kind, options=options, **start)
    control.native.setObjectName(object_name)
    _adapt(control.native, options.get("step", 1))
    return AutomaticNumber(control, object_name, tooltip(field)) if is_optional else control


def _adapt(native: Any, step: float) -> None:
    """Set width, precision, and what wheel and keyboard do."""
    ignore_wheel(native)
    if isinstance(native, QComboBox):
        let_shrink(native)
    if isinstance(native, QDoubleSpinBox):
        native.setDecimals(max(2, 1 - math.floor(math.log10(step))))
    if hasattr(native, "setKeyboardTracking"):
        native.setKeyboardTracking(False)
        native.setMinimumWidth(0)


def number_options(kind: Any, field: FieldInfo) -> dict[str, Any]:
    """Range and step of a number."""
    limits = {
        name: getattr(limit, name)
        for limit in field.metadata
        for name in ("ge", "gt", "le", "lt")
        if hasattr(limit, name)
    }
    highest = limits.get("le", limits.get("lt", LARGEST_INT if kind is int else LARGEST_FLOAT))
    step = 1 if kind is int else _float_step(field, highest)
    lowest = limits.get("ge", limits["gt"] + step if "gt" in limits else 0)
    return {"min": kind(lowest), "max": kind(highest), "step": kind(step)}


def _float_step(field: FieldInfo, highest: float) -> float:
    """A step that suits the range, or a tenth of the default's order of magnitude."""
    if highest <= FINE_UP_TO:
        return FINE_STEP
    return float(10.0 ** (math.floor(math.log10(abs(field.default or FINE_STEP))) - 1))


def label_text(name: str) -> str:
    """A field's name as a label: ``kernel_px`` becomes "Kernel (px)"."""
    text = name.removesuffix("_px").replace("_", " ").capitalize()
    return f"{text} (px)" if name.endswith("_px") else text


def tooltip(field: FieldInfo) -> str:
    """The description of a field, and its unit where it has one."""
    extra = field.json_schema_extra
    unit = extra.get("unit") if isinstance(extra, dict) else None
    text = (field.description or "").strip()
    text = text[:1].upper() + text[1:]
    return text if unit in (None, NO_UNIT) else f"{text.rstrip('.')} (unit: {unit})."


def _label(text: str, control: QWidget, tip: str) -> QLabel:
    label = QLabel(text)
    label.setToolTip(tip)
    label.setBuddy(control)
    return label


def _within_limits(control: Any, value: Any) -> Any:
    """A number that the control can hold; the model refuses what is wrong."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and hasattr(control, "max"):
        return min(max(value, control.min), control.max)
    return value
