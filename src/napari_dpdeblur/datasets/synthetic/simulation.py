"""Simulate captures of the synthetic camera, with their calibration."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from napari_dpdeblur.calibration.record import Calibration, Field
from napari_dpdeblur.calibration.sides import disparity_ratio
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.capture.pgm import APP_PIXEL_ASPECT
from napari_dpdeblur.datasets.synthetic.lens import (
    default_tiles,
    synthetic_front_kernels,
    synthetic_kernels,
    synthetic_vignetting,
)
from napari_dpdeblur.datasets.synthetic.patches import PaintedScene
from napari_dpdeblur.datasets.synthetic.scene import (
    Noise,
    SyntheticScene,
    exposed_capture,
    render_capture,
    synthetic_scene,
    two_sided_scene,
)
from napari_dpdeblur.datasets.synthetic.table_scene import table_scene
from napari_dpdeblur.errors import CaptureError
from napari_dpdeblur.progress_bar import count_bar

ROWS, COLS = 6, 8
NAME = "synthetic"
SceneName = Literal["shapes", "table"]
SHAPES: SceneName = "shapes"
TABLE: SceneName = "table"
SCENES: tuple[SceneName, ...] = (SHAPES, TABLE)
SHAPES_SIZE, TABLE_SIZE = (504, 672), (1008, 1344)  # rows, columns
TABLE_NOISE = Noise(is_normal=True)


@dataclass(frozen=True, eq=False)
class Simulation:
    """A synthetic scene, its capture and the calibration of the camera."""

    scene: SyntheticScene
    capture: DualPixelCapture
    calibration: Calibration

    @property
    def all_in_focus(self) -> np.ndarray:
        """The true image (C, H, W) in the unit of a result: with the light of the left view."""
        return exposed_truth(self.scene.all_in_focus, self.calibration)

    @property
    def defocus_map(self) -> np.ndarray:
        """The true signed defocus scale of each pixel (H, W)."""
        return self.scene.defocus_map


@dataclass(frozen=True, eq=False)
class Sample:
    """The scene in colour that people see first: capture, calibration and ground truth.

    ``all_in_focus`` (3, H, W) has the unit of a result, ``defocus_map`` (H, W) is signed.
    """

    capture: DualPixelCapture
    calibration: Calibration
    all_in_focus: np.ndarray
    defocus_map: np.ndarray


def exposed_truth(sharp: np.ndarray, calibration: Calibration) -> np.ndarray:
    """A sharp image with the fall-off of the left view, which a fit leaves in its image.

    The right view is corrected to the left one (`Calibration.prepare`), so this is the unit in
    which a result can be compared.
    """
    light = calibration.vignetting
    return sharp if light is None else np.asarray(sharp * light[0])


def synthetic_calibration(
    height: int, width: int, rows: int = ROWS, cols: int = COLS, has_front: bool = False
) -> Calibration:
    """True kernels and vignetting of the synthetic lens for a frame of height x width px.

    The field is the whole frame. ``has_front`` adds kernels of their own in front of the focus
    plane; otherwise they are those behind it, turned by 180 degrees.
    """
    kernels = synthetic_kernels(rows, cols)
    front = synthetic_front_kernels(rows, cols) if has_front else None
    return Calibration(
        kernels=kernels,
        rows=rows,
        cols=cols,
        field=Field(0, 0, height, width),
        frame_shape=(height, width),
        vignetting=synthetic_vignetting(height, width),
        camera="synthetic lens",
        source={"format": "synthetic"},
        front_kernels=front,
        front_scale=-1.0 if front is None else disparity_ratio(front, kernels),
    )


def simulate(
    height: int | None = None,
    width: int | None = None,
    seed: int = 0,
    noise_free: bool = False,
    both_sides: bool = False,
    scene: SceneName = SHAPES,
) -> Simulation:
    """Render a scene of ``height`` x ``width`` px and capture it with the synthetic lens.

    The scene ``"shapes"`` is a grey still life, whose capture looks like one of the phone app
    (``height`` must be even); ``both_sides`` puts a subject in focus, with blurred objects behind
    and in front of it; without, everything lies behind the focus plane. The scene ``"table"`` is in
    colour: dolls, a printed page, cloth and leaves on both sides of the focus plane.

    The ground truth is ``all_in_focus`` and ``defocus_map`` of the result. ``noise_free`` leaves
    only the 10-bit quantisation. Sizes that are not given are 504 x 672 and, of the table,
    1008 x 1344 px.
    """
    if scene not in SCENES:
        raise CaptureError(f"There is no scene {scene!r}; choose one of {', '.join(SCENES)}.")
    size = TABLE_SIZE if scene == TABLE else SHAPES_SIZE
    height, width = (size[i] if n is None else n for i, n in enumerate((height, width)))
    with count_bar("Simulating", "step") as show:
        make = _table if scene == TABLE else partial(_shapes, both_sides=both_sides)
        simulation = make(height, width, seed, noise_free)
        show(1, 1)
    return simulation


def sample(height: int = TABLE_SIZE[0], width: int = TABLE_SIZE[1], seed: int = 0) -> Sample:
    """The scene ``"table"`` without its layers, in three seconds and without torch."""
    painted, lens = table_scene(height, width, seed), _lens_of(height, width)
    truth = exposed_truth(painted.all_in_focus, lens)
    return Sample(_photographed(painted, lens, TABLE_NOISE, seed), lens, truth, painted.defocus_map)


def _table(height: int, width: int, seed: int, noise_free: bool) -> Simulation:
    painted, lens = table_scene(height, width, seed), _lens_of(height, width)
    capture = _photographed(painted, lens, None if noise_free else TABLE_NOISE, seed)
    return Simulation(painted.layered(), capture, lens)


def _lens_of(height: int, width: int) -> Calibration:
    return synthetic_calibration(height, width, *default_tiles(height, width))


def _photographed(
    painted: PaintedScene, lens: Calibration, noise: Noise | None, seed: int
) -> DualPixelCapture:
    views = painted.blurred(lens.kernels, lens.rows, lens.cols)
    return exposed_capture(views, lens.vignetting, noise, seed, name=NAME)


def _shapes(height: int, width: int, seed: int, noise_free: bool, both_sides: bool) -> Simulation:
    scene = (two_sided_scene if both_sides else synthetic_scene)(height, width, seed)
    calibration = synthetic_calibration(height, width)
    capture = render_capture(
        scene,
        calibration.kernel_grid(),
        calibration.vignetting,
        noise=None if noise_free else Noise(),
        seed=seed,
        pixel_aspect=int(APP_PIXEL_ASPECT),
        name=NAME,
    )
    return Simulation(scene, capture, calibration)
