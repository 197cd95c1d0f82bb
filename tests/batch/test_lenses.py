"""A batch without a calibration: groups of captures, one lens for each, kept for the next time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from napari_dpdeblur.batch.lenses import MAX_CAPTURES, LensGroup, group_captures, group_lens
from napari_dpdeblur.calibration import load_calibration, save_calibration
from napari_dpdeblur.capture.pgm import write_pgm_pair
from napari_dpdeblur.cli import main
from napari_dpdeblur.datasets.synthetic.scene import render_capture, synthetic_scene
from napari_dpdeblur.datasets.synthetic.simulation import simulate, synthetic_calibration
from napari_dpdeblur.errors import CalibrationError, CaptureError
from napari_dpdeblur.results import read_run

LARGE = "pixel_app_pgm_64x48"


def write(folder: Path, name: str, shape: tuple[int, int], seed: int = 0) -> None:
    capture = render_capture(synthetic_scene(*shape, seed=seed), pixel_aspect=2, seed=seed)
    write_pgm_pair(folder, name, *capture.raw[:, 0])


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Two captures of one size, one of another, and a damaged one."""
    folder = tmp_path / "mixed"
    folder.mkdir()
    write(folder, "a", (48, 64))
    write(folder, "b", (48, 64), 1)
    write(folder, "c", (32, 48))
    for side in ("left", "right"):
        (folder / f"d_{side}.pgm").write_bytes(b"P5\n48 16\n65535\n")
    return folder


def test_captures_are_grouped_by_camera_and_size(mixed):
    groups = group_captures([mixed])
    assert [group.name for group in groups] == [LARGE, "pixel_app_pgm_48x32"]
    names = [[files[0].name for files in group.captures] for group in groups]
    assert names == [["a_left.pgm", "b_left.pgm", "d_left.pgm"], ["c_left.pgm"]]
    assert len(groups[0].usable) == 2, "the damaged one is reported by the batch"


def test_nothing_that_can_be_opened(tmp_path):
    for side in ("left", "right"):
        (tmp_path / f"d_{side}.pgm").write_bytes(b"P5\n48 16\n65535\n")
    with pytest.raises(CaptureError, match=r"d_left\.pgm"):
        group_captures([tmp_path])


def test_a_lens_is_estimated_once_and_stored(mixed, tmp_path):
    group, output = group_captures([mixed])[0], tmp_path / "out"
    asked = []

    def estimate(captures, path):
        asked.append([capture.name for capture in captures])
        lens = synthetic_calibration(48, 64, 1, 1)
        save_calibration(lens, path)
        return lens

    path = group_lens(group, output, estimate)
    assert path == output / f"lens_{LARGE}.dpcal"
    assert group_lens(group, output, estimate) == path
    assert asked == [["a", "b"]]
    path.write_bytes(b"damaged")
    with pytest.raises(CalibrationError, match="is not a calibration file or is truncated"):
        group_lens(group, output, estimate)


def test_of_many_captures_a_few_are_taken():
    files = tuple((Path(f"{number}_left.pgm"),) for number in range(30))
    chosen = LensGroup("camera", files, files).chosen
    assert len(chosen) == MAX_CAPTURES
    assert (chosen[0], chosen[-1]) == (files[0], files[-1])
    assert LensGroup("camera", files, files[:1]).chosen == [files[0]]


def test_identical_views_give_no_lens(tmp_path):
    write(tmp_path, "a", (48, 64))
    left = (tmp_path / "a_left.pgm").read_bytes()
    (tmp_path / "a_right.pgm").write_bytes(left)
    (group,) = group_captures([tmp_path])
    with pytest.raises(CalibrationError, match="the two views of each capture are identical"):
        group_lens(group, tmp_path / "out", lambda captures, path: pytest.fail("not asked"))


def test_a_link_that_leads_nowhere_is_not_written_through(mixed, tmp_path):
    group, output = group_captures([mixed])[0], tmp_path / "out"
    output.mkdir()
    group.lens_file(output).symlink_to(tmp_path / "elsewhere.dpcal")
    with pytest.raises(CalibrationError, match="is a link to a file that does not exist"):
        group_lens(group, output, lambda captures, path: pytest.fail("estimated"))
    assert not (tmp_path / "elsewhere.dpcal").exists()


def test_a_batch_without_a_calibration(tmp_path, capsys):
    pytest.importorskip("distributed", reason="the extra distributed is not installed")
    folder, output = tmp_path / "captures", tmp_path / "out"
    folder.mkdir()
    capture = simulate(288, 384).capture
    write_pgm_pair(folder, "scene", *capture.raw[:, 0])
    brighter = replace(capture, raw=np.minimum(capture.raw * np.float32(1.01), 65535).astype("u2"))
    write_pgm_pair(folder, "other", *brighter.raw[:, 0])
    words = ["batch", str(folder), "-o", str(output), "--preset", "preview", "--layers", "4"]
    words += ["--workers", "1", "--json"]
    assert main(words) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["computed"] == 2
    name = "lens_pixel_app_pgm_384x288.dpcal"
    assert f"estimating {name} from 2 captures." in printed.err
    assert f"verdict on {name}: " in printed.err
    lens = load_calibration(output / name)
    assert lens.source["captures"] == ["other", "scene"]
    for run in ("scene", "other"):
        result = read_run(output / run)
        assert result.calibration.content_hash() == lens.content_hash()
        assert any("estimated from 2 captures" in note for note in result.notes)
    assert main(words) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["finished_before"] == 2
    assert f"using the lens {name} of an earlier batch." in printed.err
