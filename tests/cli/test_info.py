"""`info` of pictures of any camera."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from napari_dpdeblur.cli import main

OPTICS = [
    "--focal-length-mm",
    "50",
    "--f-number",
    "4",
    "--focus-distance-m",
    "1",
    "--sensor-width-mm",
    "36",
]


@pytest.fixture
def two_files(tmp_path: Path) -> list[str]:
    """Two 16-bit pictures with names that say nothing."""
    random = np.random.default_rng(1).uniform(0, 65535, (48, 73)).astype(np.float32)
    texture = cv2.GaussianBlur(random, (0, 0), 2).astype(np.uint16)
    paths = [tmp_path / "b1.png", tmp_path / "a1.png"]
    for path, view in zip(paths, (texture[:, 1:], texture[:, :-1]), strict=True):
        cv2.imencode(".png", view)[1].tofile(path)
    return [str(path) for path in paths]


def _described(capsys, *words: str) -> dict:
    assert main(["info", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_two_files_with_any_names(two_files, capsys):
    described = _described(capsys, *two_files)
    assert described["files"] == two_files
    assert described["format"] == "picture-pair"
    assert "b1.png is taken as the left" in described["warnings"][0]
    assert "are taken as sRGB" in described["warnings"][1]


def test_what_the_files_do_not_say_can_be_given(two_files, capsys):
    words = ["--encoding", "linear", "--white-level", "60000", "--orientation", "transposed"]
    described = _described(capsys, *two_files, *words)
    assert (described["encoding"], described["white"]) == ("linear", 60000)
    assert (described["orientation"], described["height_px"]) == ("transposed", 72)
    described = _described(capsys, *two_files, "--format", "canon-dpdd-png")
    assert described["format"] == "canon-dpdd-png"


def test_optics_are_printed(two_files, capsys):
    optics = _described(capsys, *two_files, *OPTICS)["optics"]
    assert optics["pixel_pitch_um"] == 500
    assert optics["blur_at_infinity_px"] == pytest.approx(0.6579 / 0.5, abs=1e-3)
    assert main(["info", *two_files, *OPTICS]) == 0
    printed = capsys.readouterr().out
    assert "focal length mm" in printed
    assert "blur at infinity px" in printed


def test_wrong_options(two_files, failure, capsys):
    assert "There is no capture format 'tiff'" in failure("info", *two_files, "--format", "tiff")
    assert "was given twice" in failure("info", two_files[0], two_files[0])
    assert "3 files were given" in failure("info", *two_files, two_files[0])
    message = failure("info", *two_files, "--focal-length-mm", "50", "--focus-distance-m", "0.02")
    assert "must be larger than the focal length" in message
    with pytest.raises(SystemExit):
        main(["info", *two_files, "--f-number", "0"])
    assert "must be a number above 0, not '0'" in capsys.readouterr().err


def test_notes_of_other_commands_are_on_stderr(two_files, tmp_path, capsys):
    output = str(tmp_path / "output")
    assert main(["convert", *two_files, "-o", output, "--input-format", "canon-dpdd-png"]) == 0
    assert main(["info", output]) == 0
    assert "picture-pair" in capsys.readouterr().out


def _peak_mb(*words: str) -> float:
    """Peak memory of `info` in a process of its own."""
    # Not ru_maxrss, which a child inherits.
    code = (
        "import sys; from napari_dpdeblur.cli import main; status = main(sys.argv[1:]); "
        "print(open('/proc/self/status').read(), file=sys.stderr); sys.exit(status)"
    )
    command = [sys.executable, "-c", code, "info", *words]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return int(re.search(r"VmHWM:\s*(\d+) kB", told).group(1)) / 1e3


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("suffix", [".png", ".jpg", ".tif", ".pgm"])
def test_large_captures_are_not_decoded(tmp_path, suffix):
    peaks = []
    for side_px in (60, 6000):
        folder = tmp_path / str(side_px)
        folder.mkdir()
        dtype = np.uint8 if suffix == ".jpg" else np.uint16
        ramp = np.linspace(0, np.iinfo(dtype).max, side_px).astype(dtype)
        view = np.broadcast_to(ramp, (side_px, side_px))
        for name, pixels in (("x_left", view), ("x_right", view[:, ::-1])):
            cv2.imencode(suffix, np.ascontiguousarray(pixels))[1].tofile(folder / (name + suffix))
        # Values above 14 bits would be refused as a published pair.
        peaks.append(_peak_mb(str(folder), "--white-level", "65535"))
    assert peaks[1] < peaks[0] + 10, "the two views have 72 MB or more"
    decoded = _peak_mb(str(folder), "--white-level", "65535", "--check")
    assert decoded > peaks[0] + 70, "or the measurement would prove nothing"


def test_identical_and_damaged_views_are_found_by_check(two_files, failure, capsys):
    first, second = map(Path, two_files)
    whole = second.read_bytes()
    second.write_bytes(first.read_bytes())
    assert _described(capsys, *two_files)["width_px"] == 72
    assert "are identical, so nothing can be computed" in failure("info", *two_files, "--check")
    second.write_bytes(whole[:-40])
    assert _described(capsys, *two_files)["width_px"] == 72
    assert "a1.png is damaged or truncated" in failure("info", *two_files, "--check")
    second.write_bytes(b"no picture")
    for words in ([], ["--check"]):
        message = failure("info", *two_files, *words)
        assert "a1.png is not a PNG, JPEG or TIFF picture" in message


def test_levels_that_only_the_pixels_tell(tmp_path, capsys):
    for side in ("left", "right"):
        path = tmp_path / f"{side}_pd" / "scene" / f"result_{side}Pd_center.png"
        path.parent.mkdir(parents=True)
        cv2.imencode(".png", np.full((12, 8), 900 + len(side), np.uint16))[1].tofile(path)
    described = _described(capsys, str(tmp_path))
    assert (described["black"], described["white"]) == (None, None)
    assert "follow from the largest value" in described["warnings"][0]
    described = _described(capsys, str(tmp_path), "--check")
    assert (described["black"], described["white"]) == (1024, 16383)
    assert main(["info", str(tmp_path)]) == 0
    assert "white           -\n" in capsys.readouterr().out


def test_real_canon_pair(canon_data, capsys):
    described = _described(capsys, str(canon_data / "box_001"), *OPTICS)
    assert described["name"] == "box_001"
    assert described["optics"]["blur_at_infinity_px"] == pytest.approx(14.1, abs=0.1)
