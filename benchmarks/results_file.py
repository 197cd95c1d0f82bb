"""Figures of a benchmark in a JSON file, from which the documentation takes its numbers.

`--save` of a benchmark writes `benchmarks/results/NAME.json`; afterwards
`python docs/fill_figures.py` writes the figures into the documentation.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().with_name("results")
SIGNIFICANT_DIGITS = 6


def add_save_option(parser: argparse.ArgumentParser) -> None:
    """Give a benchmark the option `--save`."""
    parser.add_argument(
        "--save", action="store_true", help="store the figures in benchmarks/results"
    )


def save_figures(name: str, figures: Mapping[str, Any], folder: Path = RESULTS) -> Path:
    """Write one figure set with its date, version, machine and command."""
    from napari_dpdeblur import __version__

    content = {
        "date": datetime.date.today().isoformat(),
        "version": __version__,
        "machine": machine(),
        "command": command_line(sys.argv),
        "figures": _plain(figures),
    }
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    print(f"Saved {path.name}.", file=sys.stderr)
    return path


def machine() -> dict[str, Any]:
    """Processor, number of cores and memory."""
    import psutil

    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
    }


def command_line(arguments: list[str]) -> str:
    """The command as somebody else would type it: of paths only the last part."""
    script, *options = (Path(word).name if os.sep in word else word for word in arguments)
    return shlex.join(["python", f"benchmarks/{script}", *options])


def figure_name(text: str) -> str:
    """Lower-case words joined by underscores: `peak memory GB` becomes `peak_memory_gb`."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower().replace("'", "")).strip("_")


def _cpu_model() -> str:
    information = Path("/proc/cpuinfo")
    if information.is_file():
        found = re.search(r"^model name\s*: (.+)$", information.read_text(), re.MULTILINE)
        if found:
            return found[1]
    return platform.processor() or platform.machine()


def _plain(value: Any) -> Any:
    """Numbers, texts and dictionaries of them, with few digits and names that a page can use."""
    if isinstance(value, Mapping):
        return {figure_name(str(name)): _plain(part) for name, part in value.items()}
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    return value
