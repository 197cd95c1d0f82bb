"""The benchmark of new views: perfect layers score perfectly, blurred ones do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

import new_views
import results_file
from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.datasets.synthetic.scene import synthetic_scene
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results import Result, write_run

SIZE, SEED = (192, 256), 3


@pytest.fixture(scope="module")
def lens() -> Calibration:
    return new_views.camera(*SIZE)


@pytest.fixture(scope="module")
def perfect() -> Result:
    scene = new_views.as_exposed(synthetic_scene(*SIZE, SEED))
    return Result(
        mpi=MultiplaneImage(scene.color, scene.alpha, scene.defocus_scales),
        all_in_focus=scene.all_in_focus,
        defocus_map=scene.defocus_map,
        confidence=np.ones(SIZE, np.float32),
    )


@pytest.fixture(scope="module")
def worse(perfect: Result) -> Result:
    flat = np.full_like(perfect.mpi_color, float(perfect.mpi_color.mean()))
    hidden = 1 - perfect.mpi.visibility()
    color = (1 - hidden) * perfect.mpi_color + hidden * flat  # a fill that knows nothing
    blurred = cv2.GaussianBlur(perfect.defocus_map, (0, 0), 6)
    mpi = MultiplaneImage(color, perfect.mpi_alpha, perfect.defocus_scales)
    return replace(perfect, mpi=mpi, defocus_map=blurred)


@pytest.fixture
def fitted(perfect: Result, worse: Result, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Fits that this version does perfectly and the other one worse."""

    def fit(source: Path, folder: Path, run: Path) -> None:
        assert (folder / "synthetic_left.pgm").is_file()
        assert (folder / "synthetic.dpcal").is_file()
        write_run(perfect if source == new_views.OWN else worse, run)

    monkeypatch.setattr(new_views, "fit", fit)
    return fit


def test_the_true_layers_give_the_true_views(
    perfect: Result, lens: Calibration, tmp_path: Path
) -> None:
    scores = new_views.score(write_run(perfect, tmp_path / "run"), SEED, lens)
    for name in ("parallax_db", "disoccluded_db", "near_db", "refocused_edges_db"):
        assert getattr(scores, name) > 55, name
    assert scores.ceiling_db > 38  # the image mixes what meets in a pixel of an outline
    assert scores.map_error == pytest.approx(0, abs=1e-5)
    assert scores.edge_error == pytest.approx(0, abs=1e-5)


def test_worse_layers_have_lower_scores(worse: Result, lens: Calibration, tmp_path: Path) -> None:
    bad = new_views.score(write_run(worse, tmp_path / "run"), SEED, lens)
    assert bad.disoccluded_db < 35
    assert bad.ceiling_db > 38, "the geometry and the image are still perfect"
    assert bad.edge_error > 2 * bad.map_error > 0.01


def test_both_versions_are_compared(
    fitted: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setattr(results_file.save_figures, "__defaults__", (tmp_path,))
    size = ["--size", *map(str, SIZE), "--seeds", str(SEED)]
    given = [*size, "--against", str(tmp_path / "src"), "--keep", str(tmp_path / "kept")]
    assert new_views.main([*given, "--check", "--save"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "All limits are met."
    figures = json.loads((tmp_path / "new_views.json").read_text("utf-8"))["figures"]
    assert figures[f"scene_{SEED}"]["this"] == figures["mean"]["this"]
    assert figures["mean"]["other"]["edge_error"] > 0.01


def test_each_limit_counts() -> None:
    other = new_views.Scores(*[20.0] * 8, 0.1, 0.2)
    better = replace(
        other, parallax_db=20.6, near_db=20.6, middle_db=20.6, far_db=20.6, edge_error=0.15
    )
    assert new_views.missed_limits(better, other) == []
    for name in new_views.LEAST_GAIN_DB:
        (missed,) = new_views.missed_limits(replace(better, **{name: 19.9}), other)
        assert missed.startswith(name)
    (missed,) = new_views.missed_limits(replace(better, edge_error=0.17), other)
    assert missed == "edge_error is 0.85 of the other's, required: 0.8"


def test_the_lens_is_centred_unless_it_should_not_be() -> None:
    def offset_px(lens: Calibration) -> float:
        mean = lens.kernels.mean((0, 1))
        at = np.arange(mean.shape[-1]) - mean.shape[-1] // 2
        return float((mean * at).sum())

    assert abs(offset_px(new_views.camera(*SIZE))) < 0.1
    assert offset_px(new_views.camera(*SIZE, is_centred=False)) == pytest.approx(-1.2, abs=0.3)
