"""Sample data: a synthetic capture, and the published Pixel 4 scenes by download.

napari calls these functions in its menu: they return a notice at once, and the layers follow.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import napari
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.datasets.pixel4 import cache_folder, calibration_folder, fetch_steps
from napari_dpdeblur.datasets.synthetic.simulation import TABLE_SIZE, sample
from napari_dpdeblur.viewer.layers.add import watch
from napari_dpdeblur.viewer.layers.calibration import KERNELS, calibration_layers
from napari_dpdeblur.viewer.layers.convert import (
    capture_layers,
    defocus_layer,
    hidden,
    image_layer,
)
from napari_dpdeblur.viewer.layers.metadata import (
    TRUE_DEFOCUS,
    TRUE_IMAGE,
    LayerData,
    LayerInfo,
    kind_of,
)
from napari_dpdeblur.viewer.layers.placement import Placement, placement
from napari_dpdeblur.viewer.open.arrival import NOTICE, Arrival, Loading

SIZE = TABLE_SIZE
NAME, LENS = "synthetic", "synthetic lens"
TITLE = "Synthetic scene"
NOTICE_SIZE = (640, 480)


def synthetic() -> list[LayerData]:
    """Dolls on a laid table, in colour: both views, calibration, ground truth.

    One doll is in focus; other things are blurred, behind it and in front of it. In a window it
    is made in a thread, while a notice is shown; else it is returned.
    """
    viewer = napari.current_viewer()
    if viewer is None:
        return synthetic_layers()
    watch(viewer)
    Arrival(viewer, TITLE, _generate, has_notice=True).start()
    return [notice(TITLE, "Making the synthetic scene...")]


def synthetic_layers() -> list[LayerData]:
    """The layers of the synthetic sample."""
    scene = sample(*SIZE)
    placed = placement((1.0, 1.0), (0.0, 0.0))
    return [
        *_kernels(scene.calibration, LENS),
        *_truth_layers(NAME, scene.all_in_focus, scene.defocus_map, placed),
        *capture_layers(scene.capture),
    ]


def pixel4(scene: str | int = 5) -> list[LayerData]:
    """Start to download a published scene; a notice is shown meanwhile.

    Files are downloaded and read in a thread; the layers then replace the notice. Removing the
    notice cancels.
    """
    name = str(scene).zfill(3)
    return announced(f"Pixel 4 scene {name}", partial(_fetch, name))


def announced(title: str, load: Callable[[], Loading]) -> list[LayerData]:
    """Start to download layers into the current viewer; returns the notice about it."""
    viewer = napari.current_viewer()
    if viewer is not None:
        watch(viewer)
        Arrival(viewer, title, load, has_notice=True).start()
    return [notice(title, f"Downloading {title}...")]


def _generate() -> Loading:
    yield 0, 1, "scenes"
    return synthetic_layers()


def _fetch(scene: str) -> Loading:
    for done, total, _ in fetch_steps([scene]):
        yield done, total, "files"
    return _read_scene(scene)


def _read_scene(scene: str) -> list[LayerData]:
    # Deferred: the evaluation brings scikit-image, for which the synthetic sample need not wait.
    from napari_dpdeblur.evaluation.ground_truth import (
        defocus_path,
        load_defocus,
        load_sharp,
        sharp_path,
    )

    folder = cache_folder()
    lens = load_calibration(calibration_folder())
    capture = open_capture(folder / f"{scene}_left.png")
    area = lens.field
    placed = placement((1.0, 1.0), (float(area.top), float(area.left)))
    truth = load_defocus(defocus_path(folder, scene))
    return [
        *_kernels(lens, lens.camera, calibration_folder()),
        *_truth_layers(scene, load_sharp(sharp_path(folder, scene)), truth.defocus, placed),
        *capture_layers(capture),
    ]


def _kernels(lens: Calibration, group: str, path: Path | None = None) -> list[LayerData]:
    """The kernels of a calibration, hidden; without its other layers, which take time to add."""
    layers = calibration_layers(lens, group, path)
    return [hidden(layer) for layer in layers if kind_of(layer) == KERNELS]


def _truth_layers(
    group: str, image: FloatArray, defocus_map: FloatArray, placed: Placement
) -> list[LayerData]:
    return [
        hidden(defocus_layer(defocus_map, LayerInfo(TRUE_DEFOCUS, group), placed)),
        hidden(image_layer(image, LayerInfo(TRUE_IMAGE, group), placed)),
    ]


def notice(title: str, text: str) -> LayerData:
    """An image with a message about layers that will replace it."""
    canvas = Image.new("L", NOTICE_SIZE, 30)
    text = f"{text}\nIt will appear here when ready."
    middle = (NOTICE_SIZE[0] / 2, NOTICE_SIZE[1] / 2)
    font = ImageFont.load_default(28)
    ImageDraw.Draw(canvas).multiline_text(middle, text, 235, font, anchor="mm", align="center")
    options = {"name": title, "metadata": {NOTICE: title}}
    return np.asarray(canvas), {**options, "contrast_limits": (0, 255)}, "image"
