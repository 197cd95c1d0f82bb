"""Frame rate of live refocusing of a fitted scene, at preview size and at full size.

    python benchmarks/refocus.py RUN CALIBRATION [--frames 20] [--window] [--json] [--save]

RUN is the run folder of a fit, CALIBRATION the calibration it was made with. The focus sweeps
through the scene and slightly beyond, with the calibrated kernels and with a round aperture, on two
threads; no two frames have the same focus. --window moves the slider of the Inspect widget in a
real napari window, in grey and in colour, and counts the frames drawn on its canvas: those of
preview size, and those rendered at half of it because larger ones were too slow. The exit status is
1 when a preview misses 5 frames per second; in the window, half-size frames do not count.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

# Waiting threads would otherwise spin and slow down the others on a busy machine.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np

from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.results import Result, read_run
from napari_dpdeblur.results.refocus.aperture import (
    Aperture,
    calibrated_aperture,
    equivalent_radius_px,
    round_aperture,
)
from napari_dpdeblur.results.refocus.renderer import LEFT, Refocuser, Shot, preview_reduction
from results_file import add_save_option, save_figures

AT_LEAST_FPS = 5.0


def sweep(scales: np.ndarray, frames: int) -> list[Shot]:
    """Focus positions from the captured focus to behind the scene."""
    return [Shot(focus=float(focus)) for focus in np.linspace(0, 1.1 * scales.max(), frames)]


def time_frames(engine: Refocuser, shots: Iterable[Shot]) -> dict[str, float]:
    """Frames per second, slowest frame, and CPU time per frame."""
    times, start_cpu = [], time.process_time()
    for shot in shots:
        start = time.perf_counter()
        engine.render(shot)
        times.append(time.perf_counter() - start)
    return {
        "frames per second": len(times) / sum(times),
        "slowest frame s": max(times),
        "CPU s per frame": (time.process_time() - start_cpu) / len(times),
    }


def measure(run: Path, calibration: Path, frames: int) -> dict[str, dict[str, float]]:
    """Figures of each case, by its name."""
    result = read_run(run)
    color, alpha, scales = result.mpi_color, result.mpi_alpha, result.defocus_scales
    own = {"defocus": result.mpi.defocus}
    shape = (color.shape[-2], color.shape[-1])
    measured = load_calibration(calibration)
    lenses: dict[str, Aperture] = {
        "calibrated": calibrated_aperture(measured, shape, None, result.lens_model),
        "round": round_aperture(shape, equivalent_radius_px(measured)),
    }
    reduction = preview_reduction(shape)
    shots = sweep(scales, frames)
    figures = {}
    for name, lens in lenses.items():
        engine = Refocuser(color, alpha, scales, lens, reduction, is_quick=True, **own)
        engine.render(shots[0])
        size = f"{engine.shape[0]} x {engine.shape[1]}"
        figures[f"preview {size}, {name}"] = time_frames(engine, shots)
    left = [Shot(shot.focus, shot.aperture, (LEFT,)) for shot in shots]
    figures["preview, calibrated, left view"] = time_frames(
        Refocuser(color, alpha, scales, lenses["calibrated"], reduction, is_quick=True, **own), left
    )
    coloured, lens = color.repeat(3, axis=1), lenses["calibrated"]
    engine = Refocuser(coloured, alpha, scales, lens, reduction, is_quick=True, **own)
    figures["preview in colour, calibrated"] = time_frames(engine, shots)
    engine = Refocuser(color, alpha, scales, lens, **own)
    figures["full size, calibrated"] = time_frames(engine, shots[:: max(frames // 3, 1)])
    return figures


def in_colour(result: Result) -> Result:
    """The same result with three channels."""
    return dataclasses.replace(
        result,
        all_in_focus=result.all_in_focus.repeat(3, axis=0),
        mpi=dataclasses.replace(result.mpi, color=result.mpi_color.repeat(3, axis=1)),
    )


def preview_size(result: Result) -> tuple[int, int]:
    """Height and width of a preview that is not made smaller for speed."""
    height, width = result.defocus_map.shape
    reduction = preview_reduction((height, width))
    return -(-height // reduction), -(-width // reduction)


def measure_window(result: Result, calibration: Path, seconds: float = 8.0) -> dict[str, float]:
    """Pictures per second on the canvas by size, and how long the window did not answer."""
    import napari
    from qtpy.QtCore import QElapsedTimer, QTimer

    from napari_dpdeblur.viewer.inspect.refocus_view import RefocusedImage
    from napari_dpdeblur.viewer.inspect.widget import InspectWidget
    from napari_dpdeblur.viewer.layers.add import put_layers
    from napari_dpdeblur.viewer.layers.convert import run_layers

    viewer = napari.Viewer()
    put_layers(
        viewer, run_layers(dataclasses.replace(result, calibration=load_calibration(calibration)))
    )
    widget = InspectWidget(viewer)
    viewer.window.add_dock_widget(widget, name="Inspect", area="right")
    widget.tabs.setCurrentWidget(widget.refocus_panel)
    farthest = float(np.max(widget.source.stack.defocus_scales))
    shown: list[tuple[int, int]] = []
    beats: list[float] = []
    clock, begin = QElapsedTimer(), 0.0

    def draw() -> None:
        beats.append(clock.elapsed() / 1000)
        widget.refocus_panel.focus.setValue(farthest * abs((beats[-1] / 2) % 2 - 1))
        if beats[-1] > seconds:
            timer.stop()
            viewer.close()

    def note(picture: RefocusedImage) -> None:
        if not picture.is_full:
            shown.append(picture.rendered_px)

    def start() -> None:
        widget.refocus_panel.view.shown.disconnect(start_when_warm)
        widget.refocus_panel.view.shown.connect(note)
        nonlocal begin
        begin = time.process_time()
        clock.start()
        timer.start()

    def start_when_warm(picture: object) -> None:
        if getattr(picture, "is_full", False):
            start()

    timer = QTimer(interval=16)
    timer.timeout.connect(draw)
    widget.refocus_panel.view.shown.connect(start_when_warm)
    napari.run()
    pauses = np.diff(beats)
    large = shown.count(preview_size(result))
    return {
        "frames per second": large / beats[-1],
        "half-size frames per second": (len(shown) - large) / beats[-1],
        "CPU s per frame": (time.process_time() - begin) / len(shown),
        "pause of the window s (99 %)": float(np.percentile(pauses, 99)),
        "longest pause of the window s": float(pauses.max()),
    }


def main() -> int:
    """Print the figures; 1 when a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="run folder")
    parser.add_argument("calibration", type=Path, help="calibration of the run")
    parser.add_argument("--frames", type=int, default=20, help="frames of a sweep")
    parser.add_argument("--window", action="store_true", help="also measure in a napari window")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_save_option(parser)
    options = parser.parse_args()
    figures = measure(options.run, options.calibration, options.frames)
    if options.window:
        result = read_run(options.run)
        size = " x ".join(str(side) for side in preview_size(result))
        for name, shown in ((size, result), (f"{size}, colour", in_colour(result))):
            case = f"preview in the window {name}"
            figures[case] = measure_window(shown, options.calibration)
    if options.save:
        save_figures("refocus", figures)
    if options.json:
        print(json.dumps(figures))
    else:
        for case, values in figures.items():
            print(f"{case:<34}" + "".join(f"  {key} {value:.2f}" for key, value in values.items()))
    limited = [values for case, values in figures.items() if case.startswith("preview")]
    return int(any(values["frames per second"] < AT_LEAST_FPS for values in limited))


if __name__ == "__main__":
    sys.exit(main())
