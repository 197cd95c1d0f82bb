"""Commands without a calibration: the lens is estimated, or read from the run folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tifffile

from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.calibration.kept_estimate import INPUTS, checkpoint_of
from napari_dpdeblur.cli import fit as fit_module
from napari_dpdeblur.cli import main
from napari_dpdeblur.errors import FitError
from napari_dpdeblur.results import read_run
from napari_dpdeblur.results.provenance import read_provenance, write_provenance

QUICK = ("--preset", "preview", "--layers", "4")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated capture that is large enough to estimate a lens from, without its lens."""
    folder = tmp_path_factory.mktemp("lens") / "scene"
    assert main(["simulate", "-o", str(folder), "--size", "384x288"]) == 0
    (folder / "synthetic.dpcal").unlink()
    (folder / "mpi.tif").unlink()
    return folder


@pytest.fixture(scope="module")
def fitted(scene: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with an estimated lens and known distances."""
    output = tmp_path_factory.mktemp("fitted") / "run"
    assert main(["fit", str(scene), "-o", str(output), *QUICK]) == 0
    return output


def test_a_fit_without_a_calibration_keeps_its_lens(scene, tmp_path, capsys):
    output = tmp_path / "run"
    assert main(["fit", str(scene), "-o", str(output), *QUICK, "--json"]) == 0
    printed = capsys.readouterr()
    assert "no calibration was given: estimating the lens from this capture." in printed.err
    note = "The lens was estimated from this capture (verdict: "
    assert printed.err.count(note) == 1, "before the fit, and not again"
    assert any(told.startswith(note) for told in json.loads(printed.out)["notes"])
    result = read_run(output)
    assert any(told.startswith(note) for told in result.notes)
    assert result.calibration.is_estimated
    assert load_calibration(output / "lens.dpcal").frame_shape == (288, 384)
    assert result.all_in_focus.shape == (1, 288, 384)
    assert [path.name for path in tmp_path.iterdir()] == ["run"], "nothing is left beside it"


def test_an_interrupted_fit_continues_with_its_lens(scene, tmp_path, monkeypatch, capsys):
    output = tmp_path / "run"

    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    words = ["fit", str(scene), "-o", str(output), *QUICK]
    with monkeypatch.context() as patch:
        patch.setattr(fit_module, "_fitted", interrupted)
        assert main(words) == 130
    assert "add --resume to the same command to continue this fit." in capsys.readouterr().err
    kept = fit_module.lens_path(output)
    assert [path.name for path in tmp_path.iterdir()] == ["run.lens.dpcal"]
    modified = kept.stat().st_mtime_ns
    first = load_calibration(kept)
    assert first.source[INPUTS]
    with monkeypatch.context() as patch:
        patch.setattr(fit_module, "_fitted", interrupted)
        assert main([*words, "--resume"]) == 130
    assert kept.stat().st_mtime_ns == modified, "it was not estimated again"
    assert main([*words, "--resume"]) == 0
    assert read_run(output).calibration.content_hash() == first.content_hash()
    assert not kept.exists()
    assert not checkpoint_of(kept).exists()


def test_known_distances_give_metres(scene, fitted, tmp_path, capsys):
    lens = ["--calibration", str(fitted / "lens.dpcal")]
    defocus = read_run(fitted).defocus_map
    middle = defocus[2:-2, 2:-2]
    near, far = (
        np.unravel_index(pick, middle.shape) for pick in (middle.argmin(), middle.argmax())
    )
    points = [f"{near[0] + 2},{near[1] + 2},0.4", f"{far[0] + 2},{far[1] + 2},2"]
    words = ["fit", str(scene), "-o", str(tmp_path / "run"), *QUICK, *lens, "--json"]
    for point in points:
        words += ["--known-distance", point]
    assert main(words) == 0
    report = json.loads(capsys.readouterr().out)
    result = read_run(tmp_path / "run")
    assert report["lens_constants"] == pytest.approx(result.lens_constants)
    assert load_calibration(tmp_path / "run" / "lens.dpcal").lens_constants is not None
    distances = tifffile.imread(tmp_path / "run" / "distance_map.tif")
    at_near = distances[near[0] + 2, near[1] + 2]
    assert at_near < distances[far[0] + 2, far[1] + 2]
    assert at_near < 1.0


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        (["10,10,1"], "One known distance is not enough"),
        (["10,10,1", "500,10,2"], "2 m at row 500, column 10 lies outside the result of 288 x 384"),
        (["10,10,1", "20,10,1"], "The known distances are all about 1 m"),
    ],
)
def test_known_distances_that_say_nothing(scene, tmp_path, failure, points, sentence):
    words = [word for point in points for word in ("--known-distance", point)]
    assert sentence in failure("fit", scene, "-o", tmp_path / "run", *words)
    assert not list(tmp_path.iterdir()), "found before the lens is estimated"


def test_a_crop_outside_is_found_before_the_lens_is_estimated(scene, tmp_path, failure):
    said = failure("fit", scene, "-o", tmp_path / "run", "--crop", "0,0,300,50")
    assert "300 x 50 px at (0, 0) does not lie inside the capture of 288 x 384 px" in said
    assert not list(tmp_path.iterdir())


def test_distances_that_contradict_the_map_do_not_cost_the_fit(scene, fitted, tmp_path, failure):
    # the same point at two distances
    words = ["--known-distance", "50,50,1", "--known-distance", "50,50,2"]
    lens = ("--calibration", fitted / "lens.dpcal")
    output = tmp_path / "run"
    said = failure("fit", scene, "-o", output, *lens, *QUICK, *words)
    assert "The defocus is the same" in said
    assert said.endswith("The run was saved without distances.")
    assert read_run(output).lens_constants is None
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_failed_fit_leaves_no_lens_behind(scene, tmp_path, monkeypatch, capsys):
    def failed(*given: object) -> None:
        raise FitError("The fit ran out of memory.")

    monkeypatch.setattr(fit_module, "_fitted", failed)
    assert main(["fit", str(scene), "-o", str(tmp_path / "run"), *QUICK, "--json"]) == 2
    assert "ran out of memory" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_known_distances_within_a_crop(scene, fitted, tmp_path, failure):
    words = ["--known-distance", "10,10,1", "--known-distance", "90,10,2", "--crop", "0,0,64,64"]
    lens = ("--calibration", fitted / "lens.dpcal")
    said = failure("fit", scene, "-o", tmp_path / "run", *lens, *words)
    assert "lies outside the result of 64 x 64 px" in said


def test_a_run_is_rendered_with_its_own_lens(fitted, tmp_path):
    assert main(["render", str(fitted), "-o", str(tmp_path / "own")]) == 0
    lens = ["--calibration", str(fitted / "lens.dpcal")]
    given = ["render", str(fitted / "mpi.tif"), *lens, "-o", str(tmp_path / "given")]
    assert main(given) == 0
    for name in ("left.tif", "right.tif"):
        own, same = (tifffile.imread(tmp_path / folder / name) for folder in ("own", "given"))
        np.testing.assert_array_equal(own, same)


def test_a_run_is_rendered_as_its_fit_used_the_lens(fitted, tmp_path):
    """A run that does not say how, as of older versions, is rendered with kernels as stored."""
    old = tmp_path / "old"
    shutil.copytree(fitted, old)
    provenance = read_provenance(old / "run.yaml")
    described = provenance.pop("lens_model")
    assert described["is_centred"]
    assert described["is_exact"]
    write_provenance(old / "run.yaml", provenance)
    for run in (fitted, old):
        assert main(["render", str(run), "-o", str(tmp_path / f"{run.name} views")]) == 0
    new, before = (tifffile.imread(tmp_path / f"{n} views/left.tif") for n in (fitted.name, "old"))
    assert np.abs(new - before).mean() > 1e-4 * new.mean()


def test_movies_are_rendered_beside_the_views(fitted, tmp_path, capsys):
    views = tmp_path / "views"
    words = ["--movie", "parallax", "--movie", "turntable", "--movie", "focus"]
    assert main(["render", str(fitted), "-o", str(views), *words, "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert files == ["left.tif", "right.tif", "parallax.mp4", "turntable.mp4", "focus.mp4"]
    assert sorted(path.name for path in views.iterdir()) == sorted(files)


def test_a_run_of_a_crop_is_rendered_where_it_lies(scene, fitted, tmp_path):
    lens = ["--calibration", str(fitted / "lens.dpcal")]
    crop = ["--crop", "100,120,96,96"]
    run = str(tmp_path / "run")
    assert main(["fit", str(scene), *lens, *crop, *QUICK, "-o", run]) == 0
    assert main(["render", run, "-o", str(tmp_path / "own")]) == 0
    assert main(["render", run, *lens, *crop, "-o", str(tmp_path / "given")]) == 0
    own, same = (tifffile.imread(tmp_path / folder / "left.tif") for folder in ("own", "given"))
    np.testing.assert_array_equal(own, same)


def test_a_run_without_a_lens_needs_a_calibration(fitted, tmp_path, failure):
    old = tmp_path / "old"
    shutil.copytree(fitted, old)
    (old / "lens.dpcal").unlink()
    said = failure("render", old, "-o", tmp_path / "views")
    assert "comes without a lens.dpcal; give the calibration of the fit with --calibration" in said


def test_a_baseline_without_a_calibration(scene, tmp_path, capsys):
    words = ["baseline", "wiener", str(scene), "-o", str(tmp_path / "wiener"), "--json"]
    assert main(words) == 0
    assert "The lens was estimated from this capture" in capsys.readouterr().err
    assert tifffile.imread(tmp_path / "wiener" / "all_in_focus.tif").shape == (288, 384)
