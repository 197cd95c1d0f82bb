"""Sample data: a synthetic capture, and the published Pixel 4 scenes by download."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import Any

import napari
import numpy as np
from napari.qt.threading import create_worker
from napari.utils.notifications import show_error
from PIL import Image, ImageDraw, ImageFont

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.datasets.pixel4 import (
    SCENES,
    cache_folder,
    calibration_folder,
    fetch_steps,
)
from napari_dpdeblur.datasets.synthetic.simulation import TABLE_SIZE, sample
from napari_dpdeblur.errors import DownloadError, DpDeblurError
from napari_dpdeblur.viewer.layers.add import put_layers, watch
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

SIZE = TABLE_SIZE
NAME, LENS = "synthetic", "synthetic lens"
NOTICE, NOTICE_SIZE = "dpdeblur notice", (640, 480)
Fetched = tuple[list[LayerData], DpDeblurError | None]
FetchSteps = Generator[tuple[int, int, str], None, Fetched]
_downloads: set[Download] = set()


def synthetic() -> list[LayerData]:
    """Dolls on a laid table, in colour: both views, calibration, ground truth.

    One doll is in focus; other things are blurred, behind it and in front of it.
    """
    viewer = napari.current_viewer()
    if viewer is not None:
        watch(viewer)
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
    viewer = napari.current_viewer()
    if viewer is not None:
        Download(viewer, _title(name), partial(_fetched_layers, name)).start()
    return [download_notice(_title(name))]


def running() -> int:
    """Number of running downloads."""
    return len(_downloads)


class Download:
    """The download of one scene into a viewer, by a generator that returns its layers."""

    def __init__(self, viewer: Any, title: str, fetch: Callable[[], FetchSteps]) -> None:
        self._viewer = viewer
        self._title = title
        self._worker = create_worker(fetch, _progress={"desc": title, "total": 0})
        self._worker.yielded.connect(self._show_progress)
        self._worker.returned.connect(self._finish)
        self._worker.finished.connect(lambda: _downloads.discard(self))

    def start(self) -> None:
        _downloads.add(self)
        self._worker.start()

    def _show_progress(self, step: tuple[int, int, str]) -> None:
        notice = self._find_notice()
        if notice is None:
            self._worker.quit()
            return
        done, total, _ = step
        notice.name = f"{self._title}: {done} of {total} files"

    def _finish(self, result: Fetched) -> None:
        layers, error = result
        notice = self._find_notice()
        if notice is None:
            return
        self._viewer.layers.remove(notice)
        if error is not None:
            show_error(str(error))
            return
        put_layers(self._viewer, layers)
        self._viewer.reset_view()

    def _find_notice(self) -> Any | None:
        layers = self._viewer.layers
        return next((la for la in layers if la.metadata.get(NOTICE) == self._title), None)


def _fetched_layers(scene: str) -> FetchSteps:
    """Download file by file; return the layers, and the error or None.

    Errors are returned, not raised: napari silently drops a RuntimeError of a worker.
    """
    try:
        yield from fetch_steps([scene])
        return _read_scene(scene), None
    except DpDeblurError as error:
        return [], error
    except Exception as error:
        return [], DownloadError(f"Scene {scene} could not be opened ({error}); try again.")


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


def _title(scene: str) -> str:
    return f"Pixel 4 scene {scene}"


def download_notice(title: str) -> LayerData:
    """An image with a message about the download."""
    canvas = Image.new("L", NOTICE_SIZE, 30)
    text = f"Downloading {title}...\nIt will appear here when ready."
    middle = (NOTICE_SIZE[0] / 2, NOTICE_SIZE[1] / 2)
    font = ImageFont.load_default(28)
    ImageDraw.Draw(canvas).multiline_text(middle, text, 235, font, anchor="mm", align="center")
    options = {"name": title, "metadata": {NOTICE: title}}
    return np.asarray(canvas), {**options, "contrast_limits": (0, 255)}, "image"


def __getattr__(name: str) -> Any:
    """`pixel4_001` to `pixel4_017`: one function for each entry of the menu."""
    scene = name.removeprefix("pixel4_")
    if scene != name and scene in SCENES:
        return partial(pixel4, scene)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
