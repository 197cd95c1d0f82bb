"""The published protocol beside ours: all scenes aligned by the transform of one of them.

Xin et al. (ICCV 2021) estimate the affine transform of each method on one scene and use it for all;
we align each scene. Both are reported, because the former is lower by about a decibel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.evaluation.alignment import Alignment
from napari_dpdeblur.evaluation.metrics import image_scores

if TYPE_CHECKING:
    from napari_dpdeblur.evaluation.comparison.benchmark import Benchmark
    from napari_dpdeblur.evaluation.comparison.result_store import Row


def with_one_alignment(
    benchmark: Benchmark, rows: Sequence[Row], scene: str | None = None
) -> list[Row]:
    """Add the image scores with the alignment that each method has on ``scene``.

    None: the first scene of the method that could be aligned. Methods without such a scene, and
    benchmarks of one scene, keep their rows as they are.
    """
    check_align_scene(scene, benchmark.scenes)
    if len(benchmark.scenes) < 2:
        return list(rows)
    shared = {method: _alignment(rows, method, scene) for method in {row.method for row in rows}}
    return [_rescored(benchmark, row, shared[row.method]) for row in rows]


def check_align_scene(scene: str | None, scenes: Sequence[str]) -> None:
    """Raise EvaluationError for a scene that is not compared."""
    if scene is not None and scene not in scenes:
        raise EvaluationError(
            f"The scene {scene} for the alignment is not among the compared scenes; choose one of "
            f"{', '.join(scenes)}."
        )


def _alignment(rows: Iterable[Row], method: str, scene: str | None) -> Alignment | None:
    for row in rows:
        is_meant = row.method == method and scene in (None, row.scene)
        if is_meant and row.alignment is not None and not row.warnings:
            return Alignment(np.array(row.alignment))
    return None


def _rescored(benchmark: Benchmark, row: Row, alignment: Alignment | None) -> Row:
    truth = benchmark.truth(row.scene).sharp if "psnr_db" in row.values else ""
    image = None if isinstance(truth, str) else benchmark.store.prediction(row).all_in_focus
    if alignment is None or image is None or isinstance(truth, str):
        return row
    scores = image_scores(image, truth, alignment)
    found = {"psnr_db_one": scores.psnr_db, "ssim_one": scores.ssim, "mae_one": scores.mae}
    return replace(row, values={**row.values, **found})
