"""Write the two views of a capture as a pair of PNG (published layout) or TIFF files."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.capture.pixel import published_values
from napari_dpdeblur.errors import CaptureError
from napari_dpdeblur.results.tiff_files import write_image

VIEWS = ("left", "right")


def write_pair(capture: DualPixelCapture, folder: Path, kind: str) -> list[str]:
    """Write both views with square pixels; returns the file names."""
    square = capture.with_square_pixels()
    is_plain = square.shape[1] == 1 and square.encoding == "linear"
    if kind == "png" and not is_plain:
        raise CaptureError(
            f"{capture.name} has {square.shape[1]} {square.encoding} channels, but the PNG pair "
            "stores one linear channel; convert it to TIFF."
        )
    as_png = kind == "png" or (kind == "auto" and is_plain)
    names = [f"{capture.name}_{view}{'.png' if as_png else '.tif'}" for view in VIEWS]
    if (folder / names[0]).exists():
        raise CaptureError(
            f"Two captures are named {capture.name}; convert them separately into different "
            "folders."
        )
    write = _write_png_pair if as_png else _write_tiff_pair
    write(square, [folder / name for name in names])
    return names


def _write_png_pair(capture: DualPixelCapture, paths: list[Path]) -> None:
    values = np.clip(np.rint(published_values(capture)), 0, 65535).astype(np.uint16)
    for path, view in zip(paths, values[:, 0], strict=True):
        _, encoded = cv2.imencode(".png", view)
        path.write_bytes(encoded.tobytes())


def _write_tiff_pair(capture: DualPixelCapture, paths: list[Path]) -> None:
    for path, view in zip(paths, capture.views, strict=True):
        write_image(path, view, content=path.stem, unit=capture.unit)
