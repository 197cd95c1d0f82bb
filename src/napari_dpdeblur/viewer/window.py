"""A result in a window of napari, for scripts and notebooks."""

from __future__ import annotations

from typing import Any

import napari

from napari_dpdeblur.results import Result
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.convert import capture_layers, run_layers


def show_result(result: Result) -> Any:
    """Add the views and the result to the open viewer, or to a new one; return the viewer.

    In a script this waits until the window is closed. Where an event loop runs already, such as
    IPython's, it comes back at once.
    """
    viewer = napari.current_viewer() or napari.Viewer()
    views = [] if result.capture is None else capture_layers(result.capture)
    put_layers(viewer, [*views, *run_layers(result)])
    napari.run()
    return viewer
