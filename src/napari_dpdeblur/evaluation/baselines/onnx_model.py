"""An ONNX model that maps the two views to an image, a defocus map or both."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.evaluation.baselines.prediction import Prediction

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture

MULTIPLE_PX = 16  # networks that downsample need a size divisible by powers of two
MAP_WORDS = ("defocus", "disparity", "depth", "map", "blur")


@dataclass(frozen=True)
class OnnxModel:
    """A model file with one input (1, 2 C, H, W), left before right, or two of (1, C, H, W).

    Values are float32, linear, in the unit of the capture, the right view corrected for
    vignetting. An output (1, 1, H, W) or (1, H, W) whose name contains one of ``MAP_WORDS`` is the
    defocus map; any other output is the all-in-focus image (1, C, H, W).
    """

    path: Path

    def __call__(self, capture: DualPixelCapture, calibration: Calibration) -> Prediction:
        """Run the model on the prepared views."""
        views = calibration.prepare(capture)
        height, width = views.shape[-2:]
        margin = ((0, 0), (0, 0), (0, -height % MULTIPLE_PX), (0, -width % MULTIPLE_PX))
        outputs = self._run(np.pad(views, margin, mode="edge"))
        cropped = {name: value[..., :height, :width] for name, value in outputs.items()}
        images = [value for name, value in cropped.items() if not _is_map(name)]
        maps = [value for name, value in cropped.items() if _is_map(name)]
        return Prediction(
            _squeezed(images[0], 3) if images else None, _squeezed(maps[0], 2) if maps else None
        )

    def signature(self, scene: str) -> str:
        """Hash of the model file, the same for every scene."""
        return hashlib.sha256(self._content()).hexdigest()

    def _run(self, views: FloatArray) -> dict[str, FloatArray]:
        session = self._session
        names = [entry.name for entry in session.get_inputs()]
        _, channels, height, width = views.shape
        if len(names) == 1:
            feeds = {names[0]: views.reshape(1, 2 * channels, height, width)}
        elif len(names) == 2:
            feeds = {name: view[np.newaxis] for name, view in zip(names, views, strict=True)}
        else:
            raise EvaluationError(
                f"The model {self.path} has {len(names)} inputs; export it with one input for "
                "both views or one for each."
            )
        try:
            outputs = session.run(None, feeds)
        except Exception as error:  # onnxruntime has no common exception class
            reason = str(error).strip().splitlines()[0]
            raise EvaluationError(
                f"The model {self.path} cannot be run on views of {height} x {width} px "
                f"({reason}); export it with dynamic height and width."
            ) from error
        return dict(zip((entry.name for entry in session.get_outputs()), outputs, strict=True))

    @cached_property
    def _session(self) -> Any:
        try:
            import onnxruntime
        except ImportError:
            raise EvaluationError(
                "ONNX models require onnxruntime; install it with "
                "pip install 'napari-dpdeblur[onnx]'."
            ) from None
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        try:
            return onnxruntime.InferenceSession(
                self._content(), options, providers=["CPUExecutionProvider"]
            )
        except EvaluationError:
            raise
        except Exception as error:  # onnxruntime has no common exception class
            raise EvaluationError(
                f"The model {self.path} cannot be loaded; use a file in the ONNX format."
            ) from error

    def _content(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise EvaluationError(
                f"The model {self.path} cannot be read: {error.strerror or error}."
            ) from error


def _is_map(name: str) -> bool:
    return any(word in name.lower() for word in MAP_WORDS)


def _squeezed(array: FloatArray, dimensions: int) -> FloatArray:
    """Remove leading axes of length 1, down to ``dimensions``."""
    while array.ndim > dimensions and array.shape[0] == 1:
        array = array[0]
    return np.asarray(array, np.float32)
