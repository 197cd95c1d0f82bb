"""Read and write the TIFF files of a run: float32 images, and RGBA pages of the layers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tifffile

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.files import open_regular
from napari_dpdeblur.files.plain import parse_json
from napari_dpdeblur.files.reading import accessing
from napari_dpdeblur.optics.mpi import MultiplaneImage

SOFTWARE = "napari-dpdeblur"
MAX_PIXELS = 200_000_000
MAX_LAYERS = 512
DEFOCUS_VERSION = 2  # of a page with its own defocus below it; version 1 is not written out
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
    color: FloatArray,
    alpha: FloatArray,
    defocus_scales: npt.ArrayLike,
    defocus: FloatArray | None = None,
) -> None:
    """Write the layers, back to front, as RGBA pages with straight alpha.

    `color` (L, C, H, W), `alpha` (L, 1, H, W), `defocus_scales` (L,). The description of each
    page is JSON with the layer's index, its defocus scale and the number of channels: a single
    channel is stored as red, green and blue. `defocus` (L, 1, H, W) is stored for layers in which
    it varies, as a page below that of the layer (SubIFD), which programs that do not know it skip.
    """
    scales = np.asarray(defocus_scales, dtype=np.float64)
    layers, channels, height, width = color.shape
    dtype = _page_dtype(color)
    page = np.empty((height, width, 4), dtype)
    # Classic TIFF is limited to 4 GB.
    big = layers * page.nbytes > 3_900_000_000
    with tifffile.TiffWriter(path, bigtiff=big) as writer:
        for layer in range(layers):
            varying = None if defocus is None else _varying(defocus[layer, 0], scales[layer])
            page[..., :3] = np.moveaxis(color[layer].astype(dtype), 0, -1)
            page[..., 3] = alpha[layer, 0]
            writer.write(
                page,
                photometric="rgb",
                extrasamples=["unassalpha"],
                description=json.dumps(
                    _page_description(layer, layers, channels, scales[layer])
                    | ({} if varying is None else {"version": DEFOCUS_VERSION})
                ),
                software=SOFTWARE,
                metadata=None,
                subifds=0 if varying is None else 1,
            )
            if varying is not None:
                writer.write(varying, photometric="minisblack", metadata=None)


def _varying(defocus: FloatArray, scale: float) -> FloatArray | None:
    """Defocus (H, W) of a layer as stored; None if it is that of the whole layer."""
    is_constant = bool(np.abs(defocus - scale).max() < CONSTANT_DEFOCUS)
    return None if is_constant else np.ascontiguousarray(defocus, np.float32)


def read_mpi(path: Path) -> tuple[FloatArray, FloatArray, npt.NDArray[np.float64]]:
    """Read `mpi.tif`, or that of a run folder: colour, alpha and defocus scales.

    Shapes (L, C, H, W), (L, 1, H, W) and (L,), back to front, float32.
    """
    path = _mpi_file(path)
    return _layers_of(path, *_read_pages(path))


def read_multiplane_image(path: Path) -> MultiplaneImage:
    """Read `mpi.tif`, or that of a run folder, with the defocus of slanted layers."""
    path = _mpi_file(path)
    below: dict[int, npt.NDArray[np.floating]] = {}
    color, alpha, scales = _layers_of(path, *_read_pages(path, below))
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


def _page_dtype(color: FloatArray) -> type[np.float16] | type[np.float32]:
    lowest, highest = HALF_PRECISION_RANGE
    return np.float16 if lowest < float(np.abs(color).max()) < highest else np.float32


def _page_description(layer: int, layers: int, channels: int, scale: float) -> dict[str, Any]:
    return {
        "defocus_scale": float(scale),
        "layer": layer,
        "layers": layers,
        "order": "back to front",
        "channels": channels,
    }


def _read_pages(
    path: Path, below: dict[int, npt.NDArray[np.floating]] | None = None
) -> tuple[list[npt.NDArray[np.floating]], list[str]]:
    """Read all pages of an uncompressed file of floating-point pages of equal shape.

    ``below`` is filled with the pages below them, by the index of the page above.
    """
    with accessing(path, ResultError):
        if not path.is_file():
            raise ResultError(f"{path} does not exist; choose a complete run folder.")
    try:
        with (
            open_regular(path) as (file, size_bytes),
            tifffile.TiffFile(file, name=path.name) as tiff,
        ):
            pages = _checked_pages(path, tiff, size_bytes)
            if below is not None:
                below.update(_pages_below(path, pages, size_bytes))
            return [page.asarray() for page in pages], [page.description for page in pages]
    except ResultError:
        raise
    except Exception as error:  # a damaged file makes the decoder fail in many ways
        raise _unreadable(path, "it is damaged or not a TIFF file") from error


def _checked_pages(path: Path, tiff: tifffile.TiffFile, size_bytes: int) -> list[tifffile.TiffPage]:
    """Refuse files not written by this package, before anything is decoded.

    Without compression, pages cannot be larger than the file, so a small file cannot fill memory.
    """
    pages: list[tifffile.TiffPage] = []
    declared = 0
    # One by one: a damaged file may reference the same page repeatedly.
    for page in (page.aspage() for page in tiff.pages):
        pages.append(page)
        declared += page.nbytes
        reason = _page_problem(page, pages[0])
        if reason is None and declared > size_bytes:
            reason = "its pages are larger than the file"
        if len(pages) > MAX_LAYERS:
            reason = f"it has more than {MAX_LAYERS} pages"
        if reason is not None:
            raise _unreadable(path, reason)
    if not pages:
        raise _unreadable(path, "it has no pages")
    return pages


def _pages_below(
    path: Path, pages: list[tifffile.TiffPage], size_bytes: int
) -> dict[int, npt.NDArray[np.floating]]:
    """Single-channel pages of the same size below some pages, by the index of that page."""
    found: dict[int, npt.NDArray[np.floating]] = {}
    declared = sum(page.nbytes for page in pages)
    for index, page in enumerate(pages):
        if not page.subifds:
            continue
        inner = page.pages[0].aspage() if page.pages else None
        if inner is None or inner.shape != page.shape[:2]:
            raise _unreadable(path, "a page of defocus does not match its layer")
        declared += inner.nbytes
        reason = _page_problem(inner, inner)
        if reason is None and declared > size_bytes:
            reason = "its pages are larger than the file"
        if reason is not None:
            raise _unreadable(path, reason)
        found[index] = inner.asarray()
    return found


def _page_problem(page: tifffile.TiffPage, first: tifffile.TiffPage) -> str | None:
    if page.dtype not in (np.float16, np.float32) or page.shape != first.shape or not page.nbytes:
        return "its pages are not floating-point images of equal size"
    if page.compression != tifffile.COMPRESSION.NONE or page.predictor != 1:
        return "it is compressed"
    if page.is_tiled or page.is_volumetric:
        return "it is tiled"
    if int(np.prod(page.shape[:2])) > MAX_PIXELS:
        return f"it is larger than {MAX_PIXELS // 10**6} megapixels"
    return None


def _unreadable(path: Path, reason: str) -> ResultError:
    return ResultError(
        f"{path} cannot be read because {reason}; use the original file or repeat the fit."
    )
