"""Simulate captures of the synthetic camera, with their calibration."""

from __future__ import annotations

from dataclasses import dataclass

from napari_dpdeblur.calibration.record import Calibration, Field
from napari_dpdeblur.calibration.sides import disparity_ratio
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.capture.pgm import APP_PIXEL_ASPECT
from napari_dpdeblur.datasets.synthetic.lens import (
    synthetic_front_kernels,
    synthetic_kernels,
    synthetic_vignetting,
)
from napari_dpdeblur.datasets.synthetic.scene import (
    Noise,
    SyntheticScene,
    render_capture,
    synthetic_scene,
    two_sided_scene,
)
from napari_dpdeblur.progress_bar import count_bar

ROWS, COLS = 6, 8
NAME = "synthetic"


@dataclass(frozen=True, eq=False)
class Simulation:
    """A synthetic scene, its capture and the calibration of the camera."""

    scene: SyntheticScene
    capture: DualPixelCapture
    calibration: Calibration


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
    height: int,
    width: int,
    seed: int = 0,
    noise_free: bool = False,
    both_sides: bool = False,
) -> Simulation:
    """Render a scene of ``height`` (even) x ``width`` px and capture it with the synthetic lens.

    The capture looks like one of the phone app. The ground truth is ``scene.all_in_focus`` and
    ``scene.defocus_map``. ``noise_free`` leaves only the 10-bit quantisation. ``both_sides`` puts
    a subject in focus, with blurred objects behind and in front of it; without, everything lies
    behind the focus plane.
    """
    with count_bar("Simulating", "step") as show:
        make = two_sided_scene if both_sides else synthetic_scene
        scene = make(height, width, seed)
        calibration = synthetic_calibration(height, width)
        show(1, 2)
        capture = render_capture(
            scene,
            calibration.kernel_grid(),
            calibration.vignetting,
            noise=None if noise_free else Noise(),
            seed=seed,
            pixel_aspect=int(APP_PIXEL_ASPECT),
            name=NAME,
        )
        show(2, 2)
    return Simulation(scene, capture, calibration)
