"""Sample data: published captures of a Canon, by download."""

from __future__ import annotations

from functools import partial

import numpy as np

from napari_dpdeblur.datasets.canon_r6 import depth_path, fetch_steps, open_scene, read_depth_m
from napari_dpdeblur.viewer.layers.convert import capture_layers
from napari_dpdeblur.viewer.layers.metadata import LayerData
from napari_dpdeblur.viewer.open.arrival import Loading
from napari_dpdeblur.viewer.samples import announced


def canon_r6(scene: str) -> list[LayerData]:
    """Start to download a published scene; a notice is shown meanwhile."""
    return announced(f"Canon R6 scene {scene}", partial(_fetch, scene))


def box() -> list[LayerData]:
    """Boxes before and behind the focus plane."""
    return canon_r6("box_001")


def _fetch(scene: str) -> Loading:
    for done, total, _ in fetch_steps([scene]):
        yield done, total, "files"
    return _read_scene(scene)


def _read_scene(scene: str) -> list[LayerData]:
    path = depth_path(scene)
    depth = [] if path is None else [_depth_layer(scene, read_depth_m(path))]
    return [*depth, *capture_layers(open_scene(scene))]


def _depth_layer(scene: str, depth_m: np.ndarray) -> LayerData:
    """The measured depth in metres, hidden; unknown pixels are transparent."""
    limits = (float(np.nanmin(depth_m)), float(np.nanmax(depth_m)))
    options = {
        "name": f"{scene} measured depth (m)",
        "visible": False,
        "colormap": "viridis",
        "contrast_limits": limits,
    }
    return depth_m, options, "image"
