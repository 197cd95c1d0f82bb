"""Files that are no plain files, lead elsewhere or announce more than they hold."""

from __future__ import annotations

import os
import struct
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from napari_dpdeblur.calibration import load_calibration, save_calibration
from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.capture.image_file import read_pixels
from napari_dpdeblur.capture.pgm import write_pgm_pair
from napari_dpdeblur.cli import main
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.errors import (
    CalibrationError,
    CaptureError,
    DpDeblurError,
    FitError,
    ResultError,
    SettingsError,
)
from napari_dpdeblur.files.archive import check_stored_members
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.results import read_mpi, read_run
from napari_dpdeblur.results.provenance import read_provenance
from robustness_seeds import small_run


@pytest.fixture
def pipe(tmp_path: Path) -> Callable[[str], Path]:
    """Make a named pipe that nobody writes to: opening it as a plain file would wait for ever."""

    def make(name: str) -> Path:
        if not hasattr(os, "mkfifo"):
            pytest.skip("this system has no named pipes")
        os.mkfifo(tmp_path / name)
        return tmp_path / name

    return make


def read_checkpoint(path: Path) -> object:
    import torch

    from napari_dpdeblur.fitting import Checkpoint

    return Checkpoint(path, resume=True).load("signature", torch.device("cpu"))


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("a_left.pgm", open_capture),
        ("001_left.png", open_capture),
        ("a.CR2", open_capture),
        ("a.dpcal", load_calibration),
        ("mpi.tif", read_mpi),
        ("run.yaml", read_provenance),
        ("settings.yaml", FitSettings.read),
        ("a.checkpoint", read_checkpoint),
    ],
)
def test_a_pipe_does_not_keep_anybody_waiting(
    pipe: Callable[[str], Path], name: str, read: Callable[[Path], object]
) -> None:
    path = pipe(name)
    for partner in (path.with_name("a_right.pgm"), path.with_name("001_right.png")):
        partner.write_bytes(b"P5 1 1 255 x")
    with pytest.raises(DpDeblurError, match=name):
        read(path)


def test_a_run_folder_does_not_lead_elsewhere(tmp_path: Path) -> None:
    folder = small_run(tmp_path / "run")
    (folder / "mpi.tif").rename(tmp_path / "secret.tif")
    (folder / "mpi.tif").symlink_to(tmp_path / "secret.tif")
    with pytest.raises(ResultError, match=r"mpi\.tif was not read because it is a link to"):
        read_run(folder)


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    picture = np.random.default_rng(1).integers(0, 65535, (20, 30)).astype(np.uint16)
    (tmp_path / "truth.png").write_bytes(cv2.imencode(".png", picture)[1].tobytes())
    return tmp_path / "truth.png"


@pytest.mark.parametrize("name", ["all_in_focus.tif", "defocus_map.tif", "run.yaml", "mpi.tif"])
def test_no_command_follows_links_out_of_a_run(
    tmp_path: Path, truth: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = small_run(tmp_path / "run")
    (folder / name).rename(tmp_path / "secret")
    (folder / name).symlink_to(tmp_path / "secret")
    lens = tmp_path / "lens.dpcal"
    save_calibration(synthetic_calibration(20, 30, 1, 1), lens)
    render = ["--calibration", str(lens), "-o", str(tmp_path / "out")]
    for words in (
        ["evaluate", str(folder), "--sharp", str(truth)],
        ["evaluate", str(folder), "--defocus", str(truth)],
        ["render", str(folder), *render],
        ["render", str(folder / "mpi.tif"), *render],
    ):
        assert main(words) == 2, words
        sentence = f"{folder / name} was not read because it is a link to a file outside"
        assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_no_command_accepts_a_newer_run(
    tmp_path: Path, truth: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = small_run(tmp_path / "run")
    record = (folder / "run.yaml").read_text().replace("format_version: 2", "format_version: 3")
    (folder / "run.yaml").write_text(record)
    lens = tmp_path / "lens.dpcal"
    save_calibration(synthetic_calibration(20, 30, 1, 1), lens)
    render = ["--calibration", str(lens), "-o", str(tmp_path / "out")]
    for words in (
        ["evaluate", str(folder), "--sharp", str(truth)],
        ["render", str(folder), *render],
        ["render", str(folder / "mpi.tif"), *render],
    ):
        assert main(words) == 2, words
        assert (
            "has format version 3, but only versions 1 and 2 are supported"
            in capsys.readouterr().err
        )


def test_a_calibration_folder_does_not_lead_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / "calibration"
    folder.mkdir()
    np.save(tmp_path / "kernels.npy", np.ones((48, 5, 5), np.float32))
    (folder / "blur_kernels_left.npy").symlink_to(tmp_path / "kernels.npy")
    with pytest.raises(CalibrationError, match=r"left\.npy was not read: it is a link to a file"):
        load_calibration(folder)


def peak_bytes(read: Callable[[], object]) -> int:
    """Memory that a refused file costs."""
    tracemalloc.start()
    try:
        with pytest.raises(DpDeblurError):
            read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def png_of(width: int, height: int, data: bytes) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)

    header = struct.pack(">IIBBBBB", width, height, 16, 0, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(data)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def test_a_small_png_cannot_claim_a_large_picture(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(png_of(10_000, 15_000, b""))
    with pytest.raises(CaptureError, match=r"declares 300 MB of pixels, more than a photogr"):
        read_pixels(path)
    assert peak_bytes(lambda: read_pixels(path)) < 2_000_000


def test_a_pair_of_pictures_cannot_be_a_bomb(tmp_path: Path) -> None:
    """13000 x 13000 px that are all equal: 329 kB, which would be 2.4 GB."""
    rows = zlib.compressobj(9)
    empty_row = bytes(1 + 2 * 13_000)
    pixels = b"".join([*(rows.compress(empty_row) for _ in range(13_000)), rows.flush()])
    content = png_of(13_000, 13_000, b"")
    start = content.index(b"IDAT") - 4
    chunk = struct.pack(">I", len(pixels)) + b"IDAT" + pixels
    content = content[:start] + chunk + struct.pack(">I", zlib.crc32(b"IDAT" + pixels))
    content += struct.pack(">I", 0) + b"IEND" + struct.pack(">I", zlib.crc32(b"IEND"))
    assert len(content) < 340_000
    for name in ("001_left.png", "001_right.png"):
        (tmp_path / name).write_bytes(content)
    start_s = time.process_time()
    for given in ([tmp_path], [tmp_path / "001_left.png"], sorted(tmp_path.iterdir())):
        with pytest.raises(CaptureError, match="declares 338 MB of pixels, more than a photograph"):
            open_capture(*given)
    assert time.process_time() - start_s < 2
    assert peak_bytes(lambda: open_capture(tmp_path)) < 5_000_000


def test_a_uniform_picture_of_ordinary_size_is_read(tmp_path: Path) -> None:
    """As of a black screen."""
    encoded = cv2.imencode(".png", np.zeros((3000, 4000), np.uint16))[1].tobytes()
    assert 24_000_000 / len(encoded) > 300
    (tmp_path / "a.png").write_bytes(encoded)
    assert read_pixels(tmp_path / "a.png").shape == (1, 3000, 4000)


def test_a_jpeg_of_endless_passes_is_refused(tmp_path: Path) -> None:
    _, encoded = cv2.imencode(".jpg", np.zeros((64, 64), np.uint8))
    (tmp_path / "a.jpg").write_bytes(encoded.tobytes() + 100 * b"\xff\xda\x00\x08")
    with pytest.raises(CaptureError, match="is damaged or truncated"):
        read_pixels(tmp_path / "a.jpg")


@pytest.mark.parametrize("aspect", ["100000", "9" * 400, "0.001"])
def test_a_comment_cannot_multiply_rows(tmp_path: Path, aspect: str) -> None:
    pixels = np.full((4, 4), 9000, np.uint16)
    for path in write_pgm_pair(tmp_path, "a", pixels, pixels):
        body = path.read_bytes().removeprefix(b"P5 ")
        path.write_bytes(b"P5 # pixel_aspect " + aspect.encode() + b"\n" + body)
    with pytest.raises(CaptureError, match="the pixel aspect must be between"):
        open_capture(tmp_path)


def test_a_calibration_cannot_announce_more_than_it_holds(tmp_path: Path) -> None:
    """A zip of some megabytes that would fill nearly a gigabyte."""
    path = tmp_path / "a.dpcal"
    save_calibration(synthetic_calibration(64, 96, 1, 2), path)
    with (
        zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("diagnostic_a.npy", "w") as stream,
    ):
        for _ in range(800):
            stream.write(bytes(1 << 20))
    assert path.stat().st_size < 5_000_000
    with pytest.raises(CalibrationError, match="is not a calibration file or is truncated"):
        load_calibration(path)
    assert peak_bytes(lambda: load_calibration(path)) < 8_000_000


def test_overlapping_members_of_a_checkpoint_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.checkpoint"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", b"{}")
        archive.writestr("tensor_a.npy", bytes(1000))
    with zipfile.ZipFile(path) as archive:
        archive.infolist().extend(archive.infolist() * 5)
        archive.filelist *= 5
        with pytest.raises(ValueError, match="declares more data than it contains"):
            check_stored_members(archive, path.stat().st_size)
    with pytest.raises(FitError, match="is damaged; delete it"):
        read_checkpoint(path)


@pytest.mark.parametrize(
    "text",
    [
        "a: &x [1, 1]\nb: [*x, *x]\n",
        "layers: !!int 4\n",
        "layers: !!python/object/apply:os.getcwd []\n",
        "weights: " + 5000 * "[" + 5000 * "]" + "\n",
        "weights: " + 100_000 * "{a: ",
        "layers: 2020-99-99\n",
        "layers: " + 10_000 * "9" + "\n",
    ],
)
def test_settings_are_plain_yaml(text: str) -> None:
    start = time.process_time()
    with pytest.raises(SettingsError, match="not plain YAML"):
        FitSettings.from_yaml(text)
    assert time.process_time() - start < 2


def test_a_long_wrong_value_is_not_repeated_in_full() -> None:
    with pytest.raises(SettingsError, match=r"layers = 'xxx.*\.\.\.") as caught:
        FitSettings.from_yaml(f"layers: {'x' * 100_000}")
    assert len(str(caught.value)) < 300


def test_a_deeply_nested_header_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.dpcal"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", 200_000 * "[")
    with pytest.raises(CalibrationError, match=r"has a damaged header\.json"):
        load_calibration(path)


def test_a_chunk_longer_than_the_file_is_not_believed(tmp_path: Path) -> None:
    """The decoder itself would ask for half a gigabyte here."""
    content = bytearray(png_of(16, 12, bytes(33 * 12)))
    content[33:37] = (500_000_000).to_bytes(4, "big")
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(CaptureError, match="is damaged or truncated"):
        read_pixels(tmp_path / "a.png")
