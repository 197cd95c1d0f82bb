"""`napari-dpdeblur calibrate`, as a user calls it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from napari_dpdeblur.calibration import load_calibration, save_calibration
from napari_dpdeblur.calibration.target.pattern import Target
from napari_dpdeblur.cli import main
from napari_dpdeblur.datasets.synthetic.calibration_captures import simulate_shoot, write_shoot
from napari_dpdeblur.datasets.synthetic.screen_pose import Pose
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Captures of a small camera: 480 x 384 px, discs every 36 px."""
    folder = tmp_path_factory.mktemp("calibrate")
    target = Target.for_screen(560, 440, 36.0)
    lens = synthetic_calibration(384, 480)
    shoot = simulate_shoot(target, lens, Pose(scale=1.0, rotation_deg=2.0), burst=2, sheets=2)
    write_shoot(shoot, target, folder)
    return folder


def arguments(folder: Path, output: Path, **changes: Path) -> list[str]:
    paths = {name: folder / name for name in ("discs", "white", "black", "sheets")} | changes
    given = [word for name, path in paths.items() for word in (f"--{name}", str(path))]
    target = ["--target", str(changes.get("target", folder / "target.json"))]
    return ["calibrate", "run", *given, *target, "-o", str(output), "--grid", "3x2"]


@pytest.fixture(scope="module")
def result(folder: Path) -> Path:
    assert main([*arguments(folder, folder / "out.dpcal"), "--kernel-size", "45"]) == 0
    return folder / "out.dpcal"


def test_run_writes_a_calibration_with_verdict(result):
    calibration = load_calibration(result)
    assert calibration.verdict["grade"] in ("good", "acceptable")
    assert (calibration.rows, calibration.cols) == (2, 3)
    assert calibration.frame_shape == (384, 480)
    assert calibration.vignetting is not None
    assert len(calibration.source["captures"]["discs"]) == 2


def test_an_earlier_calibration_is_not_overwritten(folder, result, failure):
    before = result.read_bytes()
    message = failure(*arguments(folder, result))
    assert "out.dpcal already exists and is not overwritten; choose another name" in message
    assert result.read_bytes() == before


def test_the_picture_is_checked_before_the_run(folder, tmp_path, failure):
    picture = tmp_path / "holiday.png"
    picture.write_bytes(b"holiday")
    output = tmp_path / "new.dpcal"
    message = failure(*arguments(folder, output), "--picture", str(picture))
    assert "holiday.png already exists and is not overwritten" in message
    assert picture.read_bytes() == b"holiday"
    message = failure(*arguments(folder, output), "--picture", str(tmp_path / "no" / "a.png"))
    assert "a.png cannot be written" in message
    assert not output.exists()
    given = ["--picture", str(picture), "--overwrite", "--kernel-size", "23"]
    assert main([*arguments(folder, output), *given]) == 0
    assert cv2.imread(str(picture)).std() > 10


def test_show_prints_the_verdict_and_writes_the_picture(result, tmp_path, capsys):
    picture = tmp_path / "picture.png"
    assert main(["calibrate", "show", str(result), "--picture", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "verdict: " in out
    assert "tile_coverage" in out
    assert cv2.imread(str(picture)).std() > 10


def test_show_as_json_is_for_scripts(result, capsys):
    assert main(["calibrate", "show", str(result), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"]["grade"]
    assert Path(f"{result}.png").exists()


def test_show_of_a_calibration_without_verdict(tmp_path, capsys):
    save_calibration(synthetic_calibration(96, 128), tmp_path / "lens.dpcal")
    assert main(["calibrate", "show", str(tmp_path / "lens.dpcal")]) == 0
    assert "has no verdict" in capsys.readouterr().out


def test_target_writes_everything_for_a_screen(tmp_path, capsys):
    output = tmp_path / "target"
    assert main(["calibrate", "target", "--screen", "1280x720", "-o", str(output)]) == 0
    names = {path.name for path in output.iterdir()}
    assert names == {"discs.png", "white.png", "black.png", "slides.html", "target.json"}
    assert "every 32 px" in capsys.readouterr().out


def test_target_for_an_impossible_screen(tmp_path, failure):
    given = ["calibrate", "target", "--screen", "100x100", "-o", str(tmp_path / "t")]
    assert "is too small for discs" in failure(*given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", ["1920", "axb", "1x2x3"])
def test_a_size_that_is_none(size, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["calibrate", "target", "--screen", size, "-o", str(tmp_path / "t")])
    assert "must be WIDTHxHEIGHT, such as 1920x1080" in capsys.readouterr().err


def test_distance_from_two_calibrations(result, tmp_path, capsys, failure):
    copy = tmp_path / "base.dpcal"
    shutil.copy(result, copy)
    calibration = load_calibration(result)
    # Half the disparity: move the kernels of both views together by a quarter of it each.
    shift = round(float(np.abs(calibration.verdict["mean_disparity_px"])) / 4)
    kernels = np.stack(
        [np.roll(calibration.kernels[:, v], s, axis=-1) for v, s in ((0, shift), (1, -shift))], 1
    )
    near = tmp_path / "near.dpcal"
    save_calibration(type(calibration)(**{**vars(calibration), "kernels": kernels}), near)
    given = [
        "calibrate",
        "distance",
        str(copy),
        "--at",
        "0.45",
        str(copy),
        "--at",
        "0.3",
        str(near),
    ]
    assert main(given) == 0
    a, b = load_calibration(copy).lens_constants
    assert a + b / 0.45 == pytest.approx(1.0, abs=1e-6)
    assert a + b / 0.3 < 0.8
    assert main(["calibrate", "distance", str(copy), "--constants", "1.5", "-0.2"]) == 0
    assert load_calibration(copy).lens_constants == (1.5, -0.2)
    wrong = ["calibrate", "distance", str(copy), "--at", "far", str(copy)]
    capsys.readouterr()
    assert "far is not a distance in metres" in failure(*wrong)


def test_simulate_writes_what_run_needs(tmp_path):
    output = tmp_path / "sim"
    given = ["calibrate", "simulate", "-o", str(output), "--size", "480x384", "--burst", "1"]
    assert main(given) == 0
    names = {path.name for path in output.iterdir()}
    assert names == {"discs", "white", "black", "sheets", "target.json", "truth.dpcal"}


# both sides of the focus plane


@pytest.fixture(scope="module")
def two_sided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Simulated captures of both sides."""
    folder = tmp_path_factory.mktemp("two_sided") / "shots"
    given = ["calibrate", "simulate", "-o", str(folder), "--size", "672x504", "--burst", "1"]
    assert main([*given, "--front"]) == 0
    return folder


FRONT = ("front_discs", "front_white", "front_black")


def front_arguments(folder: Path, names: tuple[str, ...] = FRONT) -> list[str]:
    pairs = [(f"--{name.replace('_', '-')}", str(folder / name)) for name in names]
    return [word for pair in pairs for word in pair]


@pytest.fixture(scope="module")
def both_sides(two_sided: Path) -> Path:
    output = two_sided.parent / "both.dpcal"
    given = [*arguments(two_sided, output), *front_arguments(two_sided), "--kernel-size", "41"]
    assert main(given) == 0
    return output


def test_simulate_writes_both_sides(two_sided):
    names = {path.name for path in two_sided.iterdir()}
    groups = {"discs", "white", "black", "sheets", *FRONT}
    assert names == {*groups, "target.json", "truth.dpcal"}
    truth = load_calibration(two_sided / "truth.dpcal")
    assert truth.front == "measured"
    assert truth.front_scale == pytest.approx(-4.2 / 5.3, abs=0.02)


def test_run_measures_both_sides(both_sides, two_sided, capsys):
    calibration = load_calibration(both_sides)
    truth = load_calibration(two_sided / "truth.dpcal")
    assert calibration.front_scale == pytest.approx(truth.front_scale, abs=0.05)
    assert main(["calibrate", "show", str(both_sides)]) == 0
    out = capsys.readouterr().out
    assert "in front of the focus plane: " in out
    assert "kernels in front of the focus plane: measured" in out
    assert main(["calibrate", "show", str(both_sides), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["front"] == "measured"


def test_one_side_says_that_the_front_is_derived(result, capsys):
    assert main(["calibrate", "show", str(result)]) == 0
    assert "in front of the focus plane: derived from the back" in capsys.readouterr().out


def test_exchanged_folders(two_sided, tmp_path, failure):
    changes = {name: two_sided / f"front_{name}" for name in ("discs", "white", "black")}
    given = arguments(two_sided, tmp_path / "o.dpcal", **changes)
    for name in ("discs", "white", "black"):
        given += [f"--front-{name}", str(two_sided / name)]
    assert "The two sets of captures are exchanged" in failure(*given)
    assert not (tmp_path / "o.dpcal").exists()


def test_a_part_of_the_front_set(two_sided, tmp_path, failure):
    given = arguments(two_sided, tmp_path / "o.dpcal")
    message = failure(*given, *front_arguments(two_sided, ("front_discs", "front_black")))
    assert "No capture of the white screen in front of the focus plane was given" in message


def test_captures_of_both_sides_in_one_folder(two_sided, tmp_path, failure):
    mixed = tmp_path / "mixed"
    shutil.copytree(two_sided / "discs", mixed)
    shutil.copytree(two_sided / "front_discs", mixed, dirs_exist_ok=True)
    message = failure(*arguments(two_sided, tmp_path / "o.dpcal", discs=mixed))
    assert "The capture 20240101_130000_000 of the discs was made with the target" in message


def test_distance_from_both_sides_of_one_calibration(both_sides, result, tmp_path, failure):
    copy = tmp_path / "both.dpcal"
    shutil.copy(both_sides, copy)
    given = ["calibrate", "distance", str(copy)]
    known = ["--at", "0.5", str(copy)]
    assert main([*given, *known, "--front-at", "0.1", str(copy)]) == 0
    calibration = load_calibration(copy)
    a, b = calibration.lens_constants
    assert a + b / 0.5 == pytest.approx(1.0, abs=1e-6)
    assert a + b / 0.1 == pytest.approx(calibration.front_scale, abs=1e-6)
    message = failure(*given, *known, "--front-at", "0.1", str(result))
    assert "has no kernels that were measured in front of the focus plane" in message
    message = failure(*given, "--constants", "1", "2", "--front-at", "0.1", str(copy))
    assert "give it with --at, not with --constants" in message


# bad input


def test_one_view_is_missing(folder, tmp_path, failure):
    alone = tmp_path / "discs"
    alone.mkdir()
    left = next((folder / "discs").glob("*_left.pgm"))
    shutil.copy(left, alone)
    message = failure(*arguments(folder, tmp_path / "o.dpcal", discs=alone / left.name))
    assert "has no partner: the right view" in message
    assert not (tmp_path / "o.dpcal").exists()


def test_files_that_are_no_captures(folder, tmp_path, failure):
    (tmp_path / "notes.txt").write_text("hello")
    message = failure(*arguments(folder, tmp_path / "o.dpcal", white=tmp_path / "notes.txt"))
    assert "notes.txt is not named like a view of a dual-pixel capture" in message


def test_a_folder_without_captures(folder, tmp_path, failure):
    message = failure(*arguments(folder, tmp_path / "o.dpcal", white=tmp_path))
    assert "contains no dual-pixel capture" in message


def test_a_target_that_is_none(folder, tmp_path, failure):
    (tmp_path / "t.json").write_text("{}")
    given = arguments(folder, tmp_path / "o.dpcal")
    given[given.index("--target") + 1] = str(tmp_path / "t.json")
    assert "is not a calibration target" in failure(*given)


def test_an_even_kernel_size(folder, tmp_path, failure):
    given = [*arguments(folder, tmp_path / "o.dpcal"), "--kernel-size", "60"]
    expected = "The setting kernel_px = 60 cannot be used: the kernel size must be odd."
    assert expected in failure(*given)


def test_a_published_folder_gets_no_constants(pixel4_data, failure):
    given = ["calibrate", "distance", str(pixel4_data / "pixel4"), "--constants", "1", "2"]
    assert "is a published folder and is not changed" in failure(*given)
