"""The benchmark of new views: perfect layers score perfectly, blurred ones do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

import new_views
from napari_dpdeblur.datasets.synthetic.scene import synthetic_scene
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results import Result, write_run

SIZE, SEED = (192, 256), 3


@pytest.fixture(scope="module")
def perfect() -> Result:
    scene = new_views.as_exposed(synthetic_scene(*SIZE, SEED))
    return Result(
        mpi=MultiplaneImage(scene.color, scene.alpha, scene.defocus_scales),
        all_in_focus=scene.all_in_focus,
        defocus_map=scene.defocus_map,
        confidence=np.ones(SIZE, np.float32),
    )


def test_the_true_layers_give_the_true_views(perfect: Result, tmp_path: Path) -> None:
    scores = new_views.score(write_run(perfect, tmp_path / "run"), SEED)
    for name in ("parallax_db", "disoccluded_db", "near_db", "refocused_edges_db"):
        assert getattr(scores, name) > 55, name
    assert scores.ceiling_db > 38  # the image mixes what meets in a pixel of an outline
    assert scores.map_error == pytest.approx(0, abs=1e-5)
    assert scores.edge_error == pytest.approx(0, abs=1e-5)


def test_worse_layers_have_lower_scores(perfect: Result, tmp_path: Path, capsys) -> None:
    flat = np.full_like(perfect.mpi_color, float(perfect.mpi_color.mean()))
    hidden = 1 - perfect.mpi.visibility()
    color = (1 - hidden) * perfect.mpi_color + hidden * flat  # a fill that knows nothing
    blurred = cv2.GaussianBlur(perfect.defocus_map, (0, 0), 6)
    mpi = MultiplaneImage(color, perfect.mpi_alpha, perfect.defocus_scales)
    worse = replace(perfect, mpi=mpi, defocus_map=blurred)
    runs = [write_run(r, tmp_path / n) for r, n in ((perfect, "perfect"), (worse, "worse"))]
    assert new_views.main([*map(str, runs), "--seed", str(SEED)]) == 0
    _, best, bad = capsys.readouterr().out.splitlines()
    best, bad = (
        dict(zip(new_views.Scores.__annotations__, map(float, line.split()[:-1]), strict=True))
        for line in (best, bad)
    )
    assert bad["disoccluded_db"] < best["disoccluded_db"] - 20
    assert bad["ceiling_db"] > 38, "the geometry and the image are still perfect"
    assert bad["edge_error"] > 2 * bad["map_error"] > 0.01
