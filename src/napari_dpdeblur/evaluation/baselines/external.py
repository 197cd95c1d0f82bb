"""Results of other programs, read from folders of images and defocus maps."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.evaluation.baselines.prediction import Prediction
from napari_dpdeblur.evaluation.ground_truth import load_picture, load_predicted_map

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture

SUFFIXES = (".png", ".tif", ".tiff")


@dataclass(frozen=True)
class ExternalResults:
    """A method whose results are files such as `SCENE.png` or `SCENE_anything.tif`.

    ``images`` contains all-in-focus images like the ground truth, ``maps`` greyscale images whose
    values increase, or decrease, with blur.
    """

    images: Path | None = None
    maps: Path | None = None

    def __call__(self, capture: DualPixelCapture, calibration: Calibration) -> Prediction:
        """Read the results for a capture."""
        image, defocus_map = self._files(capture.name)
        return Prediction(
            None if image is None else _image(image, capture.shape[1]),
            None if defocus_map is None else load_predicted_map(defocus_map),
        )

    def signature(self, scene: str) -> str:
        """Hash of the files of a scene."""
        digest = hashlib.sha256()
        for path in self._files(scene):
            digest.update(b"none" if path is None else path.read_bytes())
        return digest.hexdigest()

    def _files(self, scene: str) -> tuple[Path | None, Path | None]:
        image, defocus_map = (
            None if folder is None else _file_of(folder, scene)
            for folder in (self.images, self.maps)
        )
        return image, defocus_map


def _image(path: Path, channels: int) -> FloatArray:
    """An image (C, H, W); colours are averaged for a greyscale capture."""
    image = load_picture(path, "predicted image")
    if channels == 1 and len(image) == 3:
        return np.asarray(image.mean(axis=0, keepdims=True), np.float32)
    return image


def _file_of(folder: Path, scene: str) -> Path:
    """The one image file of a scene in a folder."""
    if not folder.is_dir():
        raise EvaluationError(f"The results folder {folder} does not exist; check the path.")
    pictures = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in SUFFIXES]
    found = [p for p in pictures if p.stem == scene or p.stem.startswith(f"{scene}_")]
    if len(found) != 1:
        number = "no image" if not found else f"{len(found)} images"
        raise EvaluationError(
            f"The folder {folder} contains {number} of scene {scene}; expected one file named "
            f"{scene}.png or {scene}_anything.tif."
        )
    return found[0]
