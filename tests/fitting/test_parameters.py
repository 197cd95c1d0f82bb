"""Every parameter is described, has a unit, and is read by a fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from photo_scene import as_capture, as_photo
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from napari_dpdeblur.datasets.synthetic.scene import synthetic_scene
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.fitting import FitSettings, fit
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.fitting.parameters.surfaces import for_range
from napari_dpdeblur.fitting.surfaces.find import find_surfaces
from napari_dpdeblur.settings_model import SettingsModel


def numbers() -> Iterator[tuple[type[BaseModel], str, FieldInfo]]:
    """Group, name and field of all parameters."""
    for group in Parameters.model_fields.values():
        assert isinstance(group.annotation, type)
        assert issubclass(group.annotation, SettingsModel)
        for name, field in group.annotation.model_fields.items():
            yield group.annotation, name, field


@pytest.mark.parametrize(("group", "name", "field"), list(numbers()))
def test_a_parameter_is_one_number_with_a_unit_and_a_reason(
    group: type[BaseModel], name: str, field: FieldInfo
) -> None:
    assert field.annotation in (int, float), "so that a file may change one at a time"
    assert isinstance(field.json_schema_extra, dict)
    assert field.json_schema_extra["unit"]
    assert (field.description or "").endswith(".")
    assert field.metadata, "it has a limit"


def _slope_beside_a_thing() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Map, confidence and image of a slope with an uncertain strip beside something near."""
    columns = np.tile(np.arange(160, dtype=np.float32), (120, 1))
    defocus_map = 1.4 - 0.3 * columns / 160
    defocus_map[:, 100:] = 0.2
    defocus_map[40:60, 88:100] = 0.7
    confidence = np.full_like(defocus_map, 0.5)
    confidence[40:60, 88:100] = 0.2
    return defocus_map, confidence, np.full_like(defocus_map, 0.5)


def _wave_near_the_focus() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Map, confidence and image of a rounded thing, whose levels pass into each other."""
    columns = np.tile(np.arange(160, dtype=np.float32), (120, 1))
    flat = np.full_like(columns, 0.5)
    return -0.01 + 0.04 * np.clip((columns - 80) / 30, -1, 1), flat, flat


def test_every_parameter_is_read_by_a_fit(
    simulated: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number that no stage is given would be a setting without an effect."""
    expected = {(group, name) for group, name, _ in numbers()}
    read: set[tuple[type[BaseModel], str]] = set()

    def reading(self: BaseModel, name: str) -> Any:
        if (type(self), name) in expected:
            read.add((type(self), name))
        return object.__getattribute__(self, name)

    settings = FitSettings(layers=4, steps=1, guided_filter=True)
    scene = simulated(64, 96)
    monkeypatch.setattr(SettingsModel, "__getattribute__", reading, raising=False)
    for preset, sides in (("standard", "both"), ("preview", "both"), ("paper", "behind")):
        fit(scene.capture, scene.calibration, settings, preset=preset, sides=sides, progress=False)
    find_surfaces(*_slope_beside_a_thing(), settings.parameters.surfaces)
    find_surfaces(*_wave_near_the_focus(), for_range(settings.parameters.surfaces, 0.08))
    colors = synthetic_scene(160, 224, channels=3).all_in_focus
    lens = synthetic_calibration(160, 224, 2, 2)
    fit(as_capture(colors[1]), lens, preset="preview", photo=as_photo(colors), progress=False)
    assert {f"{g.__name__}.{n}" for g, n in expected - read} == set()


def test_a_changed_parameter_changes_the_result_and_is_recorded(
    simulated: Callable[..., Any],
) -> None:
    scene = simulated(64, 96)
    changes = {"wiener": {"noise_to_signal": 0.05}}
    options: dict[str, Any] = {"preset": "preview", "layers": 4, "progress": False}
    plain = fit(scene.capture, scene.calibration, **options)
    other = fit(scene.capture, scene.calibration, **options, parameters=changes)
    assert not np.array_equal(plain.all_in_focus, other.all_in_focus)
    recorded = [r.provenance["settings"]["parameters"]["wiener"] for r in (plain, other)]
    assert [values["noise_to_signal"] for values in recorded] == [0.01, 0.05]
    assert plain.provenance["signature"] != other.provenance["signature"]
