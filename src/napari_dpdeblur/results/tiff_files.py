"""Read and write the TIFF files of a run: float32 images, and RGBA pages of the layers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import tifffile

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.files import open_regular
from napari_dpdeblur.files.plain import parse_json
from napari_dpdeblur.files.reading import accessing
from napari_dpdeblur.files.tiff_tiles import TILE_PX, PixelsOf, TiledPage
from napari_dpdeblur.optics.lazy_layers import LazyLayers, largest, one_ahead
from napari_dpdeblur.optics.mpi import MultiplaneImage

SOFTWARE = "napari-dpdeblur"
MAX_PIXELS = 200_000_000
MAX_LAYERS = 512
# Of pages: 1, which was not written out; 2 with their own defocus below; 3 of compressed tiles.
TILED_VERSION = 3
CLASSIC_TIFF_BYTES = 3_900_000_000
# Pages of a compressed file may be this many times larger than the file, and so large anyway: a
# small file cannot fill the memory.
MAX_COMPRESSION = 200
HARMLESS_BYTES = 100_000_000
CONSTANT_DEFOCUS = 1e-4  # a layer whose defocus varies less has none of its own
# float16 has 11 bits: enough for images in this range, at half the size of float32.
HALF_PRECISION_RANGE = (1e-2, 3e4)


def write_image(path: Path, image: FloatArray, **description: Any) -> None:
    """Write (H, W) or (C, H, W), C = 1 or 3, as a float32 page (H, W) or (H, W, 3)."""
    pixels = image[0] if image.ndim == 3 and image.shape[0] == 1 else image
    color = pixels.ndim == 3
    pixels = np.moveaxis(pixels, 0, -1) if color else pixels
    tifffile.imwrite(
        path,
        np.ascontiguousarray(pixels, dtype=np.float32),
        photometric="rgb" if color else "minisblack",
        description=json.dumps(description),
        software=SOFTWARE,
        metadata=None,
    )


def read_image(path: Path) -> FloatArray:
    """Read an image written by `write_image`, as (C, H, W) float32."""
    pixels = _read_pages(path)[0][0]
    if pixels.ndim == 2:
        pixels = pixels[..., np.newaxis]
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3):
        raise _unreadable(path, f"its shape is {pixels.shape}")
    return np.ascontiguousarray(np.moveaxis(pixels, -1, 0), dtype=np.float32)


def write_mpi(
    path: Path,
    color: FloatArray | LazyLayers,
    alpha: FloatArray | LazyLayers,
    defocus_scales: npt.ArrayLike,
    defocus: FloatArray | LazyLayers | None = None,
) -> None:
    """Write the layers, back to front, as RGBA pages with straight alpha.

    `color` (L, C, H, W), `alpha` (L, 1, H, W), `defocus_scales` (L,). The description of each
    page is JSON with the layer's index, its defocus scale and the number of channels: a single
    channel is stored as red, green and blue. `defocus` (L, 1, H, W) is stored for layers in which
    it varies, as a page below that of the layer (SubIFD), which programs that do not know it skip.
    Pages consist of tiles compressed with Deflate; of transparent parts no colour is stored.
    """
    scales = np.asarray(defocus_scales, dtype=np.float64)
    layers, channels, height, width = color.shape
    page = TiledPage(height, width, 4, _page_dtype(color))
    below = TiledPage(height, width, 1, np.float32)
    # Classic TIFF is limited to 4 GB.
    big = layers * height * width * (4 * np.dtype(page.dtype).itemsize + 4) > CLASSIC_TIFF_BYTES
    with tifffile.TiffWriter(path, bigtiff=big) as writer:
        for layer, (own_color, own_alpha, own_defocus) in enumerate(
            one_ahead(color, alpha, defocus)
        ):
            varying = None if own_defocus is None else _varying(own_defocus[0], scales[layer])
            description = _page_description(layer, layers, channels, scales[layer])
            pixels = _rgba(own_color, own_alpha[0], page.dtype)
            _write_tiles(
                writer,
                page,
                pixels,
                photometric="rgb",
                extrasamples=["unassalpha"],
                description=json.dumps(description | {"version": TILED_VERSION}),
                software=SOFTWARE,
                subifds=0 if varying is None else 1,
            )
            if varying is not None:
                _write_tiles(writer, below, _plain_tiles(varying), photometric="minisblack")


def _write_tiles(
    writer: tifffile.TiffWriter, page: TiledPage, pixels: PixelsOf, **tags: Any
) -> None:
    writer.write(
        page.compressed(pixels),
        shape=page.shape,
        dtype=page.dtype,
        tile=page.tile,
        compression="zlib",
        metadata=None,
        **tags,
    )


def _rgba(color: FloatArray, alpha: FloatArray, dtype: type[np.floating]) -> PixelsOf:
    """Pixels of a layer: colour (C, H, W) with alpha (H, W); 0 where it is transparent.

    Next to what is opaque the colour stays, so that it can be interpolated.
    """

    def pixels(rows: slice, cols: slice) -> npt.NDArray[np.floating] | None:
        top, left = max(rows.start - 1, 0), max(cols.start - 1, 0)
        around = alpha[top : rows.stop + 1, left : cols.stop + 1] > 0
        if not around.any():
            return None
        tile = np.empty((rows.stop - rows.start, cols.stop - cols.start, 4), dtype)
        tile[..., :3] = np.moveaxis(color[:, rows, cols].astype(dtype), 0, -1)
        tile[..., 3] = alpha[rows, cols]
        if not around.all():
            seen = cv2.dilate(around.astype(np.uint8), np.ones((3, 3), np.uint8))
            first_row, first_col = rows.start - top, cols.start - left
            tile[seen[first_row:, first_col:][: tile.shape[0], : tile.shape[1]] == 0] = 0
        return tile

    return pixels


def _varying(defocus: FloatArray, scale: float) -> FloatArray | None:
    """Defocus (H, W) of a layer as stored; None if it is that of the whole layer."""
    is_constant = bool(np.abs(defocus - scale).max() < CONSTANT_DEFOCUS)
    return None if is_constant else np.ascontiguousarray(defocus, np.float32)


def _plain_tiles(values: FloatArray) -> PixelsOf:
    return lambda rows, cols: values[rows, cols]


def read_mpi(path: Path) -> tuple[FloatArray, FloatArray, npt.NDArray[np.float64]]:
    """Read `mpi.tif`, or that of a run folder: colour, alpha and defocus scales.

    Shapes (L, C, H, W), (L, 1, H, W) and (L,), back to front, float32.
    """
    path = _mpi_file(path)
    return _layers_of(path, *_read_pages(path, may_be_tiled=True))


def read_multiplane_image(path: Path) -> MultiplaneImage:
    """Read `mpi.tif`, or that of a run folder, with the defocus of slanted layers."""
    path = _mpi_file(path)
    below: dict[int, npt.NDArray[np.floating]] = {}
    color, alpha, scales = _layers_of(path, *_read_pages(path, below, may_be_tiled=True))
    if not below:
        return MultiplaneImage(color, alpha, scales)
    defocus = np.empty_like(alpha)
    for layer, scale in enumerate(scales):
        defocus[layer, 0] = below.get(layer, np.float32(scale))
    if not np.isfinite(defocus).all():
        raise _unreadable(path, "a defocus is not finite")
    return MultiplaneImage(color, alpha, scales, defocus)


def _mpi_file(path: Path) -> Path:
    """The file itself, or that of a run folder."""
    with accessing(path, ResultError):
        return Path(path) / "mpi.tif" if Path(path).is_dir() else Path(path)


def _layers_of(
    path: Path, pages: list[npt.NDArray[np.floating]], descriptions: list[str]
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.float64]]:
    """Colour, alpha and defocus scales of RGBA pages."""
    try:
        entries = [parse_json(text) for text in descriptions]
        scales = np.array([float(entry["defocus_scale"]) for entry in entries])
        channels = int(entries[0]["channels"])
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise _unreadable(path, "its pages have no defocus scales") from error
    if pages[0].ndim != 3 or pages[0].shape[2] != 4 or channels not in (1, 3):
        raise _unreadable(path, "its pages are not RGBA images")
    if not np.isfinite(scales).all():
        raise _unreadable(path, "a defocus scale is not finite")
    shape = (len(pages), channels, *pages[0].shape[:2])
    color, alpha = np.empty(shape, np.float32), np.empty((shape[0], 1, *shape[2:]), np.float32)
    for layer, page in enumerate(pages):
        color[layer] = np.moveaxis(page[..., :channels], -1, 0)
        alpha[layer, 0] = page[..., 3]
    return color, alpha, scales


def _page_dtype(color: FloatArray | LazyLayers) -> type[np.float16] | type[np.float32]:
    lowest, highest = HALF_PRECISION_RANGE
    found = color.magnitude() if isinstance(color, LazyLayers) else largest(color)
    return np.float16 if lowest < found < highest else np.float32


def _page_description(layer: int, layers: int, channels: int, scale: float) -> dict[str, Any]:
    return {
        "defocus_scale": float(scale),
        "layer": layer,
        "layers": layers,
        "order": "back to front",
        "channels": channels,
    }


def _read_pages(
    path: Path,
    below: dict[int, npt.NDArray[np.floating]] | None = None,
    may_be_tiled: bool = False,
) -> tuple[list[npt.NDArray[np.floating]], list[str]]:
    """Read all pages of a file of floating-point pages of equal shape.

    ``below`` is filled with the pages below them, by the index of the page above. Without
    ``may_be_tiled``, compressed tiles are refused.
    """
    with accessing(path, ResultError):
        if not path.is_file():
            raise ResultError(f"{path} does not exist; choose a complete run folder.")
    try:
        with (
            open_regular(path) as (file, size_bytes),
            tifffile.TiffFile(file, name=path.name) as tiff,
        ):
            check = _PageCheck(path, size_bytes, may_be_tiled)
            pages = _checked_pages(check, tiff)
            if below is not None:
                below.update(_pages_below(check, pages))
            return [page.asarray() for page in pages], [page.description for page in pages]
    except ResultError:
        raise
    except Exception as error:  # a damaged file makes the decoder fail in many ways
        raise _unreadable(path, "it is damaged or not a TIFF file") from error


@dataclass
class _PageCheck:
    """Refuses pages not written by this package, before anything is decoded.

    Without compression, pages cannot be larger than the file, and with it not much larger, so a
    small file cannot fill the memory.
    """

    path: Path
    size_bytes: int
    may_be_tiled: bool
    declared: int = 0

    def __call__(self, page: tifffile.TiffPage, first: tifffile.TiffPage) -> None:
        self.declared += page.nbytes
        is_tiled = self.may_be_tiled and _has_deflated_tiles(page)
        reason = _page_problem(page, first) or (None if is_tiled else _storage_problem(page))
        limit = max(MAX_COMPRESSION * self.size_bytes, HARMLESS_BYTES)
        if reason is None and self.declared > (limit if is_tiled else self.size_bytes):
            reason = "its pages are larger than the file"
        if reason is not None:
            raise _unreadable(self.path, reason)


def _checked_pages(check: _PageCheck, tiff: tifffile.TiffFile) -> list[tifffile.TiffPage]:
    pages: list[tifffile.TiffPage] = []
    # One by one: a damaged file may reference the same page repeatedly.
    for page in (page.aspage() for page in tiff.pages):
        pages.append(page)
        check(page, pages[0])
        if len(pages) > MAX_LAYERS:
            raise _unreadable(check.path, f"it has more than {MAX_LAYERS} pages")
    if not pages:
        raise _unreadable(check.path, "it has no pages")
    return pages


def _pages_below(
    check: _PageCheck, pages: list[tifffile.TiffPage]
) -> dict[int, npt.NDArray[np.floating]]:
    """Single-channel pages of the same size below some pages, by the index of that page."""
    found: dict[int, npt.NDArray[np.floating]] = {}
    for index, page in enumerate(pages):
        if not page.subifds:
            continue
        inner = page.pages[0].aspage() if page.pages else None
        if inner is None or inner.shape != page.shape[:2]:
            raise _unreadable(check.path, "a page of defocus does not match its layer")
        check(inner, inner)
        found[index] = inner.asarray()
    return found


def _page_problem(page: tifffile.TiffPage, first: tifffile.TiffPage) -> str | None:
    if page.dtype not in (np.float16, np.float32) or page.shape != first.shape or not page.nbytes:
        return "its pages are not floating-point images of equal size"
    if int(np.prod(page.shape[:2])) > MAX_PIXELS:
        return f"it is larger than {MAX_PIXELS // 10**6} megapixels"
    return None


def _storage_problem(page: tifffile.TiffPage) -> str | None:
    if page.compression != tifffile.COMPRESSION.NONE or page.predictor != 1:
        return "it is compressed"
    if page.is_tiled or page.is_volumetric:
        return "it is tiled"
    return None


def _has_deflated_tiles(page: tifffile.TiffPage) -> bool:
    """Whether a page is stored as `write_mpi` does."""
    is_deflate = page.compression == tifffile.COMPRESSION.ADOBE_DEFLATE and page.predictor == 1
    is_small = max(page.tilewidth, page.tilelength) <= TILE_PX
    return is_deflate and page.is_tiled and is_small and not page.is_volumetric


def _unreadable(path: Path, reason: str) -> ResultError:
    return ResultError(
        f"{path} cannot be read because {reason}; use the original file or repeat the fit."
    )
