"""Show a result in napari, for scripts and notebooks."""

from __future__ import annotations

from typing import Any

import napari

from napari_dpdeblur.results import Result
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.convert import capture_layers, run_layers


def show_result(result: Result) -> Any:
    """Add the views and the result to the open viewer, or to a new one; return the viewer.

    Blocks until the window is closed, unless an event loop such as IPython's is running.
    """
    viewer = napari.current_viewer() or napari.Viewer()
    views = [] if result.capture is None else capture_layers(result.capture)
    put_layers(viewer, [*views, *run_layers(result)])
    napari.run()
    return viewer
