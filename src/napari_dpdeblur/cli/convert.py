"""`convert`: captures as 14-bit PNG pairs, as Xin et al. published theirs, or as float TIFFs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from napari_dpdeblur.cli.arguments import (
    add_capture_arguments,
    add_json_argument,
    add_output_argument,
    open_given_capture,
    print_result,
)
from napari_dpdeblur.errors import CaptureError

if TYPE_CHECKING:
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.cli.arguments import Subparsers

VIEWS = ("left", "right")


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "convert",
        help="write captures with square pixels as PNG or TIFF pairs",
        description="Write the two views of a capture, or of every capture in a folder, with "
        "square pixels. PNG: 16-bit grey on the 14-bit scale of the published scenes (black "
        "1024, white 16383). TIFF: float32, linear, (raw - black) / white.",
    )
    add_capture_arguments(parser)
    add_output_argument(parser)
    parser.add_argument(
        "--format",
        choices=("auto", "png", "tiff"),
        default="auto",
        help="auto: PNG where it loses nothing (one linear channel), else TIFF",
    )
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Convert one capture, or all captures of one folder."""
    from tqdm import tqdm

    from napari_dpdeblur.results.atomic_folder import atomic_folder

    pending = _pending(arguments)
    files: list[str] = []
    with atomic_folder(arguments.output, overwrite=False, known_files=()) as partial:
        for paths in tqdm(pending, desc="Converting", unit="capture", delay=1):
            given = argparse.Namespace(**{**vars(arguments), "capture": paths})
            files += write_pair(open_given_capture(given), partial, arguments.format)
    folder = str(arguments.output)
    print_result({"folder": folder, "files": files}, arguments.json)


def _pending(arguments: argparse.Namespace) -> list[tuple[Path, ...]]:
    """The files of each capture to convert."""
    from napari_dpdeblur.capture import find_captures

    given = arguments.capture
    if len(given) == 1 and given[0].is_dir():
        return find_captures(given[0]) or [tuple(given)]
    return [tuple(given)]


def write_pair(capture: DualPixelCapture, folder: Path, kind: str) -> list[str]:
    """Write both views with square pixels; return the names of the files."""
    square = capture.with_square_pixels()
    is_plain = square.shape[1] == 1 and square.encoding == "linear"
    if kind == "png" and not is_plain:
        raise CaptureError(
            f"{capture.name} has {square.shape[1]} {square.encoding} channels, but the PNG pair "
            "holds one linear channel; convert it to TIFF."
        )
    as_png = kind == "png" or (kind == "auto" and is_plain)
    names = [f"{capture.name}_{view}{'.png' if as_png else '.tif'}" for view in VIEWS]
    if (folder / names[0]).exists():
        raise CaptureError(
            f"Two captures are named {capture.name}; convert them one by one into folders of "
            "their own."
        )
    write = _write_png_pair if as_png else _write_tiff_pair
    write(square, [folder / name for name in names])
    return names


def _write_png_pair(capture: DualPixelCapture, paths: list[Path]) -> None:
    import cv2

    values = np.clip(np.rint(on_published_scale(capture)), 0, 65535).astype(np.uint16)
    for path, view in zip(paths, values[:, 0], strict=True):
        _, encoded = cv2.imencode(".png", view)
        path.write_bytes(encoded.tobytes())


def on_published_scale(capture: DualPixelCapture) -> np.ndarray:
    """Raw values (2, C, H, W) on the scale of the published scenes, black level at 1024."""
    from napari_dpdeblur.capture import pixel

    if capture.source.format == pixel.APP_PGM.id:
        # The app stretches 10-bit values to 65535, the published scenes hold 16 times them.
        gain = 1023 * 16 / 65535
        return pixel.published_values(capture) + (pixel.APP_BLACK - capture.black) * gain
    gain = pixel.PUBLISHED_WHITE / capture.white
    return (capture.raw.astype(np.float32) - capture.black) * gain + pixel.PUBLISHED_BLACK


def _write_tiff_pair(capture: DualPixelCapture, paths: list[Path]) -> None:
    from napari_dpdeblur.results.tiff_files import write_image

    for path, view in zip(paths, capture.views, strict=True):
        write_image(path, view, content=path.stem, unit=capture.unit)
