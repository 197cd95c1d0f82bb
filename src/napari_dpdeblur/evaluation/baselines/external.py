"""Results of other programs: folders of predicted images and defocus maps."""

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
    """A method whose results are files: `SCENE.png`, `SCENE_anything.tif` and the like.

    ``images`` hold all-in-focus images like the ground truth, ``maps`` grey pictures whose values
    grow, or fall, with the blur.
    """

    images: Path | None = None
    maps: Path | None = None

    def __call__(self, capture: DualPixelCapture, calibration: Calibration) -> Prediction:
        """Read what the folders hold for a capture."""
        image, defocus_map = self._files(capture.name)
        return Prediction(
            None if image is None else _image(image, capture.shape[1]),
            None if defocus_map is None else load_predicted_map(defocus_map),
        )

    def signature(self, scene: str) -> str:
        """Hash of the files of a scene: another one means another result."""
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
    """An image (C, H, W); the colours of a network's output for a grey capture are averaged."""
    image = load_picture(path, "predicted image")
    if channels == 1 and len(image) == 3:
        return np.asarray(image.mean(axis=0, keepdims=True), np.float32)
    return image


def _file_of(folder: Path, scene: str) -> Path:
    """The one picture in a folder that is named after a scene."""
    if not folder.is_dir():
        raise EvaluationError(f"The folder of results {folder} does not exist; check the path.")
    pictures = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in SUFFIXES]
    found = [p for p in pictures if p.stem == scene or p.stem.startswith(f"{scene}_")]
    if len(found) != 1:
        number = "no picture" if not found else f"{len(found)} pictures"
        raise EvaluationError(
            f"The folder {folder} holds {number} of scene {scene}; "
            f"name one {scene}.png or {scene}_anything.tif."
        )
    return found[0]
