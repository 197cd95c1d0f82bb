"""Score a prediction with all metrics for which there is ground truth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.evaluation.baselines.prediction import Prediction
from napari_dpdeblur.evaluation.depth_truth import defocus_of_depth, depth_error_m, load_depth_m
from napari_dpdeblur.evaluation.ground_truth import (
    DefocusTruth,
    Sign,
    find_defocus,
    load_defocus,
    load_sharp,
    sharp_path,
)
from napari_dpdeblur.evaluation.metrics import defocus_scores, image_scores

METRICS = ("psnr_db", "ssim", "mae", "aiwe1", "aiwe2", "one_minus_spearman")
RIGHT_SIGN = "right_sign"  # only against signed ground truth
DEPTH_ERROR = "depth_error_m"  # only against measured depth
# All scenes aligned by the transform of one of them, as published (comparison/one_alignment.py).
ONE_ALIGNMENT = ("psnr_db_one", "ssim_one", "mae_one")
ALL_METRICS = (*METRICS, RIGHT_SIGN, DEPTH_ERROR, *ONE_ALIGNMENT)
LARGER_IS_BETTER = ("psnr_db", "ssim", RIGHT_SIGN, "psnr_db_one", "ssim_one")


@dataclass(frozen=True)
class Scores:
    """Values by metric (a subset of ``ALL_METRICS``), and why others are missing.

    ``alignment`` (2, 3) maps pixels of the ground truth to pixels of the image.
    """

    values: dict[str, float] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    alignment: list[list[float]] | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Truth:
    """Ground truth of a scene; a string says why a part is missing.

    An empty string: the data have no such truth at all. ``depth_m`` (H, W) is what the true
    defocus was computed from, if it was.
    """

    sharp: FloatArray | str
    defocus: DefocusTruth | str
    depth_m: FloatArray | None = None

    @classmethod
    def read(
        cls,
        folder: Path,
        scene: str,
        window: tuple[slice, slice] = (slice(None), slice(None)),
        sign: Sign | None = None,
        depth: Path | None = None,
        focus_distance_m: float | None = None,
    ) -> Truth:
        """Read both files, cropped to ``window``; ``sign`` is that of the defocus map.

        Files of the size of the window are taken as that part. Where there is no defocus map, that
        of the measured ``depth`` is taken.
        """
        if depth is not None and not find_defocus(folder, scene).is_file():
            return cls._of_depth(folder, scene, window, depth, focus_distance_m)
        sharp: FloatArray | str
        defocus: DefocusTruth | str
        try:
            sharp = _part(load_sharp(sharp_path(folder, scene)), window)
        except EvaluationError as error:
            sharp = str(error)
        try:
            whole = load_defocus(find_defocus(folder, scene), sign)
            map_, confidence = (_part(a, window) for a in (whole.defocus, whole.confidence))
            defocus = DefocusTruth(map_, confidence, whole.sign)
        except EvaluationError as error:
            defocus = str(error)
        return cls(sharp, defocus)

    @classmethod
    def _of_depth(
        cls,
        folder: Path,
        scene: str,
        window: tuple[slice, slice],
        depth: Path,
        focus_distance_m: float | None,
    ) -> Truth:
        path = sharp_path(folder, scene)
        sharp = _part(load_sharp(path), window) if path.is_file() else ""
        depth_m = _part(load_depth_m(depth), window)
        return cls(sharp, defocus_of_depth(depth_m, focus_distance_m), depth_m)


def _part(array: FloatArray, window: tuple[slice, slice]) -> FloatArray:
    """The window of an array (..., H, W), unless it already has the size of the window."""
    size = tuple(None if side.stop is None else side.stop - side.start for side in window)
    return array if array.shape[-2:] == size else array[(..., *window)]


def score(prediction: Prediction, truth: Truth) -> Scores:
    """Score image and defocus map independently of each other."""
    parts = [_score_image(prediction.all_in_focus, truth.sharp)]
    parts.append(_score_map(prediction.defocus_map, truth))
    if prediction.all_in_focus is None and prediction.defocus_map is None:
        parts.append(Scores(problems=("The method returned neither an image nor a defocus map.",)))
    return Scores(
        values={name: value for part in parts for name, value in part.values.items()},
        problems=_joined(part.problems for part in parts),
        alignment=parts[0].alignment,
        warnings=_joined(part.warnings for part in parts),
    )


def _joined(groups: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sentence for group in groups for sentence in group)


def _score_image(image: FloatArray | None, truth: FloatArray | str) -> Scores:
    if image is None:
        return Scores()
    if isinstance(truth, str):
        return Scores(problems=(truth,) if truth else ())
    try:
        found = image_scores(image, truth)
    except EvaluationError as error:
        return Scores(problems=(str(error),))
    values = {"psnr_db": found.psnr_db, "ssim": found.ssim, "mae": found.mae}
    warning = found.alignment.warning
    matrix = np.asarray(found.alignment.matrix, np.float64).tolist()
    return Scores(values, (), matrix, () if warning is None else (warning,))


def _score_map(defocus_map: FloatArray | None, truth: Truth) -> Scores:
    if defocus_map is None:
        return Scores()
    true = truth.defocus
    if isinstance(true, str):
        return Scores(problems=(true,) if true else ())
    try:
        found = defocus_scores(defocus_map, true.defocus, true.confidence, true.sign)
    except EvaluationError as error:
        return Scores(problems=(str(error),))
    values = {name: getattr(found, name) for name in ("aiwe1", "aiwe2", "one_minus_spearman")}
    signed = {} if found.right_sign is None else {RIGHT_SIGN: found.right_sign}
    depth = truth.depth_m
    metres = {} if depth is None else {DEPTH_ERROR: depth_error_m(defocus_map, depth)}
    return Scores(values | signed | metres)
