"""Sample data: three published captures of a Canon, by download."""

from __future__ import annotations

from functools import partial

import napari
import numpy as np

from napari_dpdeblur.datasets.canon_r6 import depth_path, fetch_steps, open_scene, read_depth_m
from napari_dpdeblur.errors import DownloadError, DpDeblurError
from napari_dpdeblur.viewer.layers.convert import capture_layers
from napari_dpdeblur.viewer.layers.metadata import LayerData
from napari_dpdeblur.viewer.samples import Download, FetchSteps, download_notice


def canon_r6(scene: str) -> list[LayerData]:
    """Start to download a published scene; a notice is shown meanwhile."""
    title = f"Canon R6 scene {scene}"
    viewer = napari.current_viewer()
    if viewer is not None:
        Download(viewer, title, partial(_fetched_layers, scene)).start()
    return [download_notice(title)]


def box() -> list[LayerData]:
    """Boxes before and behind the focus plane."""
    return canon_r6("box_001")


def iphone() -> list[LayerData]:
    """A casual scene with the depth of a phone's LiDAR."""
    return canon_r6("iphone_001")


def orbbec() -> list[LayerData]:
    """A casual scene with the depth of a depth camera."""
    return canon_r6("orbbec_001")


def _fetched_layers(scene: str) -> FetchSteps:
    """Download file by file; return the layers, and the error or None (see `samples`)."""
    try:
        yield from fetch_steps([scene])
        return _read_scene(scene), None
    except DpDeblurError as error:
        return [], error
    except Exception as error:
        return [], DownloadError(f"Scene {scene} could not be opened ({error}); try again.")


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
