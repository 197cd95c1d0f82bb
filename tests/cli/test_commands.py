"""The command line, as a user calls it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile

from napari_dpdeblur import __version__, screen
from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.capture.pgm import write_pgm_pair
from napari_dpdeblur.cli import main
from napari_dpdeblur.cli.main import COMMANDS
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results import Result, read_mpi


@pytest.fixture
def app_folder(tmp_path: Path) -> Path:
    """A folder with one small capture of the phone app: 12 x 20 px, twice as high as wide."""
    folder = tmp_path / "app"
    folder.mkdir()
    values = np.random.default_rng(0).integers(4000, 65535, (2, 12, 20), dtype=np.uint16)
    write_pgm_pair(folder, "20240102_030405_678", *values)
    return folder


# the program


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"napari-dpdeblur {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["unknown"], ["info"]])
def test_wrong_usage_ends_with_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: napari-dpdeblur" in capsys.readouterr().err


def test_every_command_has_help(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = re.findall(r"^    ([a-z][\w-]*)(?:\s|$)", capsys.readouterr().out, re.MULTILINE)
    assert listed == [module.__name__.rpartition(".")[2].replace("_", "-") for module in COMMANDS]
    for command in listed:
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0
        assert f"usage: napari-dpdeblur {command} " in capsys.readouterr().out


def test_bad_input_ends_the_process_with_status_2(tmp_path):
    code = "import sys; from napari_dpdeblur.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "info", str(tmp_path / "none_left.pgm")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr == f"napari-dpdeblur: {tmp_path / 'none_left.pgm'} does not exist.\n"


# info


def test_info_prints_a_table(app_folder, capsys):
    assert main(["info", str(app_folder)]) == 0
    out = capsys.readouterr().out
    assert "pixel aspect    2\n" in out
    assert "name            20240102_030405_678\n" in out
    assert "clipped" not in out
    assert main(["info", str(app_folder), "--check"]) == 0
    out = capsys.readouterr().out
    assert "pixel aspect      2\n" in out
    assert "clipped fraction  0\n" in out


def test_info_prints_json(app_folder, capsys):
    left = app_folder / "20240102_030405_678_left.pgm"
    assert main(["info", str(left), "--json", "--black-level", "4000"]) == 0
    description = json.loads(capsys.readouterr().out)
    assert description == open_capture(left, black=4000).header.describe()
    assert main(["info", str(left), "--json", "--black-level", "4000", "--check"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert checked == open_capture(left, black=4000).describe()
    further = {"sha256", "estimated_black", "mean", "clipped_fraction", "invalid_fraction"}
    assert set(checked) - set(description) == further


def test_info_of_an_empty_folder(tmp_path, failure):
    assert "contains no dual-pixel capture" in failure("info", tmp_path)


# convert


def test_convert_writes_the_published_scale(app_folder, tmp_path):
    """v14 = v16 * 1023 * 16 / 65535, rows doubled between pixel centres (Xin et al.)."""
    output = tmp_path / "out"
    assert main(["convert", str(app_folder), "-o", str(output)]) == 0
    names = sorted(path.name for path in output.iterdir())
    assert names == ["20240102_030405_678_left.png", "20240102_030405_678_right.png"]
    pixels = cv2.imread(str(output / names[1]), cv2.IMREAD_UNCHANGED)
    assert (pixels.dtype, pixels.shape) == (np.uint16, (24, 20))
    raw = open_capture(app_folder).raw[1, 0] * (1023 * 16 / 65535)
    np.testing.assert_array_equal(pixels[0], np.rint(raw[0]))
    between = np.rint(0.75 * raw[3] + 0.25 * raw[4])
    np.testing.assert_allclose(pixels[7], between, atol=1)


def test_a_converted_capture_opens_with_nearly_the_same_values(app_folder, tmp_path):
    main(["convert", str(app_folder), "-o", str(tmp_path / "out")])
    before = open_capture(app_folder).with_square_pixels().views
    np.testing.assert_allclose(open_capture(tmp_path / "out").views, before, atol=2e-3)


def test_convert_moves_the_black_level_to_where_the_reader_expects_it(app_folder, tmp_path):
    main(["convert", str(app_folder), "-o", str(tmp_path / "out"), "--black-level", "8000"])
    before = open_capture(app_folder, black=8000).with_square_pixels().views
    np.testing.assert_allclose(open_capture(tmp_path / "out").views, before, atol=2e-3)


def test_convert_to_tiff_keeps_the_linear_values(app_folder, tmp_path, capsys):
    output = tmp_path / "out"
    main(["convert", str(app_folder), "-o", str(output), "--format", "tiff", "--json"])
    files = json.loads(capsys.readouterr().out)["files"]
    assert files == ["20240102_030405_678_left.tif", "20240102_030405_678_right.tif"]
    views = open_capture(app_folder).with_square_pixels().views
    np.testing.assert_array_equal(tifffile.imread(output / files[0]), views[0, 0])


def test_convert_of_colour_gives_tiff_and_refuses_png(tmp_path, failure):
    source = tmp_path / "dpdd"
    source.mkdir()
    for view in "LR":
        picture = np.random.default_rng(0).integers(0, 65535, (10, 12, 3), dtype=np.uint16)
        cv2.imwrite(str(source / f"1P0A0917_{view}.png"), picture)
    message = failure("convert", source, "-o", tmp_path / "png", "--format", "png")
    assert "1P0A0917 has 3 srgb channels, but the PNG pair stores one linear channel" in message
    assert not (tmp_path / "png").exists()
    assert main(["convert", str(source), "-o", str(tmp_path / "tiff")]) == 0
    assert tifffile.imread(tmp_path / "tiff" / "1P0A0917_left.tif").shape == (10, 12, 3)


def test_convert_takes_every_capture_of_a_folder(app_folder, tmp_path):
    write_pgm_pair(app_folder, "20240102_030405_999", *np.full((2, 12, 20), 5000, np.uint16))
    assert main(["convert", str(app_folder), "-o", str(tmp_path / "out")]) == 0
    assert len(list((tmp_path / "out").iterdir())) == 4


def test_convert_never_writes_into_a_used_folder(app_folder, tmp_path, failure):
    (tmp_path / "precious.txt").write_text("mine")
    before = sorted(tmp_path.iterdir())
    assert "already exists" in failure("convert", app_folder, "-o", tmp_path)
    assert sorted(tmp_path.iterdir()) == before


def test_convert_leaves_nothing_behind_when_one_capture_is_bad(app_folder, tmp_path, failure):
    write_pgm_pair(app_folder, "20240102_030406_000", *np.full((2, 12, 20), 5000, np.uint16))
    damaged = app_folder / "20240102_030406_000_right.pgm"
    damaged.write_bytes(damaged.read_bytes()[:-10])
    assert "is truncated" in failure("convert", app_folder, "-o", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["app"]


# simulate and render


def test_simulate_writes_capture_calibration_and_truth(simulated):
    names = {path.name for path in simulated.iterdir()}
    assert names == {
        "synthetic_left.pgm",
        "synthetic_right.pgm",
        "synthetic_all_in_focus.tif",
        "synthetic_defocus.tif",
        "synthetic.dpcal",
        "mpi.tif",
    }
    prepared = load_calibration(simulated / "synthetic.dpcal").prepare(open_capture(simulated))
    assert prepared.shape == (2, 1, 96, 128)
    color, alpha, _ = read_mpi(simulated / "mpi.tif")
    assert color.shape[1:] == (1, 96, 128)
    assert alpha[0].min() == 1


def test_simulate_a_scene_in_colour(tmp_path, capsys):
    folder = tmp_path / "table"
    assert main(["simulate", "-o", str(folder), "--scene", "table", "--size", "128x96"]) == 0
    lens, capture = load_calibration(folder / "synthetic.dpcal"), open_capture(folder)
    assert lens.prepare(capture).shape == (2, 3, 96, 128)
    truth = tifffile.imread(folder / "synthetic_all_in_focus.tif")
    assert truth.shape == (96, 128, 3)
    color, alpha, scales = read_mpi(folder / "mpi.tif")
    assert (color.shape[1:], alpha.shape[1:]) == ((3, 96, 128), (1, 96, 128))
    assert scales.max() > 0 > scales.min()


def test_simulate_is_deterministic(simulated, tmp_path):
    main(["simulate", "-o", str(tmp_path / "again"), "--size", "128x96", "--seed", "3"])
    main(["simulate", "-o", str(tmp_path / "other"), "--size", "128x96", "--seed", "4"])
    for name in ("synthetic_left.pgm", "synthetic.dpcal"):
        assert (tmp_path / "again" / name).read_bytes() == (simulated / name).read_bytes()
    other = tmp_path / "other" / "synthetic_left.pgm"
    assert other.read_bytes() != (simulated / "synthetic_left.pgm").read_bytes()


def test_simulate_puts_objects_on_both_sides_of_the_focus_plane(simulated, tmp_path):
    both = tmp_path / "both"
    main(["simulate", "-o", str(both), "--size", "128x96", "--seed", "3", "--both-sides"])
    assert {path.name for path in both.iterdir()} == {path.name for path in simulated.iterdir()}
    defocus = tifffile.imread(both / "synthetic_defocus.tif")
    assert (defocus.min(), defocus.max()) == (np.float32(-0.8), 1.0)
    assert read_mpi(both / "mpi.tif")[2].min() == np.float32(-0.8)
    assert tifffile.imread(simulated / "synthetic_defocus.tif").min() > 0
    assert open_capture(both).raw.shape == (2, 1, 48, 128)


@pytest.mark.parametrize(
    ("size", "message"),
    [("128x97", "97 rows of the scene"), ("128x4", "at least 16 x 16 px")],
)
def test_simulate_refuses_impossible_sizes(size, message, tmp_path, failure):
    assert message in failure("simulate", "-o", tmp_path / "out", "--size", size)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sides", [[], ["--both-sides"]])
def test_render_gives_the_simulated_views(tmp_path, sides):
    """Without noise the capture differs from the rendered views by its sampling only."""
    source, output = tmp_path / "source", tmp_path / "views"
    main(["simulate", "-o", str(source), "--size", "128x96", "--noise-free", *sides])
    calibration = source / "synthetic.dpcal"
    arguments = ["render", source / "mpi.tif", "--calibration", calibration, "-o", output]
    assert main([str(argument) for argument in arguments]) == 0
    rendered = np.stack([tifffile.imread(output / f"{view}.tif") for view in ("left", "right")])
    vignetting = load_calibration(calibration).vignetting
    binned = (rendered * vignetting).reshape(2, 48, 2, 128).mean(axis=2)
    captured = open_capture(source).views[:, 0]
    assert np.abs(binned - captured).max() < 2 / 1023


def test_render_of_a_crop_uses_the_kernels_of_its_tiles(simulated, tmp_path):
    """Away from its border, a crop renders as the whole does: to the last blended pixel."""
    from napari_dpdeblur.results.tiff_files import write_mpi

    color, alpha, scales = read_mpi(simulated / "mpi.tif")
    window = (..., slice(32, 96), slice(16, 128))  # on the edges of tiles
    write_mpi(tmp_path / "crop.tif", color[window], alpha[window], scales)
    calibration = ["--calibration", str(simulated / "synthetic.dpcal")]
    main(["render", str(simulated), *calibration, "-o", str(tmp_path / "whole")])
    crop = ["--crop", "32,16,64,112"]
    main(["render", str(tmp_path / "crop.tif"), *calibration, *crop, "-o", str(tmp_path / "part")])
    whole = tifffile.imread(tmp_path / "whole" / "left.tif")[32:, 16:]
    part = tifffile.imread(tmp_path / "part" / "left.tif")
    np.testing.assert_allclose(part[45:, 45:], whole[45:, 45:], atol=1e-3)


def test_render_refuses_layers_of_another_size(simulated, tmp_path, failure):
    main(["simulate", "-o", str(tmp_path / "small"), "--size", "64x64"])
    calibration = ("--calibration", simulated / "synthetic.dpcal")
    message = failure("render", tmp_path / "small", *calibration, "-o", tmp_path / "views")
    assert "multiplane image of 64 x 64 px does not match the crop of 96 x 128 px" in message
    assert "calibration of synthetic lens" in message
    assert not (tmp_path / "views").exists()


@pytest.mark.parametrize("crop", ["1,2,3", "a,b,c,d", ""])
def test_render_refuses_a_crop_that_is_none(crop, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["render", "mpi.tif", "--calibration", "c", "-o", "o", "--crop", crop])
    assert stop.value.code == 2
    assert "must be four whole numbers Y,X,H,W" in capsys.readouterr().err


# fetch


def test_fetch_prints_the_folder(pixel4_data, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path))
    monkeypatch.setenv("DPDEBLUR_PIXEL4_MIRROR", str(pixel4_data / "pixel4"))
    assert main(["fetch", "pixel4", "--calibration-only", "--json"]) == 0
    folder = Path(json.loads(capsys.readouterr().out)["folder"])
    assert load_calibration(folder).camera == "Google Pixel 4"


def test_fetch_of_an_unknown_scene(failure):
    assert "no published Pixel 4 scene 099" in failure("fetch", "pixel4", "--scenes", "99")


# demo (what it fits: test_fit.py)


def test_demo_does_not_replace_foreign_files(tmp_path, failure):
    (tmp_path / "holiday.jpg").write_text("mine")
    assert "contains holiday.jpg" in failure("demo", "-o", tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="displays are announced like this on Linux")
def test_demo_knows_when_there_is_no_display(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert screen.no_window_reason() == "there is no display"


def test_demo_knows_when_there_is_no_qt(monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(screen, "QT_BINDINGS", ("no_such_binding",))
    assert screen.no_window_reason() == "no Qt binding is installed; install napari-dpdeblur[all]"


# evaluate


def test_a_simulated_scene_on_both_sides_is_signed_truth(tmp_path, capsys):
    """The true map of `simulate` scores the sign; zero in it is in focus, not unknown."""
    source, run = tmp_path / "source", tmp_path / "run"
    main(["simulate", "-o", str(source), "--size", "128x96", "--both-sides"])
    color, alpha, scales = read_mpi(source / "mpi.tif")
    mpi = MultiplaneImage(color, alpha, scales)
    defocus_map = np.float32(mpi.defocus_map())
    Result(mpi, mpi.all_in_focus(), defocus_map, np.ones_like(defocus_map)).save(run)
    capsys.readouterr()
    truth = source / "synthetic_defocus.tif"
    assert main(["evaluate", str(run), "--defocus", str(truth), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["defocus"]
    assert found["right_sign"] > 0.99  # soft edges mix the two sides
    assert found["aiwe1"] < 0.02
