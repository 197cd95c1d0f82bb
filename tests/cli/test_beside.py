"""Files beside an output: nothing of the user is replaced, deleted or written through a link."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from napari_dpdeblur.calibration import load_calibration, save_calibration
from napari_dpdeblur.cli import main

Failure = Callable[..., str]
needs_links = pytest.mark.skipif(os.name != "posix", reason="links need no rights on POSIX")


def quick_fit(simulated: Path, lens: Path, output: Path, *options: str) -> list[str]:
    words = ["fit", str(simulated), "--calibration", str(lens), "-o", str(output), *options]
    return [*words, "--preset", "preview", "--layers", "4"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@needs_links
def test_a_link_in_place_of_the_checkpoint(
    simulated: Path, tmp_path: Path, failure: Failure
) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "run.checkpoint").symlink_to(tmp_path / "precious")
    words = quick_fit(simulated, simulated / "synthetic.dpcal", tmp_path / "run")
    assert "run.checkpoint is in the way: it is not the checkpoint of a fit" in failure(*words)
    assert "run.checkpoint is damaged" in failure(*words, "--resume")
    assert (tmp_path / "precious").read_text() == "precious"
    assert names(tmp_path) == ["precious", "run.checkpoint"]


def test_a_file_in_place_of_the_checkpoint(
    simulated: Path, tmp_path: Path, failure: Failure
) -> None:
    (tmp_path / "run.checkpoint").write_text("precious")
    words = quick_fit(simulated, simulated / "synthetic.dpcal", tmp_path / "run")
    assert "or a damaged one; move or delete it." in failure(*words)
    assert (tmp_path / "run.checkpoint").read_text() == "precious"


def test_a_given_calibration_is_kept_whatever_its_name(simulated: Path, tmp_path: Path) -> None:
    """An estimated lens is kept under this name until the result is complete."""
    lens = tmp_path / "run.lens.dpcal"
    shutil.copy(simulated / "synthetic.dpcal", lens)
    assert main(quick_fit(simulated, lens, tmp_path / "run")) == 0
    assert lens.read_bytes() == (simulated / "synthetic.dpcal").read_bytes()
    assert main([*quick_fit(simulated, lens, tmp_path / "run"), "--crop", "0,0,9,9"]) == 2
    assert lens.exists()


def test_a_calibration_in_place_of_the_kept_lens(
    simulated: Path, tmp_path: Path, failure: Failure
) -> None:
    lens = tmp_path / "run.lens.dpcal"
    shutil.copy(simulated / "synthetic.dpcal", lens)
    said = failure("fit", simulated, "-o", tmp_path / "run", "--preset", "preview")
    assert "run.lens.dpcal is in the way: the lens that is estimated is kept there" in said
    assert lens.read_bytes() == (simulated / "synthetic.dpcal").read_bytes()


@pytest.mark.parametrize("name", ["photo.png", "text.txt", "folder"])
def test_an_overlap_picture_replaces_nothing(
    simulated: Path, tmp_path: Path, failure: Failure, name: str
) -> None:
    colours = np.random.default_rng(0).integers(0, 255, (96, 128, 3)).astype(np.uint8)
    Image.fromarray(colours).save(tmp_path / "photo.png")
    (tmp_path / "text.txt").write_text("precious")
    (tmp_path / "folder").mkdir()
    before = (tmp_path / "photo.png").read_bytes()
    words = quick_fit(simulated, simulated / "synthetic.dpcal", tmp_path / "run")
    words += ["--photo", str(tmp_path / "photo.png"), "--overlap-picture", str(tmp_path / name)]
    assert f"{name} already exists; choose another name for the picture" in failure(*words)
    assert "already exists" in failure(*words, "--overwrite")
    assert (tmp_path / "photo.png").read_bytes() == before
    assert (tmp_path / "text.txt").read_text() == "precious"
    assert names(tmp_path) == ["folder", "photo.png", "text.txt"]


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("1,2,1e-320", "A known distance of 9.99989e-321 m is not possible"),
        ("1,2,1e308", "A known distance of 1e+308 m is not possible"),
    ],
)
def test_known_distances_that_overflow(
    simulated: Path, tmp_path: Path, failure: Failure, option: str, text: str
) -> None:
    words = quick_fit(simulated, simulated / "synthetic.dpcal", tmp_path / "run")
    known = ["--known-distance", option, "--known-distance", "80,100,2"]
    assert text in failure(*words, *known)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", [1, 3])
def test_kernels_that_do_not_blur(
    simulated: Path, tmp_path: Path, failure: Failure, size: int
) -> None:
    from dataclasses import replace

    lens = load_calibration(simulated / "synthetic.dpcal")
    kernels = np.zeros((*lens.kernels.shape[:2], size, size), np.float32)
    kernels[..., size // 2, size // 2] = 1
    save_calibration(replace(lens, kernels=kernels), tmp_path / "lens.dpcal")
    words = quick_fit(simulated, tmp_path / "lens.dpcal", tmp_path / "run")
    assert "do not blur: they are narrower than a pixel" in failure(*words)
    assert names(tmp_path) == ["lens.dpcal"]


def test_distances_of_a_calibration_that_overflow(
    simulated: Path, tmp_path: Path, failure: Failure
) -> None:
    lens = tmp_path / "lens.dpcal"
    shutil.copy(simulated / "synthetic.dpcal", lens)
    at = ["--at", "1e-320", str(lens), "--at", "1", str(lens)]
    assert "m is not possible; give it in metres" in failure("calibrate", "distance", lens, *at)
    assert lens.read_bytes() == (simulated / "synthetic.dpcal").read_bytes()
