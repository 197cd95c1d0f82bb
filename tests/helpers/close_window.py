"""A napari session whose window is closed in the middle of something: python close_window.py WHAT

Run by tests/viewer/test_close_window.py in a process of its own, as a user's napari would be.
Prints a line with the process id of the job, if there is one, when the window is closed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import napari
import numpy as np
from qtpy.QtCore import QTimer

from napari_dpdeblur.datasets.synthetic.scene import render_capture, synthetic_scene
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results import Result
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.calibration import calibration_layers
from napari_dpdeblur.viewer.layers.convert import capture_layers, run_layers

SIZE = (96, 128)
LARGE = (600, 800)


def during_a_fit(viewer: Any) -> Callable[[], int | None]:
    """A fit that would go on for long; ready when a picture of it is seen."""
    from fit_bench import ENDLESS

    from napari_dpdeblur.viewer.fit.widget import FitWidget

    put_layers(viewer, calibration_layers(synthetic_calibration(*SIZE, rows=2, cols=3)))
    put_layers(viewer, capture_layers(render_capture(synthetic_scene(*SIZE), name="scene")))
    widget = FitWidget(viewer)
    viewer.window.add_dock_widget(widget, name="Fit")
    widget.show_settings(ENDLESS)
    widget.run()
    return lambda: widget.panel.worker.pid if "scene live image" in viewer.layers else None


def during_refocusing(viewer: Any) -> Callable[[], int | None]:
    """A slider that is moved for ever; ready when a picture was seen and the next is rendered."""
    from napari_dpdeblur.viewer.inspect.widget import InspectWidget

    put_layers(viewer, run_layers(large_record()))
    widget = InspectWidget(viewer)
    viewer.window.add_dock_widget(widget, name="Inspect")
    panel = widget.refocus_panel
    widget.tabs.setCurrentWidget(panel)
    seen: list[Any] = []
    panel.view.shown.connect(seen.append)

    def ready() -> int | None:
        panel.focus.setValue(panel.focus.value() + 0.01)
        return 0 if seen and panel.view.is_busy else None

    return ready


def large_record() -> Result:
    """A result that takes a while to render."""
    random = np.random.default_rng(0)
    layers = 8

    def values(*shape: int) -> np.ndarray:
        return random.uniform(0.0, 1.0, shape).astype(np.float32)

    alpha = values(layers, 1, *LARGE)
    alpha[0] = 1.0
    return Result(
        all_in_focus=values(3, *LARGE),
        defocus_map=values(*LARGE),
        confidence=values(*LARGE),
        mpi=MultiplaneImage(
            values(layers, 3, *LARGE),
            alpha,
            np.linspace(1.4, 0.1, layers),
        ),
        provenance={"capture": {"name": "scene"}},
    )


def main() -> None:
    """Open a window, begin, close the window; the program ends by itself."""
    viewer = napari.Viewer()
    ready = {"fit": during_a_fit, "refocus": during_refocusing}[sys.argv[1]](viewer)
    timer = QTimer()

    def look() -> None:
        pid = ready()
        if pid is not None:
            timer.stop()
            print("closed", pid, flush=True)
            viewer.close()

    timer.timeout.connect(look)
    timer.start(20)
    napari.run()
    print("ended", flush=True)


if __name__ == "__main__":
    main()
