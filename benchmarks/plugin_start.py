"""Startup cost of the plugin: start of napari, opening panels and captures.

    python benchmarks/plugin_start.py [--repeats 5] [--save]

Needs a display (or xvfb-run). Each figure is the best of several runs in new processes. Limits:
0.5 s more at the start, torch not loaded before the first fit, 1.5 s for a pair of 1512 x 2016 px,
3 s for the synthetic sample.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from results_file import add_save_option, save_figures

LIMITS_S = {
    "napari's start, more with the plugin": 0.5,
    "opening a pair of 1512 x 2016 px": 1.5,
    "generating the synthetic sample": 3.0,
}
START = """
import json, os, sys, time
begin, computed = time.perf_counter(), time.process_time()
import npe2
if sys.argv[1] == "without":
    npe2.PluginManager.instance().disable("napari-dpdeblur")
import napari
viewer = napari.Viewer(show=False)
elapsed = time.perf_counter() - begin, time.process_time() - computed
ours = [name for name in sys.modules if name.startswith("napari_dpdeblur")]
print(json.dumps({"start": elapsed, "ours": len(ours), "torch": "torch" in sys.modules}))
sys.stdout.flush()
os._exit(0)  # without the time that Qt takes to shut down
"""
USE = """
import json, os, sys, time
import napari
viewer = napari.Viewer(show=True)
napari.utils.notifications  # loaded, as in a running napari
figures = {}

def timed(name, action):
    begin, computed = time.perf_counter(), time.process_time()
    action()
    viewer.window._qt_window.repaint()
    figures[name] = time.perf_counter() - begin, time.process_time() - computed
    figures["torch"] = "torch" in sys.modules

def import_all():
    import importlib, pkgutil
    import napari_dpdeblur.viewer as package
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)

plugin = "napari-dpdeblur"
import numpy
# napari loads its units and scipy with the first layer of a session, whatever it is.
timed("napari's first layer, of any kind", lambda: viewer.add_image(numpy.eye(8)))
viewer.layers.clear()
timed("opening a pair of 1512 x 2016 px", lambda: viewer.open(sys.argv[1], plugin=plugin))
viewer.layers.clear()
def generate():
    from napari_dpdeblur.viewer.samples import synthetic_layers
    synthetic_layers()

def show_sample():
    from napari_dpdeblur.viewer.open.arrival import running
    from qtpy.QtWidgets import QApplication
    viewer.open_sample(plugin, "synthetic")
    while running():
        QApplication.processEvents()

timed("generating the synthetic sample", generate)
timed("the same, generated and shown", show_sample)
for widget in sys.argv[2:]:
    timed(f"the panel {widget}", lambda: viewer.window.add_plugin_dock_widget(plugin, widget))
timed("importing the rest of the plugin", import_all)
print(json.dumps(figures))
sys.stdout.flush()
os._exit(0)
"""


def main() -> int:
    """Print the figures; 1 when a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5, help="runs to take the best of")
    add_save_option(parser)
    options = parser.parse_args()
    repeats = options.repeats
    with tempfile.TemporaryDirectory() as folder:
        figures = {**_start_figures(repeats), **_use_figures(Path(folder), repeats)}
    is_loaded = figures.pop("torch")
    for name, (wall_s, computed_s) in figures.items():
        limit = f"   limit {LIMITS_S[name]:.1f} s" if name in LIMITS_S else ""
        print(f"{name:40s} {wall_s:6.2f} s, CPU {computed_s:6.2f} s{limit}")
    print(f"torch is loaded before the first fit: {'yes' if is_loaded else 'no'}")
    if options.save:
        save_figures("plugin_start", {name: wall_s for name, (wall_s, _) in figures.items()})
    is_slow = any(figures[name][0] > limit for name, limit in LIMITS_S.items())
    return int(is_slow or is_loaded)


def _start_figures(repeats: int) -> dict[str, Any]:
    runs: dict[str, list[dict[str, Any]]] = {"with": [], "without": []}
    for _ in range(repeats):  # alternating, so that a busy minute does not hit one kind alone
        for kind, found in runs.items():
            found.append(_run(START, kind))
    if any(run["ours"] for run in runs["without"]):
        raise SystemExit("napari-dpdeblur was imported although it was disabled")
    best = {kind: _best(run["start"] for run in found) for kind, found in runs.items()}
    return {
        "napari's start without the plugin": best["without"],
        "napari's start with the plugin": best["with"],
        "napari's start, more with the plugin": tuple(
            a - b for a, b in zip(best["with"], best["without"], strict=True)
        ),
        "torch": any(run["torch"] for run in runs["with"]),
    }


def _use_figures(folder: Path, repeats: int) -> dict[str, Any]:
    pair = _write_pair(folder)
    runs = [_run(USE, str(pair), *_panels()) for _ in range(min(repeats, 3))]
    names = [name for name in runs[0] if name != "torch"]
    is_loaded = any(run["torch"] for run in runs)
    return {**{name: _best(run[name] for run in runs) for name in names}, "torch": is_loaded}


def _best(figures: Iterable[Sequence[float]]) -> tuple[float, ...]:
    """The smallest wall time and the smallest CPU time."""
    return tuple(min(column) for column in zip(*figures, strict=True))


def _panels() -> list[str]:
    import npe2

    npe2.PluginManager.instance().discover()
    manifest = npe2.PluginManager.instance().get_manifest("napari-dpdeblur")
    return [widget.display_name for widget in manifest.contributions.widgets or ()]


def _write_pair(folder: Path) -> Path:
    """Noise on a ramp, as PNG files of the size of a phone's."""
    import cv2

    random = np.random.default_rng(0)
    ramp = np.linspace(1500, 12000, 2016)
    for side in ("left", "right"):
        pixels = random.normal(ramp, 40.0, (1512, 2016)).astype(np.uint16)
        cv2.imencode(".png", pixels)[1].tofile(folder / f"001_{side}.png")
    return folder / "001_left.png"


def _run(code: str, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"exit status {done.returncode}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    sys.exit(main())
