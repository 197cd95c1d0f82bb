"""Run and score methods on scenes; failures do not stop the benchmark."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from napari_dpdeblur.errors import CaptureError, DpDeblurError, EvaluationError
from napari_dpdeblur.evaluation.comparison.methods import NamedMethod
from napari_dpdeblur.evaluation.comparison.result_store import ResultStore, Row
from napari_dpdeblur.evaluation.ground_truth import (
    DEFOCUS_FOLDER,
    MAP_SUFFIXES,
    SHARP_FOLDER,
    TRUTH_SUFFIX,
    Sign,
    find_defocus,
    sharp_path,
)
from napari_dpdeblur.evaluation.scoring import Truth, score

if TYPE_CHECKING:
    from napari_dpdeblur.array_types import Crop
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.evaluation.baselines.prediction import Prediction


@dataclass(frozen=True)
class Benchmark:
    """Methods to compare on the scenes of a folder in the published layout."""

    data: Path
    calibration: Calibration
    methods: Sequence[NamedMethod]
    scenes: Sequence[str]
    store: ResultStore
    crop: Crop | None = None
    sign: Sign | None = None  # of the true defocus maps; None: as the files tell

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
        return Truth.read(self.data, scene, self.window, self.sign)

    def captured(self, scene: str) -> npt.NDArray[np.float32]:
        """Mean of the corrected views of a scene: (C, H, W)."""
        views = self.calibration.prepare(opened_scene(self.data, scene))[(..., *self.window)]
        return np.asarray(views.mean(axis=0), np.float32)

    def rows(self, before: Callable[[Row], None] = lambda row: None) -> Iterator[Row]:
        """Compute or load every row, scene by scene; ``before`` is called with the next row."""
        for scene in self.scenes:
            captured = _opened(self.data, scene)
            truth = self.truth(scene)
            for method in self.methods:
                row = Row(method.name, method.label, scene)
                before(row)
                if isinstance(captured, str):
                    yield replace(row, problems=(captured,))
                else:
                    yield self._row(row, method, captured, truth)

    def _row(self, row: Row, method: NamedMethod, capture: DualPixelCapture, truth: Truth) -> Row:
        try:
            signature = self._signature(method, capture)
            stored = self.store.load(row, signature)
            if stored is not None:
                return stored
            start = time.perf_counter()
            prediction = method.predict(capture, self.calibration)
            elapsed_s = time.perf_counter() - start
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
        parts = [
            method.signature(capture.name),
            capture.source.sha256,
            self.calibration.content_hash(),
            [hashlib.sha256(p.read_bytes()).hexdigest() if p.is_file() else None for p in truths],
            self.crop,
            self.sign,
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def find_scenes(data: Path) -> list[str]:
    """Names of all captures and ground truths in a folder."""
    truths = [
        path.name.removesuffix(suffix)
        for folder, suffixes in ((SHARP_FOLDER, (TRUTH_SUFFIX,)), (DEFOCUS_FOLDER, MAP_SUFFIXES))
        for suffix in suffixes
        for path in (data / folder).glob(f"*{suffix}")
    ]
    scenes = sorted({*_capture_files(data), *truths})
    if not scenes:
        raise EvaluationError(
            f"The data folder {data} contains no captures or ground truth; expected files such as "
            f"001_left.png, 001_right.png and {SHARP_FOLDER}/001{TRUTH_SUFFIX}."
        )
    return scenes


def _capture_files(data: Path) -> dict[str, tuple[Path, ...]]:
    """Files of each capture in a folder, by scene name."""
    from napari_dpdeblur.capture import capture_name, find_captures

    if not data.is_dir():
        raise EvaluationError(f"The data folder {data} does not exist; check the path.")
    return {capture_name(files): files for files in find_captures(data)}


def opened_scene(data: Path, scene: str) -> DualPixelCapture:
    """The capture of a scene; CaptureError if it cannot be opened."""
    capture = _opened(data, scene)
    if isinstance(capture, str):
        raise CaptureError(capture)
    return capture


def _opened(data: Path, scene: str) -> DualPixelCapture | str:
    """The capture of a scene, or why it cannot be opened."""
    from napari_dpdeblur.capture import open_capture

    files = _capture_files(data).get(scene, (data / f"{scene}_left.png",))
    try:
        return open_capture(*files)
    except CaptureError as error:
        return str(error)


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
