"""Timer events while the sample is made, a folder is opened and layers are added.

Part of heartbeat.py. Everything is done as a user does it: within the event loop, by the functions
that napari's menus and the buttons of the dock call.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PLUGIN = "napari-dpdeblur"
SHOWN = "shown_s"


def opening_beats(
    viewer: Any, size: tuple[int, int], watch: Callable[..., dict[str, Any]], folder: Path
) -> dict[str, dict[str, Any]]:
    """The beats of each step; ``watch(action, is_done)`` records one, from the action on."""
    captures, run = write_captures(folder, size)
    return {
        "sample": sample_beats(viewer, watch),
        "folder": folder_beats(viewer, watch, captures),
        "layers": result_beats(viewer, watch, run),
    }


def sample_beats(viewer: Any, watch: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """File > Open Sample: the synthetic scene is made and shown."""
    shown: list[float] = []

    def is_done() -> bool:
        if not shown and is_shown(viewer, "synthetic left"):
            shown.append(time.perf_counter())
        return bool(shown) and is_quiet()

    begin = time.perf_counter()
    beats = watch(lambda: viewer.open_sample(PLUGIN, "synthetic"), is_done)
    viewer.layers.clear()
    return {**beats, SHOWN: round(shown[0] - begin, 2)}


def folder_beats(
    viewer: Any, watch: Callable[..., dict[str, Any]], captures: Path
) -> dict[str, Any]:
    """File > Open Folder with three captures; the dock lists them and one is picked."""
    from napari_dpdeblur.viewer.dock import OPEN, show_dock

    names: list[str] = []

    def is_done() -> bool:
        tab = show_dock(viewer).tab(OPEN) if is_listed(viewer) else None
        if tab is not None and not names and is_quiet():
            names.append(tab.listing.entries[1].name)
            tab.pick(tab.listing.entries[1])
        return bool(names) and is_shown(viewer, f"{names[0]} left") and is_quiet()

    beats = watch(lambda: viewer.open(str(captures), plugin=PLUGIN), is_done)
    viewer.window.remove_dock_widget("all")
    viewer.layers.clear()
    return beats


def result_beats(viewer: Any, watch: Callable[..., dict[str, Any]], run: Path) -> dict[str, Any]:
    """File > Open Folder with a run folder: the layers of its result are added."""

    def is_done() -> bool:
        return any(layer.name.endswith("MPI") for layer in viewer.layers) and is_quiet()

    beats = watch(lambda: viewer.open(str(run), plugin=PLUGIN), is_done)
    viewer.layers.clear()
    return beats


def is_listed(viewer: Any) -> bool:
    from napari_dpdeblur.viewer.open.listing import listing_of

    return bool(listing_of(viewer).entries)


def is_shown(viewer: Any, name: str) -> bool:
    return name in viewer.layers and bool(viewer.layers[name].visible)


def is_quiet() -> bool:
    from napari_dpdeblur.viewer.open.arrival import running

    return not running()


def write_captures(folder: Path, size: tuple[int, int]) -> tuple[Path, Path]:
    """A folder of three captures with their calibration, and a run folder of the last one."""
    from napari_dpdeblur import fit
    from napari_dpdeblur.calibration import save_calibration
    from napari_dpdeblur.capture.pgm import write_pgm_pair
    from napari_dpdeblur.datasets.synthetic.simulation import simulate

    captures = folder / "captures"
    captures.mkdir(parents=True)
    for number in range(3):
        simulation = simulate(*size, seed=number)
        capture = simulation.capture
        left, right = capture.raw[:, 0]
        write_pgm_pair(captures, f"scene{number}", left, right, capture.pixel_aspect)
    save_calibration(simulation.calibration, captures / "phone.dpcal")
    result = fit(simulation.capture, simulation.calibration, preset="preview", progress=False)
    return captures, result.save(folder / "result.dprun")
