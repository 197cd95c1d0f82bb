"""Camera, grid and canvas of a viewer: keep the view while layers come, or point it at some."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

POSE = ("center", "zoom", "angles")
FILLED = 0.95  # share of the canvas that the layers fill


def camera_of(viewer: Any) -> Any:
    """The camera, in any supported version of napari."""
    scene = getattr(viewer, "scene", None)  # since napari 0.9
    return viewer.camera if scene is None else scene.camera


def grid_of(viewer: Any) -> Any:
    """The grid of the canvas, in any supported version of napari."""
    canvas = getattr(viewer, "canvas", None)  # since napari 0.9
    return viewer.grid if canvas is None else canvas.grid


@contextmanager
def keep_view(viewer: Any) -> Iterator[None]:
    """Keep zoom and centre, which napari resets when the first stack of layers comes or goes.

    The first layer of an empty viewer is shown in full, as by napari.
    """
    camera, was_empty = camera_of(viewer), not viewer.layers
    before = {name: getattr(camera, name) for name in POSE}
    yield
    if not was_empty and viewer.dims.ndisplay == 2:
        for name, value in before.items():
            if not np.allclose(getattr(camera, name), value):
                setattr(camera, name, value)


def zoom_to(viewer: Any, layers: list[Any]) -> None:
    """Fill the canvas with these layers."""
    if not layers or viewer.dims.ndisplay != 2:
        return
    corners = np.array([np.asarray(layer.extent.world)[:, -2:] for layer in layers])
    first, last = corners[:, 0].min(axis=0), corners[:, 1].max(axis=0)
    canvas = np.asarray(_canvas_px(viewer), float)
    camera = camera_of(viewer)
    camera.center = (0.0, *((first + last) / 2))
    camera.zoom = FILLED * float((canvas / np.maximum(last - first, 1.0)).min())


def delete_in_canvas(viewer: Any) -> None:
    """Have the canvas delete what it drew of a layer in its own OpenGL context.

    napari does so in whatever context is current. Qt's may be, and Mesa 22 then crashes when the
    canvas is drawn next, mostly after a hidden layer was removed.
    """

    def make_current(_: Any = None) -> None:
        window = getattr(getattr(viewer, "window", None), "_qt_viewer", None)
        canvas: Any = getattr(getattr(window, "canvas", None), "native", None)
        make = getattr(canvas, "makeCurrent", None)
        if make is not None:
            make()

    viewer.layers.events.removing.connect(make_current)


def _canvas_px(viewer: Any) -> tuple[int, int]:
    """Height and width of the canvas, in any supported version of napari."""
    size = getattr(getattr(viewer, "canvas", None), "size", None)
    height, width = viewer._canvas_size if size is None else size
    return int(height), int(width)
