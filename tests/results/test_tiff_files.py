"""The multiplane TIFF: pages, metadata, precision, and refusal of everything damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tifffile

from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.results import Result, read_image, read_mpi
from napari_dpdeblur.results.tiff_files import read_multiplane_image, write_image, write_mpi

MakeResult = Callable[..., Result]


def write_result(path: Path, result: Result) -> Path:
    write_mpi(path, result.mpi_color, result.mpi_alpha, result.defocus_scales)
    return path


def test_any_reader_sees_rgba_layers_back_to_front(tmp_path: Path, make_result: MakeResult) -> None:
    result = make_result(channels=3)
    path = write_result(tmp_path / "mpi.tif", result)
    layers = tifffile.imread(path)
    assert layers.shape == (3, 20, 30, 4)
    assert layers.dtype == np.float16
    np.testing.assert_allclose(layers[2, ..., 1], result.mpi_color[2, 1], rtol=6e-4, atol=1e-7)
    np.testing.assert_allclose(layers[1, ..., 3], result.mpi_alpha[1, 0], rtol=6e-4, atol=1e-7)


def test_each_page_tells_its_defocus_scale(tmp_path: Path, make_result: MakeResult) -> None:
    path = write_result(tmp_path / "mpi.tif", make_result())
    with tifffile.TiffFile(path) as tiff:
        described = [json.loads(page.aspage().description) for page in tiff.pages]
    assert [entry["defocus_scale"] for entry in described] == pytest.approx([1.4, 0.75, 0.1])
    assert [entry["layer"] for entry in described] == [0, 1, 2]


@pytest.mark.parametrize("brightness", [1e6, 1e-4])
def test_unusual_units_are_kept_in_single_precision(
    tmp_path: Path, make_result: MakeResult, brightness: float
) -> None:
    result = make_result(brightness=brightness)
    color, alpha, _ = read_mpi(write_result(tmp_path / "mpi.tif", result))
    np.testing.assert_array_equal(color, result.mpi_color)
    np.testing.assert_array_equal(alpha, result.mpi_alpha)


def test_a_run_folder_can_be_given(tmp_path: Path, make_result: MakeResult) -> None:
    write_result(tmp_path / "mpi.tif", make_result())
    assert read_mpi(tmp_path)[0].shape == (3, 1, 20, 30)


@pytest.mark.parametrize("kept", [0, 4, 100, 0.3, 0.9, 0.999])
def test_a_truncated_file_is_refused(tmp_path: Path, make_result: MakeResult, kept: float) -> None:
    path = write_result(tmp_path / "mpi.tif", make_result())
    content = path.read_bytes()
    path.write_bytes(content[: kept if isinstance(kept, int) else int(kept * len(content))])
    with pytest.raises(ResultError, match=r"mpi\.tif cannot be read because .*repeat the fit"):
        read_mpi(path)


def test_no_damaged_byte_escapes_as_another_error(tmp_path: Path, make_result: MakeResult) -> None:
    path = write_result(tmp_path / "mpi.tif", make_result(height=4, width=4))
    content = path.read_bytes()
    refused = 0
    for position in range(0, len(content), 3):
        path.write_bytes(content[:position] + b"\xff" + content[position + 1 :])
        try:
            read_mpi(path)
        except ResultError:
            refused += 1
    assert refused > 20


def test_a_small_file_cannot_claim_a_large_picture(tmp_path: Path) -> None:
    path = tmp_path / "bomb.tif"
    tifffile.imwrite(path, np.zeros((4000, 4000), np.float32), compression="zlib")
    with pytest.raises(ResultError, match="because it is compressed"):
        read_image(path)


def test_pages_without_scales_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mpi.tif"
    tifffile.imwrite(path, np.zeros((3, 8, 8, 4), np.float32), photometric="rgb")
    with pytest.raises(ResultError, match="because its pages have no defocus scales"):
        read_mpi(path)


def test_a_scale_that_is_no_number_is_refused(tmp_path: Path, make_result: MakeResult) -> None:
    result = make_result()
    result.defocus_scales[1] = np.nan
    path = write_result(tmp_path / "mpi.tif", result)
    with pytest.raises(ResultError, match="because a defocus scale is not finite"):
        read_mpi(path)


def test_pages_that_are_not_rgba_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mpi.tif"
    write_image(path, np.zeros((8, 8), np.float32), defocus_scale=1.0, channels=1)
    with pytest.raises(ResultError, match="because its pages are not RGBA images"):
        read_mpi(path)


def test_integers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "picture.tif"
    tifffile.imwrite(path, np.zeros((8, 8), np.uint16))
    with pytest.raises(ResultError, match="not floating-point images of equal size"):
        read_image(path)


def test_a_picture_of_strange_shape_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "picture.tif"
    pixels = np.zeros((8, 8, 2), np.float32)
    tifffile.imwrite(path, pixels, photometric="minisblack", planarconfig="contig")
    with pytest.raises(ResultError, match=r"because its shape is \(8, 8, 2\)"):
        read_image(path)


def test_too_many_pages_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "pages.tif"
    tifffile.imwrite(path, np.zeros((600, 2, 2), np.float32), metadata=None)
    with pytest.raises(ResultError, match="because it has more than 512 pages"):
        read_image(path)


def slanted(path: Path, result: Result) -> np.ndarray:
    """Write layers of which the second has its own defocus in every pixel."""
    defocus = np.empty_like(result.mpi_alpha)
    defocus[:] = result.defocus_scales[:, None, None, None]
    defocus[1, 0] += np.linspace(-0.2, 0.3, 30, dtype=np.float32)
    write_mpi(path, result.mpi_color, result.mpi_alpha, result.defocus_scales, defocus)
    return defocus


def test_the_defocus_of_a_slanted_layer_comes_back(tmp_path: Path, make_result: MakeResult) -> None:
    defocus = slanted(tmp_path / "mpi.tif", make_result())
    mpi = read_multiplane_image(tmp_path / "mpi.tif")
    np.testing.assert_allclose(mpi.defocus, defocus, atol=1e-6)
    flat = read_multiplane_image(write_result(tmp_path / "flat.tif", make_result()))
    assert flat.defocus is None


def test_readers_that_do_not_know_the_defocus_of_pixels_see_the_layers(
    tmp_path: Path, make_result: MakeResult
) -> None:
    result = make_result(channels=3)
    slanted(tmp_path / "mpi.tif", result)
    color, alpha, scales = read_mpi(tmp_path / "mpi.tif")
    np.testing.assert_allclose(color, result.mpi_color, rtol=6e-4, atol=1e-7)
    np.testing.assert_allclose(alpha, result.mpi_alpha, rtol=6e-4, atol=1e-7)
    np.testing.assert_allclose(scales, result.defocus_scales)
    assert tifffile.imread(tmp_path / "mpi.tif").shape == (3, 20, 30, 4)


def test_a_page_of_defocus_of_another_size_is_refused(
    tmp_path: Path, make_result: MakeResult
) -> None:
    path = tmp_path / "mpi.tif"
    page = np.ones((20, 30, 4), np.float32)
    described = {"defocus_scale": 1.0, "channels": 1}
    with tifffile.TiffWriter(path) as writer:
        writer.write(
            page,
            photometric="rgb",
            extrasamples=["unassalpha"],
            subifds=1,
            metadata=None,
            description=json.dumps(described),
        )
        writer.write(np.ones((10, 30), np.float32), photometric="minisblack", metadata=None)
    with pytest.raises(ResultError, match="a page of defocus does not match its layer"):
        read_multiplane_image(path)


def test_defocus_that_is_not_finite_is_refused(tmp_path: Path, make_result: MakeResult) -> None:
    result = make_result()
    defocus = np.full_like(result.mpi_alpha, np.nan)
    path = tmp_path / "mpi.tif"
    write_mpi(path, result.mpi_color, result.mpi_alpha, result.defocus_scales, defocus)
    with pytest.raises(ResultError, match="a defocus is not finite"):
        read_multiplane_image(path)


def test_pages_are_deflated_tiles_that_other_programs_read(
    tmp_path: Path, make_result: MakeResult
) -> None:
    result = make_result(channels=3, height=300, width=520)
    path = write_result(tmp_path / "mpi.tif", result)
    with tifffile.TiffFile(path) as tiff:
        page = tiff.pages[1].aspage()
        assert (page.compression, page.predictor, page.tile) == (8, 1, (256, 256))
        assert json.loads(page.description)["version"] == 3
        np.testing.assert_array_equal(
            page.asarray()[..., 3], result.mpi_alpha[1, 0].astype(np.float16)
        )


def test_transparent_parts_take_no_space(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    color = rng.uniform(0.1, 1, (2, 1, 512, 512)).astype(np.float32)
    alpha = np.ones((2, 1, 512, 512), np.float32)
    write_mpi(tmp_path / "full.tif", color, alpha, [1.0, 0.5])
    alpha[1, 0, :, 100:] = 0
    write_mpi(tmp_path / "part.tif", color, alpha, [1.0, 0.5])
    full, part = ((tmp_path / name).stat().st_size for name in ("full.tif", "part.tif"))
    assert part / full == pytest.approx(0.5 + 0.5 * 101 / 512, abs=0.03)
    seen, opaque, _ = read_mpi(tmp_path / "part.tif")
    np.testing.assert_array_equal(opaque, alpha)
    np.testing.assert_allclose(seen[1, ..., :101], color[1, ..., :101], rtol=6e-4)
    assert not seen[1, ..., 101:].any()


def test_a_small_file_cannot_claim_large_layers(tmp_path: Path) -> None:
    path = tmp_path / "mpi.tif"
    nothing = np.zeros((1, 4000, 4000, 4), np.float32)
    described = json.dumps({"defocus_scale": 1.0, "channels": 3})
    tags = {"compression": "zlib", "tile": (256, 256), "metadata": None, "description": described}
    tifffile.imwrite(path, nothing, photometric="rgb", extrasamples=["unassalpha"], **tags)
    assert path.stat().st_size < 1_000_000
    with pytest.raises(ResultError, match="because its pages are larger than the file"):
        read_mpi(path)
