"""The reference says what the code says, and leaves nothing out."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest
from load_script import load_script

import napari_dpdeblur

DOCS = Path(__file__).resolve().parents[2] / "docs"
DIRECTIVE = re.compile(r"^\.\. auto\w+:: ([\w.]+)", re.MULTILINE)


GENERATOR = load_script("docs/generate_reference.py")


@pytest.mark.parametrize("name", GENERATOR.PAGES)
def test_a_generated_page_is_up_to_date(name):
    written = (DOCS / "reference" / name).read_text("utf-8")
    assert written == GENERATOR.PAGES[name](), "run: python docs/generate_reference.py"


SETTINGS = [
    pytest.param(field, id=f"{model.__name__}.{name}")
    for model, *_ in GENERATOR.SETTINGS
    for name, field in model.model_fields.items()
]


@pytest.mark.parametrize("field", SETTINGS)
def test_every_setting_has_a_meaning_a_unit_and_a_default(field):
    assert field.description
    assert GENERATOR.unit(field)
    assert not field.is_required()
    assert GENERATOR.default(field)


def test_every_settings_model_of_the_package_is_in_the_reference():
    from pydantic import BaseModel

    from napari_dpdeblur.fitting.parameters import Parameters
    from napari_dpdeblur.settings_model import SettingsModel

    models = {
        value
        for module in modules()
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, BaseModel)
    }
    settings = {model for model in models if issubclass(model, SettingsModel)} - {SettingsModel}
    groups = {model for _, model, _ in GENERATOR.parameter_groups()}
    assert settings == {model for model, *_ in GENERATOR.SETTINGS} | groups | {Parameters}
    others = {model.__name__ for model in models - settings - {SettingsModel}}
    assert not [name for name in others if re.search("Settings|Weights", name)]


COMMANDS = [
    pytest.param(action, id=f"{name} {action.dest}")
    for name, _, parser in GENERATOR.commands(GENERATOR.build_parser())
    for action in GENERATOR.options(parser)
]


@pytest.mark.parametrize("action", COMMANDS)
def test_every_argument_has_a_meaning(action):
    assert GENERATOR._meaning(action)[0]


def modules() -> list[ModuleType]:
    """The package and all its modules but the plugin, whose interface is the manifest."""
    prefix = f"{napari_dpdeblur.__name__}."
    names = [found.name for found in pkgutil.walk_packages(napari_dpdeblur.__path__, prefix)]
    outside = [name for name in names if not name.startswith(f"{prefix}viewer")]
    return [napari_dpdeblur, *map(importlib.import_module, outside)]


def resolved(path: str) -> object:
    """The object behind a dotted path."""
    home, _, name = path.rpartition(".")
    return getattr(importlib.import_module(home), name)


def documented_objects() -> list[object]:
    text = (DOCS / "reference" / "python.md").read_text("utf-8")
    return [resolved(path) for path in DIRECTIVE.findall(text)]


PUBLIC = [
    pytest.param(module, name, id=f"{module.__name__}.{name}")
    for module in modules()
    for name in getattr(module, "__all__", ())
    if not name.startswith("__")
]


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_every_public_name_is_documented(module, name):
    value = getattr(module, name)
    assert isinstance(value, dict) or (value.__doc__ or "").strip()
    assert any(value is known for known in documented_objects())


def test_nothing_is_documented_twice():
    paths = DIRECTIVE.findall((DOCS / "reference" / "python.md").read_text("utf-8"))
    known = [id(resolved(path)) for path in paths]
    assert len(set(known)) == len(known)


def test_every_error_is_documented():
    from napari_dpdeblur import errors

    named = {value for value in vars(errors).values() if isinstance(value, type)}
    assert named <= {value for value in documented_objects() if isinstance(value, type)}
