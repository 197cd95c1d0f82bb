from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from napari_dpdeblur.errors import SettingsError
from napari_dpdeblur.fitting.presets import PRESETS
from napari_dpdeblur.fitting.settings import (
    MAX_SETTINGS_BYTES,
    FitSettings,
    Weights,
    unused_settings,
)


@pytest.mark.parametrize("preset", PRESETS)
def test_yaml_round_trip(preset: str) -> None:
    settings = FitSettings.of(
        {"preset": preset, "front_scale": 0.2, "weights": {"entropy": 0}, "guided_filter": True}
    )
    assert FitSettings.from_yaml(settings.to_yaml()) == settings


def test_what_is_missing_takes_its_default() -> None:
    assert FitSettings.from_yaml("") == FitSettings()
    assert FitSettings.from_yaml("weights: {data: 1}").weights == Weights(data=1)
    assert (FitSettings().preset, FitSettings().layers) == ("standard", None)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"layers": 0}, r"setting layers = 0 cannot be used: .*greater than or equal to 2"),
        ({"layers": 1}, r"setting layers = 1 cannot be used"),
        ({"layers": "many"}, r"setting layers = 'many' cannot be used: .*integer"),
        ({"front_scale": float("nan")}, r"front_scale = nan cannot be used: .*finite"),
        ({"back_scale": float("inf")}, r"back_scale = inf cannot be used"),
        ({"back_scale": -5}, r"back_scale = -5 cannot be used: .*greater than or equal to -4"),
        ({"weights": {"alpha": float("nan")}}, r"weights\.alpha = nan cannot be used"),
        (
            {"weights": {"beta": 1}},
            r"no setting named weights\.beta; known settings are data, auxiliary",
        ),
        (
            {"parameters": {"search": {"scale": 1}}},
            r"no setting named parameters\.search\.scale; known settings are largest_scale, small",
        ),
        (
            {"parameters": {"search": {"smallest_scale": 2}}},
            r"parameters\.search = .*smallest_scale must be smaller than largest_scale",
        ),
        ({"parameters": {"wiener": {"scale_step": 0}}}, r"wiener\.scale_step = 0 cannot be used"),
        ({"preset": "best"}, r"preset = 'best' cannot be used: .*'standard', 'preview' or 'paper'"),
        ({"device": "tpu"}, r"device = 'tpu' cannot be used"),
        ({"colour": 1}, r"no setting named colour; known settings are preset, layers, sides, fron"),
        ({"steps": 0}, r"steps = 0 cannot be used"),
        (
            {"front_scale": 1.2, "back_scale": 0.3},
            r"settings cannot be used: the front scale \(1\.2\) must be smaller .*\(0\.3\)",
        ),
        ({"front_scale": 0.5, "back_scale": 0.5}, r"must be smaller than the back scale"),
    ],
)
def test_values_that_make_no_sense(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence) as caught:
        FitSettings.of(values)
    assert "\n" not in str(caught.value)


def test_a_changed_copy_is_checked() -> None:
    settings = FitSettings(layers=8)
    other = settings.changed(weights={"data": 0}).changed(weights={"alpha": 1})
    assert (other.weights.data, other.weights.alpha) == (0, 1)
    assert settings.changed(layers=None, preset="paper") == FitSettings(layers=8, preset="paper")
    with pytest.raises(SettingsError, match="layers = 100"):
        settings.changed(layers=100)
    with pytest.raises(ValidationError):
        settings.layers = 5  # type: ignore[misc]


@pytest.mark.parametrize("text", ["a: [", "\tlayers: 3", "!!python/object:os.system {}"])
def test_text_that_is_not_yaml(text: str) -> None:
    with pytest.raises(SettingsError, match="not plain YAML; write `name: value` lines"):
        FitSettings.from_yaml(text)


@pytest.mark.parametrize("text", ["- layers", "12", "just words"])
def test_yaml_that_is_not_a_list_of_names(text: str) -> None:
    with pytest.raises(SettingsError, match="not a mapping"):
        FitSettings.from_yaml(text)


def test_read_a_file(tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text("layers: 7\n", encoding="utf-8")
    assert FitSettings.read(path).layers == 7
    with pytest.raises(SettingsError, match=r"missing\.yaml cannot be read: No such file"):
        FitSettings.read(tmp_path / "missing.yaml")
    path.write_bytes(b"\xff\xfe\x00 picture")
    with pytest.raises(SettingsError, match="cannot be read: it is not text"):
        FitSettings.read(path)
    path.write_bytes(b"#" * (MAX_SETTINGS_BYTES + 1))
    with pytest.raises(SettingsError, match="cannot be read: it is larger than 1 MB"):
        FitSettings.read(path)


def test_every_setting_is_described() -> None:
    for model in (FitSettings, Weights):
        for name, entry in model.model_fields.items():
            assert entry.description, name
            assert entry.description.endswith("."), name


def test_settings_are_read_without_loading_torch() -> None:
    code = (
        "import sys; from napari_dpdeblur.fitting import FitSettings; FitSettings(); "
        "raise SystemExit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_parameters_are_changed_in_part() -> None:
    settings = FitSettings().changed(parameters={"search": {"scales": 20}})
    other = settings.changed(parameters={"wiener": {"scale_step": 0.2}}, layers=5)
    assert (other.parameters.search.scales, other.parameters.wiener.scale_step) == (20, 0.2)
    assert other.parameters.search.largest_scale == FitSettings().parameters.search.largest_scale
    assert FitSettings.from_yaml(other.to_yaml()) == other
    assert FitSettings.from_yaml("parameters: {search: {scales: 20}}") == settings


def test_a_settings_file_holds_only_parameters_that_were_changed() -> None:
    assert "parameters" not in FitSettings().to_yaml()
    text = FitSettings().changed(parameters={"search": {"scales": 20}}).to_yaml()
    assert text.endswith("parameters:\n  search:\n    scales: 20\n")


def test_parameters_are_for_experts() -> None:
    assert set(FitSettings.model_fields) - set(FitSettings.shown_fields()) == {"parameters"}


@pytest.mark.parametrize(
    ("changes", "unused"),
    [
        ({}, []),
        ({"steps": 100}, ["steps"]),
        ({"preset": "paper", "steps": 100}, []),
        (
            {"preset": "paper", "blend_px": 8, "centre_kernels": False},
            ["centre_kernels", "blend_px"],
        ),
        ({"weights": {"entropy": 1, "alpha": 1}}, ["weights.entropy"]),
        ({"preset": "preview", "blend_px": 3}, ["blend_px"]),
        ({"preset": "preview", "parameters": {"paper": {"first_rate": 0.1}}}, []),
    ],
)
def test_settings_that_the_preset_does_not_use(changes: dict[str, Any], unused: list[str]) -> None:
    assert unused_settings(FitSettings().changed(**changes)) == unused


def test_every_setting_is_used_by_a_preset_and_every_used_one_exists() -> None:
    weights = {f"weights.{name}" for name in Weights.model_fields}
    known = {*FitSettings.model_fields, *weights}
    for preset in PRESETS.values():
        assert preset.uses - known <= {"weights.*"}
    assert {name for name in known if any(name in p.uses for p in PRESETS.values())} == known
    assert weights == {name for name in weights if name in PRESETS["paper"].uses}


def test_the_removed_seed_is_accepted_with_a_warning() -> None:
    with pytest.warns(FutureWarning, match="the setting seed was removed and is ignored"):
        assert FitSettings.from_yaml("seed: 1\nlayers: 5") == FitSettings(layers=5)
    with pytest.warns(FutureWarning, match="seed was removed"):
        assert FitSettings().changed(seed=3) == FitSettings()
    assert FitSettings.of({"seed": 0}) == FitSettings(), "the default, which old files hold"


@pytest.mark.parametrize("text", ["layers: automatic", "layers:", "layers: null", ""])
def test_the_number_of_layers_may_be_automatic(text: str) -> None:
    settings = FitSettings.from_yaml(text)
    assert (settings.layers, settings.planes) == (None, 12)
    assert "layers: automatic" in settings.to_yaml()
    assert FitSettings.from_yaml(settings.to_yaml()) == settings


def test_a_given_number_of_layers_can_be_made_automatic_again() -> None:
    settings = FitSettings(layers=5)
    assert (settings.planes, settings.changed(layers="automatic").layers) == (5, None)
