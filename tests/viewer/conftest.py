"""A real napari window, a small capture with its calibration, and a result."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results import Result
from napari_dpdeblur.viewer.open.arrival import gui_queue
from napari_dpdeblur.viewer.open.listing import listing_of
from napari_dpdeblur.viewer.shared import gc_pause

SIZE = (96, 128)


@pytest.fixture(autouse=True)
def _own_settings(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep the tests away from the settings of whoever runs them."""
    monkeypatch.setenv("DPDEBLUR_CONFIG", str(tmp_path_factory.mktemp("config")))


@pytest.fixture
def nobody_froze(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if no test before had needed short collections; some release them after their end."""

    monkeypatch.setattr(gc_pause, "_requests", set())
    monkeypatch.setattr(gc_pause, "_frozen_here", False)
    gc.unfreeze()
    yield
    gc.unfreeze()


@pytest.fixture
def viewer_model(qapp: Any) -> Any:
    """A viewer without a window: enough, and much quicker, where only layers matter."""
    from napari.components import ViewerModel

    return ViewerModel()


@pytest.fixture(scope="session")
def _window(qapp: Any) -> Iterator[Any]:
    """One window for all tests: opening one takes a second."""
    napari = pytest.importorskip("napari")
    viewer = napari.Viewer(show=True)
    viewer.window._qt_window.resize(1366, 740)
    yield viewer
    viewer.close()


@pytest.fixture
def viewer(display: None, qtbot: Any, _window: Any) -> Iterator[Any]:
    """A napari viewer in a real window, empty; its widgets and layers are removed afterwards.

    Skipped where there is no display: the canvas needs OpenGL, which Qt's offscreen lacks.
    """
    yield _window
    _empty(_window)


def _empty(viewer: Any) -> None:
    viewer.window.remove_dock_widget("all")
    _remove_lost_docks(viewer.window._qt_window)
    gui_queue(viewer).finish()  # of layers that a test has not waited for
    viewer.layers.clear()
    listing_of(viewer).remove(listing_of(viewer).entries)
    viewer.dims.ndisplay = 2
    gc.collect()


def _remove_lost_docks(window: Any) -> None:
    """Those whose widget a test has closed: napari does not know them any more."""
    from qtpy.QtCore import Qt
    from qtpy.QtWidgets import QDockWidget

    right = Qt.DockWidgetArea.RightDockWidgetArea
    for dock in window.findChildren(QDockWidget):
        if window.dockWidgetArea(dock) == right:
            window.removeDockWidget(dock)
            dock.deleteLater()


@pytest.fixture(scope="session")
def scene_capture() -> DualPixelCapture:
    """A synthetic capture of 96 x 128 square pixels, stored with 48 rows as the phone does."""
    from napari_dpdeblur.datasets.synthetic.scene import render_capture, synthetic_scene

    scene = synthetic_scene(*SIZE, seed=1)
    return render_capture(scene, _grid(), seed=1, pixel_aspect=2, name="scene")


@pytest.fixture(scope="session")
def calibration() -> Calibration:
    """The lens of `scene_capture`."""
    return synthetic_calibration(*SIZE, rows=2, cols=3)


def _grid() -> Any:
    from napari_dpdeblur.datasets.synthetic.lens import synthetic_kernels
    from napari_dpdeblur.optics import KernelGrid

    return KernelGrid.from_array(synthetic_kernels(2, 3), 2, 3)


@pytest.fixture
def make_result(calibration: Calibration, scene_capture: DualPixelCapture) -> Callable[..., Result]:
    """A result of random numbers with the provenance of `scene_capture`."""

    def make(channels: int = 1, layers: int = 4, crop: list[int] | None = None) -> Result:
        height, width = crop[2:] if crop else SIZE
        random = np.random.default_rng(layers)

        def values(*shape: int) -> np.ndarray:
            return random.uniform(0.0, 1.0, shape).astype(np.float32)

        alpha = values(layers, 1, height, width)
        alpha[0] = 1.0
        return Result(
            all_in_focus=0.5 * values(channels, height, width),
            defocus_map=0.1 + 1.3 * values(height, width),
            confidence=values(height, width),
            mpi=MultiplaneImage(
                0.5 * values(layers, channels, height, width),
                alpha,
                np.linspace(1.4, 0.1, layers),
            ),
            provenance={
                "settings": {"layers": layers, "preset": "standard"},
                "capture": scene_capture.describe(),
                "calibration": calibration.describe(),
                "crop": crop,
                "loss_history": [{"step": 1, "data": 0.25}],
            },
        )

    return make


@pytest.fixture
def capture_files(tmp_path: Path, scene_capture: DualPixelCapture) -> tuple[Path, Path]:
    """`scene_capture` as the app's PGM pair in a folder of its own."""
    from napari_dpdeblur.capture.pgm import write_pgm_pair

    folder = tmp_path / "pair"
    folder.mkdir()
    left, right = scene_capture.raw[:, 0]
    return write_pgm_pair(folder, "scene", left, right, scene_capture.pixel_aspect)
