"""Interface of a capture file format, and checks common to all formats."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from napari_dpdeblur.capture.dual_pixel import DualPixelCapture, Source
from napari_dpdeblur.capture.header import CaptureHeader, ViewHeader
from napari_dpdeblur.errors import CaptureError


@dataclass(frozen=True)
class CapturePart:
    """One file of a capture, recognised by its name alone.

    ``side`` is 0 for the left view and 1 for the right one; ``partner`` is where the other view
    should be, None when one file holds both.
    """

    path: Path
    name: str
    side: int = 0
    partner: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """All files of the capture, left before right."""
        if self.partner is None:
            return (self.path,)
        return (self.path, self.partner) if self.side == 0 else (self.partner, self.path)

    @property
    def has_partner(self) -> bool:
        """Whether the file of the other view exists."""
        return self.partner is None or self.partner.exists()


@dataclass(frozen=True)
class Levels:
    """Levels (in raw units) and encoding set by the user; None: default of the format."""

    black: float | None = None
    white: float | None = None
    encoding: str | None = None

    def resolve(self, black: float, white: float) -> tuple[float, float]:
        """The levels to use, given the defaults of the format."""
        return (
            black if self.black is None else float(self.black),
            white if self.white is None else float(self.white),
        )


@dataclass(frozen=True)
class CaptureFormat:
    """A capture file format.

    ``locate`` recognises a file by its name, ``claims`` by its first bytes (raises only
    CaptureError and OSError), ``load`` reads the files of a capture, ``patterns`` are globs that
    find left views in a folder, ``example`` is a file name for messages. ``read_header`` describes
    a capture without decoding pixels; None: it is loaded.
    """

    id: str
    example: str
    patterns: tuple[str, ...]
    locate: Callable[[Path], CapturePart | None]
    claims: Callable[[CapturePart], bool]
    load: Callable[[CapturePart, Levels], DualPixelCapture]
    read_header: Callable[[CapturePart, Levels], CaptureHeader] | None = None


def pair_in_folder(
    path: Path, sides: tuple[str, str], suffixes: tuple[str, ...]
) -> CapturePart | None:
    """Recognise ``<name>_<side><suffix>`` with its partner in the same folder."""
    if path.suffix.lower() not in suffixes:
        return None
    for side, word in enumerate(sides):
        name = path.stem.removesuffix(f"_{word}")
        if name and name != path.stem:
            partner = path.with_name(f"{name}_{sides[1 - side]}{path.suffix}")
            return CapturePart(path, name, side, partner)
    return None


def read_views(part: CapturePart, read: Callable[[Path], np.ndarray]) -> np.ndarray:
    """Read both views as (2, C, H, W); ``read`` returns one file as (C, H, W)."""
    with ThreadPoolExecutor(len(part.files)) as pool:  # decoders run at the same time
        left, right = pool.map(read, part.files)
    _check_alike(part, left, right)
    return np.stack([left, right])


def read_view_headers(part: CapturePart, read: Callable[[Path], ViewHeader]) -> ViewHeader:
    """The header that both views share; ``read`` returns that of one file."""
    left, right = (read(path) for path in part.files)
    _check_alike(part, left, right)
    return left


def pair_header(
    part: CapturePart,
    format_id: str,
    view: ViewHeader,
    levels: tuple[float | None, float | None],
    **known: Any,
) -> CaptureHeader:
    """The header of a capture whose views are alike; ``known`` are further fields of it."""
    channels, height, width = view.shape
    files = tuple(str(path) for path in part.files)
    shape = (2, channels, height, width)
    return CaptureHeader(shape, str(view.dtype), *levels, part.name, format_id, files, **known)


def with_pixels(
    header: CaptureHeader, raw: np.ndarray, part: CapturePart, levels: tuple[float, float]
) -> DualPixelCapture:
    """The capture with this header and pixels (2, C, H, W); its files are hashed."""
    return DualPixelCapture(
        raw=raw,
        black=levels[0],
        white=levels[1],
        name=header.name,
        source=Source.of(header.format, part.files),
        pixel_aspect=header.pixel_aspect,
        row_upsampling=header.row_upsampling,
        orientation=header.orientation,
        encoding=header.encoding,
        optics=header.optics,
        notes=header.notes,
    )


def _check_alike(
    part: CapturePart, left: np.ndarray | ViewHeader, right: np.ndarray | ViewHeader
) -> None:
    left_path, right_path = part.files
    if left.dtype != right.dtype:
        raise CaptureError(
            f"{left_path.name} and {right_path.name} have different bit depths "
            f"({8 * left.dtype.itemsize} and {8 * right.dtype.itemsize} bits per value); "
            "both views must come from the same exposure."
        )
    if left.shape[0] != right.shape[0] and left.shape[1:] == right.shape[1:]:
        raise CaptureError(
            f"{left_path.name} and {right_path.name} have different numbers of channels "
            f"({left.shape[0]} and {right.shape[0]}); both views must come from the same exposure."
        )
    if left.shape != right.shape:
        raise CaptureError(
            f"{left_path.name} and {right_path.name} have different sizes "
            f"({_size(left.shape)} and {_size(right.shape)}); both views must come from the same "
            "exposure."
        )


def _size(shape: tuple[int, ...]) -> str:
    channels, height, width = shape
    return f"{width} x {height} px" + (f", {channels} channels" if channels > 1 else "")
