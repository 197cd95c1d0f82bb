"""A small folder of synthetic scenes with ground truth, in the layout that a benchmark reads."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from napari_dpdeblur.calibration import Calibration, save_calibration
from napari_dpdeblur.capture.pgm import write_pgm_pair
from napari_dpdeblur.datasets.synthetic.scene import SyntheticScene, render_capture, synthetic_scene
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.evaluation import defocus_path, sharp_path

SIZE = (96, 128)
CALIBRATION = "synthetic.dpcal"


def calibration() -> Calibration:
    """Of the lens that sees all scenes."""
    return synthetic_calibration(*SIZE, rows=2, cols=2)


def scene_of(seed: int) -> SyntheticScene:
    """One layered scene."""
    return synthetic_scene(*SIZE, seed=seed)


def write_data(folder: Path, names: tuple[str, ...] = ("001", "002")) -> Path:
    """Captures as the phone app writes them, their calibration, and the truth."""
    lens = calibration()
    save_calibration(lens, folder / CALIBRATION)
    grid = lens.kernel_grid()
    for seed, name in enumerate(names):
        scene = scene_of(seed)
        capture = render_capture(scene, grid, lens.vignetting, seed=seed, pixel_aspect=2, name=name)
        write_pgm_pair(folder, name, *capture.raw[:, 0], capture.pixel_aspect)
        write_truth(folder, name, scene)
    return folder


def write_truth(folder: Path, name: str, scene: SyntheticScene) -> None:
    """The sharp image with 16 bits and the defocus map with 8, without a strip of confidence."""
    sharp = np.round(65535 * scene.all_in_focus[0]).astype(np.uint16)
    defocus = np.round(255 * scene.defocus_map / 1.5).astype(np.uint8)
    defocus[:, :10] = 0
    for path, pixels in (
        (sharp_path(folder, name), sharp),
        (defocus_path(folder, name), defocus),
    ):
        path.parent.mkdir(exist_ok=True)
        cv2.imwrite(str(path), pixels)
