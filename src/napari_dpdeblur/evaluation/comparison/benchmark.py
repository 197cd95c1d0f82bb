"""Run and score methods on scenes; failures do not stop the benchmark."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from napari_dpdeblur.errors import DpDeblurError, EvaluationError
from napari_dpdeblur.evaluation.comparison.methods import NamedMethod
from napari_dpdeblur.evaluation.comparison.result_store import ResultStore, Row
from napari_dpdeblur.evaluation.comparison.scenes import (
    opened_or_reason,
    opened_scene,
    scene_depth,
)
from napari_dpdeblur.evaluation.ground_truth import Sign, find_defocus, sharp_path
from napari_dpdeblur.evaluation.scoring import Truth, score

if TYPE_CHECKING:
    from napari_dpdeblur.array_types import Crop
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.evaluation.baselines.prediction import Prediction


@dataclass(frozen=True)
class Benchmark:
    """Methods to compare on the scenes of a folder.

    ``optics`` are keyword arguments of `DualPixelCapture.with_optics`, for all captures.
    """

    data: Path
    calibration: Calibration
    methods: Sequence[NamedMethod]
    scenes: Sequence[str]
    store: ResultStore
    crop: Crop | None = None
    sign: Sign | None = None  # of the true defocus maps; None: as the files tell
    optics: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.crop is not None and not self.calibration.field.holds(*self.crop):
            top, left, height, width = self.crop
            raise EvaluationError(
                f"The crop of {height} x {width} px at ({top}, {left}) does not fit inside the "
                f"calibrated field of {self.calibration.field.height} x "
                f"{self.calibration.field.width} px."
            )

    @property
    def total(self) -> int:
        """Number of rows."""
        return len(self.methods) * len(self.scenes)

    @property
    def window(self) -> tuple[slice, slice]:
        """The compared part of the calibrated field."""
        if self.crop is None:
            return slice(None), slice(None)
        top, left, height, width = self.crop
        return slice(top, top + height), slice(left, left + width)

    def truth(self, scene: str) -> Truth:
        """Ground truth of a scene."""
        depth = scene_depth(self.data, scene)
        focus_m = self._focus_distance_m(scene) if depth is not None else None
        return Truth.read(self.data, scene, self.window, self.sign, depth, focus_m)

    def _focus_distance_m(self, scene: str) -> float | None:
        given = self.optics.get("focus_distance_m")
        if given is not None:
            return float(given)
        capture = opened_or_reason(self.data, scene)
        optics = None if isinstance(capture, str) else capture.optics
        return None if optics is None else optics.focus_distance_m

    def captured(self, scene: str) -> npt.NDArray[np.float32]:
        """Mean of the corrected views of a scene: (C, H, W)."""
        views = self.calibration.prepare(opened_scene(self.data, scene))[(..., *self.window)]
        return np.asarray(views.mean(axis=0), np.float32)

    def rows(self, before: Callable[[Row], None] = lambda row: None) -> Iterator[Row]:
        """Compute or load every row, scene by scene; ``before`` is called with the next row."""
        for scene in self.scenes:
            captured = opened_or_reason(self.data, scene)
            truth = self.truth(scene)
            for method in self.methods:
                row = Row(method.name, method.label, scene)
                before(row)
                if isinstance(captured, str):
                    yield replace(row, problems=(captured,))
                else:
                    yield self._row(row, method, captured.with_optics(**self.optics), truth)

    def _row(self, row: Row, method: NamedMethod, capture: DualPixelCapture, truth: Truth) -> Row:
        try:
            signature = self._signature(method, capture)
            stored = self.store.load(row, signature)
            if stored is not None:
                return stored
            start = time.perf_counter()
            prediction = method.predict(capture, self.calibration)
            elapsed_s = time.perf_counter() - start
            field = self.calibration.field.height, self.calibration.field.width
            prediction = _in_window(prediction, field, self.window)
            row = _scored(replace(row, time_s=round(elapsed_s, 3)), prediction, truth)
            self.store.save(row, signature, prediction)
            return row
        except DpDeblurError as error:
            return replace(row, problems=(str(error),))
        except (RuntimeError, MemoryError, ValueError, OSError) as error:
            reason = (str(error) or "no reason given").splitlines()[0]
            return replace(row, problems=(f"{type(error).__name__}: {reason}",))

    def _signature(self, method: NamedMethod, capture: DualPixelCapture) -> str:
        """SHA-256 of everything that affects a row."""
        truths = [find(self.data, capture.name) for find in (sharp_path, find_defocus)]
        depth = scene_depth(self.data, capture.name)
        truths += [] if depth is None else [depth]
        parts = [
            method.signature(capture.name),
            capture.source.sha256,
            self.calibration.content_hash(),
            [hashlib.sha256(p.read_bytes()).hexdigest() if p.is_file() else None for p in truths],
            self.crop,
            self.sign,
            *([dict(self.optics)] if self.optics else []),
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _in_window(
    prediction: Prediction, field: tuple[int, int], window: tuple[slice, slice]
) -> Prediction:
    """The compared part of what covers the whole field; fits may be of that part already."""

    def part(array: np.ndarray | None) -> Any:
        is_whole = array is not None and array.shape[-2:] == field
        return array[(..., *window)] if array is not None and is_whole else array

    return replace(
        prediction,
        all_in_focus=part(prediction.all_in_focus),
        defocus_map=part(prediction.defocus_map),
        residual=part(prediction.residual),
    )


def _scored(row: Row, prediction: Prediction, truth: Truth) -> Row:
    scores = score(prediction, truth)
    defocus_map = prediction.defocus_map
    return replace(
        row,
        values=scores.values,
        problems=scores.problems,
        warnings=scores.warnings,
        alignment=scores.alignment,
        mean_defocus=None if defocus_map is None else float(defocus_map.mean()),
    )
