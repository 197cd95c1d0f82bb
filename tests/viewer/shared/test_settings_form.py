"""Forms made from settings models: every value survives, limits and units are shown."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import Field
from qtpy.QtWidgets import QCheckBox, QDoubleSpinBox, QWidget

from napari_dpdeblur.calibration.solve.settings import SolveSettings
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.settings_model import NO_UNIT, SettingsModel, setting
from napari_dpdeblur.viewer.shared.settings_form import SettingsForm, label_text


class Inner(SettingsModel):
    data: float = setting(2.5e4, NO_UNIT, "Weight of the data.", ge=0)


class Example(SettingsModel):
    mode: Literal["quick", "good"] = setting("good", NO_UNIT, "How to do it.")
    count: int = setting(3, "layers", "Number of layers.", ge=2, le=64)
    tiny: float = setting(1e-5, NO_UNIT, "A small weight.", ge=0)
    scale: float | None = setting(None, "px", "A scale; found when not given.", gt=0, le=4)
    is_on: bool = setting(True, NO_UNIT, "Whether to do it.")
    weights: Inner = setting(Inner(), NO_UNIT, "Weights.")
    secret: float = Field(1.0, json_schema_extra={"expert": True})


@pytest.fixture
def form(qtbot):
    made = SettingsForm(Example)
    qtbot.addWidget(made)
    return made


@pytest.mark.parametrize("model", [Example, FitSettings, SolveSettings])
def test_defaults_survive_the_controls(qtbot, model):
    form = SettingsForm(model)
    qtbot.addWidget(form)
    assert model.of(form.value) == model()


def test_values_survive_and_others_stay(form, qtbot):
    values = {
        "mode": "quick",
        "count": 7,
        "tiny": 3e-5,
        "scale": 0.25,
        "is_on": False,
        "weights": {"data": 12.5},
    }
    with qtbot.waitSignal(form.changed):
        form.value = values
    assert form.value == values
    form.value = {"scale": None}
    assert form.value == {**values, "scale": None}


def test_expert_settings_are_left_out(form):
    assert "secret" not in form.value


def test_only_named_settings_are_shown(form):
    count, data = (form.findChild(QWidget, f"setting_{name}") for name in ("count", "weights_data"))
    form.show_only({"count", "weights"})
    assert (count.isVisibleTo(form), data.isVisibleTo(form)) == (True, False)
    form.show_only({"weights", "weights.data"})
    assert (count.isVisibleTo(form), data.isVisibleTo(form)) == (False, True)


def test_limits_names_and_tooltips_come_from_the_model(form):
    count = form.findChild(QWidget, "setting_count")
    assert (count.minimum(), count.maximum()) == (2, 64)
    assert count.toolTip() == "Number of layers (unit: layers)."
    assert form.findChild(QWidget, "setting_weights_data").toolTip() == "Weight of the data."
    assert label_text("kernel_px") == "Kernel (px)"


def test_automatic_hides_the_number(form):
    number = form.findChild(QDoubleSpinBox, "setting_scale")
    automatic = form.findChild(QCheckBox, "setting_scale_automatic")
    assert not number.isVisibleTo(form)
    automatic.click()
    assert number.isVisibleTo(form)
    assert form.value["scale"] == number.value() > 0


def test_hidden_settings_keep_their_values(form):
    form.value = {"count": 9}
    form.show_only({"mode"})
    assert not form.findChild(QWidget, "setting_count").isVisibleTo(form)
    assert form.findChild(QWidget, "setting_mode").isVisibleTo(form)
    assert form.value["count"] == 9
