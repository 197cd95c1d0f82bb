"""Write the pages of the reference that follow from the code: command line, settings, parameters.

    python docs/generate_reference.py

The pages are plain Markdown in the repository; the tests compare them with the code.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from napari_dpdeblur.calibration.estimate.settings import (
    DisparityParameters,
    EstimateSettings,
    EvidenceParameters,
    LensParameters,
    RefineParameters,
    SpreadParameters,
    TileParameters,
    VerdictParameters,
)
from napari_dpdeblur.calibration.solve.settings import SolveSettings
from napari_dpdeblur.cli.main import PROGRAM, build_parser
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.fitting.presets import PRESETS
from napari_dpdeblur.fitting.settings import FitSettings, Weights

REFERENCE = Path(__file__).resolve().parent / "reference"
NOTE = "<!-- Written by docs/generate_reference.py; do not edit. -->\n\n"
DEFAULT_IN_HELP = re.compile(r" ?\(default: ([^()]*(?:\([^()]*\))?)\)")

COMMAND_LINE_INTRODUCTION = """\
# Command line

`CAPTURE` is either file of a pair, both files, or their folder. `WxH` is a size as width and
height, such as `1920x1080`. `--json` prints the result as JSON, for scripts. The exit status is 0
on success, 2 with a one-sentence error for bad input, and 130 after Ctrl-C. `-h` prints the help
of a command.

"""
SETTINGS_INTRODUCTION = """\
# Settings

`--settings FILE` of `fit` and `batch` reads settings from a YAML file with lines `name: value`.
Settings that are not listed keep their defaults; unknown names are refused. In Python, settings are
arguments of `FitSettings`; in napari, fields of the Fit panel. A run folder records its settings in
`run.yaml`.

"""
PARAMETERS_INTRODUCTION = """\
# Parameters

The tuned numbers of the fit, for experts; they rarely need to be changed. They are in groups, one
for each stage, and are set in a settings file,

```yaml
parameters:
  wiener:
    noise_to_signal: 0.02
```

or in Python, where what is not named keeps its value:
`fit(capture, calibration, parameters={"wiener": {"noise_to_signal": 0.02}})`. `run.yaml` records
all of them, and a checkpoint made with other values is not resumed.

Lengths in px are in pixels of the calibration, other pixels are named. Intensities have a mean of
0.5.

"""
SETTINGS = (
    (
        FitSettings,
        "The fit",
        "`napari_dpdeblur.fitting.FitSettings`. A setting that the chosen preset does not use is "
        "ignored with a note. The setting `seed` of version 0.1 is ignored, too: no preset is "
        "random.",
    ),
    (
        Weights,
        "Weights of the objective",
        "The setting `weights` of the fit. The unit is that of [the paper's objective]"
        "(../explanation/multiplane_image.md#the-objective), which `paper` minimises. "
        "`standard` and `preview` take `alpha` and `intensity` relative to their defaults, only "
        "ask whether `auxiliary` is 0 (`standard` also whether `data` is), and have no entropy "
        "term. 0 switches a term off.",
    ),
    (
        SolveSettings,
        "The kernels of a calibration",
        "`napari_dpdeblur.calibration.solve.settings.SolveSettings`; on the command line "
        "`calibrate run --grid` and `--kernel-size`. l1 to l4 are the weights of the "
        "[objective of the calibration](../explanation/calibration.md).",
    ),
    (
        EstimateSettings,
        "The lens estimate",
        "`napari_dpdeblur.EstimateSettings`; on the command line `calibrate estimate --profile` "
        "and `--grid`.",
    ),
    (
        DisparityParameters,
        "The disparity of a lens estimate",
        "The setting `disparity` of the lens estimate, for experts.",
    ),
    (
        EvidenceParameters,
        "The evidence of a lens estimate",
        "The setting `evidence` of the lens estimate, for experts.",
    ),
    (
        LensParameters,
        "The pupil of a lens estimate",
        "The setting `lens` of the lens estimate, for experts.",
    ),
    (
        TileParameters,
        "The tiles of a lens estimate",
        "The setting `tiles` of the lens estimate, for experts.",
    ),
    (
        SpreadParameters,
        "How much lenses differ",
        "The setting `spread` of the lens estimate, for experts.",
    ),
    (
        VerdictParameters,
        "The verdict of a lens estimate",
        "The setting `verdict` of the lens estimate, for experts.",
    ),
    (
        RefineParameters,
        "The adaptation of a calibration",
        "The setting `refine` of the lens estimate, for experts.",
    ),
)

PREFIXES = {FitSettings: "", Weights: "weights."}  # of the names that presets use


def command_line_page() -> str:
    """The page of all commands."""
    parts = [COMMAND_LINE_INTRODUCTION.rstrip() + "\n"]
    for name, summary, parser in commands(build_parser()):
        parts.append(_command_section(name, summary, parser))
    return NOTE + "\n".join(parts)


def commands(
    parser: argparse.ArgumentParser,
) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """All commands, with their steps: words after the program, summary, parser."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, child in action.choices.items():
                yield name, summaries[name], child
                for below, summary, grandchild in commands(child):
                    yield f"{name} {below}", summary, grandchild


def options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """What can be given to a command, without -h."""
    hidden = (argparse._HelpAction, argparse._SubParsersAction)
    return [action for action in parser._actions if not isinstance(action, hidden)]


def _command_section(name: str, summary: str, parser: argparse.ArgumentParser) -> str:
    level = "#" * (1 + len(name.split()))
    text = parser.description or f"{summary[:1].upper()}{summary[1:]}."
    rows = [f"{level} {name}\n", f"{_cell(text)}"]
    if options(parser):
        usage = " ".join([PROGRAM, name, *(_usage(action) for action in options(parser))])
        rows += [f"\n```text\n{_wrapped(usage)}\n```\n"]
        rows += ["| argument | meaning | default |", "|---|---|---|"]
        rows += [_row(_name(action), *_meaning(action)) for action in options(parser)]
    return "\n".join([*rows, ""])


def _usage(action: argparse.Action) -> str:
    required = action.required or (not action.option_strings and action.nargs not in ("?", "*"))
    words = _name(action, short=True)
    return words if required else f"[{words}]"


def _name(action: argparse.Action, short: bool = False) -> str:
    """The flags and the placeholder of what follows them."""
    value = _placeholder(action)
    flags = action.option_strings
    if not flags:
        return value
    shown = flags[0] if short else ", ".join(flags)
    return f"{shown} {value}".strip()


def _placeholder(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    metavar = action.metavar
    if isinstance(metavar, tuple):
        return " ".join(metavar)
    if metavar is None:
        metavar = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else None
    name = metavar or action.dest.upper()
    return f"{name} [{name} ...]" if action.nargs == "+" else name


def _meaning(action: argparse.Action) -> tuple[str, str]:
    """Help text without its default, and the default."""
    text = (action.help or "") % {"default": action.default}
    told = DEFAULT_IN_HELP.search(text)
    if told:
        return DEFAULT_IN_HELP.sub("", text).strip(), told[1].strip("()")
    plain = action.default not in (None, False, [], argparse.SUPPRESS)
    return text, str(action.default) if plain else ""


def _wrapped(words: str, width: int = 84) -> str:
    """Break a usage line between arguments."""
    parts = re.findall(r"\[.*?\](?=\s|$)|-{1,2}\w\S* [A-Z][^\s\[]*|\S+", words)
    lines, indent = [""], " " * 4
    for part in parts:
        if lines[-1] and len(lines[-1]) + 1 + len(part) > width:
            lines.append(indent + part)
        else:
            lines[-1] = f"{lines[-1]} {part}".strip() if len(lines) == 1 else f"{lines[-1]} {part}"
    return "\n".join(lines)


def settings_page() -> str:
    """The page of all settings."""
    parts = [SETTINGS_INTRODUCTION.rstrip() + "\n"]
    for model, title, text in SETTINGS:
        rows = [f"## {title}\n", f"{text}\n"]
        if model in PREFIXES:
            rows += ["| setting | meaning | unit | default | allowed | presets |", "|---" * 6 + "|"]
            rows += [
                _setting_row(name, field, presets_with(PREFIXES[model] + name))
                for name, field in model.model_fields.items()
            ]
        else:
            rows += _settings_table(model)
        parts.append("\n".join([*rows, ""]))
    return NOTE + "\n".join(parts)


def parameters_page() -> str:
    """The page of the tuned numbers, a table for each stage."""
    parts = [PARAMETERS_INTRODUCTION.rstrip() + "\n"]
    for name, model, text in parameter_groups():
        parts.append("\n".join([f"## {name}\n", f"{text}\n", *_settings_table(model), ""]))
    return NOTE + "\n".join(parts)


def parameter_groups() -> Iterator[tuple[str, type[BaseModel], str]]:
    """Name, model and description of the groups of parameters."""
    for name, field in Parameters.model_fields.items():
        yield name, type(field.default), field.description or ""


def presets_with(name: str) -> str:
    """The presets that use a setting."""
    using = [preset.name for preset in PRESETS.values() if name in preset.uses]
    return "all" if len(using) == len(PRESETS) else ", ".join(using)


def _settings_table(model: type[BaseModel]) -> list[str]:
    head = ["| setting | meaning | unit | default | allowed |", "|---" * 5 + "|"]
    return head + [_setting_row(name, field) for name, field in model.model_fields.items()]


def unit(field: FieldInfo) -> str:
    """The unit of a setting: `none` for choices, switches and plain numbers."""
    extra = field.json_schema_extra
    return str(extra.get("unit", "")) if isinstance(extra, dict) else ""


def default(field: FieldInfo) -> str:
    """The default as it would be written in YAML."""
    value: Any = field.get_default(call_default_factory=True)
    if isinstance(value, Parameters):
        return "see [parameters](parameters.md)"
    if isinstance(value, BaseModel):
        return "see below"
    if value is None:
        return "not given"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _setting_row(name: str, field: FieldInfo, *more: str) -> str:
    text = (field.description or "").rstrip(".")
    return _row(name, text, unit(field), default(field), _allowed(field), *more)


def _allowed(field: FieldInfo) -> str:
    choices = [str(c) for c in get_args(field.annotation) if isinstance(c, str)]
    if choices:
        return ", ".join(choices)
    if field.annotation is bool:
        return "true, false"
    signs = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    limits = [
        f"{sign} {getattr(limit, name)}"
        for name, sign in signs.items()
        for limit in field.metadata
        if hasattr(limit, name)
    ]
    return ", ".join(limits)


def _row(name: str, *cells: str) -> str:
    return "| " + " | ".join([f"`{name}`", *map(_cell, cells)]) + " |"


def _cell(text: str) -> str:
    """Markdown of a plain text: bars and stars are escaped."""
    return text.replace("|", r"\|").replace("*", r"\*").replace("_", r"\_") if text else "-"


PAGES = {
    "command_line.md": command_line_page,
    "settings.md": settings_page,
    "parameters.md": parameters_page,
}


def main() -> None:
    """Write all pages."""
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
