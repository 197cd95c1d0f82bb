"""DualPixelCapture: both views of one exposure, their levels and their origin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from napari_dpdeblur.capture.levels import black_warning, darkest_level, srgb_to_linear
from napari_dpdeblur.errors import CaptureError
from napari_dpdeblur.files import digest

MAX_PIXEL_ASPECT = 16.0
LANDSCAPE = "landscape"
TRANSPOSED = "transposed"
LINEAR = "linear"
SRGB = "srgb"
UNIT = "(raw - black) / white"


@dataclass(frozen=True)
class Source:
    """Origin of a capture: format id, file names, SHA-256 of each file."""

    format: str
    files: tuple[str, ...]
    sha256: tuple[str, ...]

    @classmethod
    def of(cls, format_id: str, files: Sequence[Path]) -> Source:
        """Hash the given files."""
        sums = tuple(_sha256(path) for path in files)
        return cls(format_id, tuple(str(path) for path in files), sums)


def _sha256(path: Path) -> str:
    try:
        return digest(path)
    except OSError as error:
        raise CaptureError(f"{path} cannot be read: {error.strerror or error}.") from error


@dataclass(frozen=True, eq=False, repr=False)
class DualPixelCapture:
    """The two dual-pixel views of one exposure, as read, with their levels and provenance.

    ``raw`` has the shape (2, C, H, W): left, right; C is 1 or 3; disparity runs along x. It is
    read-only. ``black`` and ``white`` are levels in raw units, ``pixel_aspect`` is the height of
    a pixel divided by its width, ``row_upsampling`` is 2 when the rows were interpolated from
    half as many. ``invalid`` (H, W) marks invalid pixels; None: all are valid.
    """

    raw: np.ndarray
    black: float
    white: float
    name: str
    source: Source
    pixel_aspect: float = 1.0
    row_upsampling: int = 1
    orientation: str = LANDSCAPE
    encoding: str = LINEAR
    unit: str = UNIT
    invalid: np.ndarray | None = None

    def __post_init__(self) -> None:
        _check_raw(self.raw, self.name)
        _check_levels(self.black, self.white, self.name)
        _check_aspect(self.pixel_aspect, self.name)
        self.raw.setflags(write=False)

    def __repr__(self) -> str:
        _, channels, height, width = self.shape
        return (
            f"<DualPixelCapture {self.name}: {height} x {width} px, {channels} "
            f"channel{'s' * (channels > 1)}, {self.raw.dtype}, pixel aspect {self.pixel_aspect:g}>"
        )

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Views, channels, rows, columns."""
        views, channels, height, width = self.raw.shape
        return views, channels, height, width

    @cached_property
    def views(self) -> np.ndarray:
        """Linear values (raw - black) / white, clipped at 0: float32 (2, C, H, W)."""
        values = (self.raw.astype(np.float32) - np.float32(self.black)) / np.float32(self.white)
        np.maximum(values, 0.0, out=values)
        if self.encoding == SRGB:
            values = srgb_to_linear(values)
        values.setflags(write=False)
        return values

    def with_square_pixels(self) -> DualPixelCapture:
        """The capture with rows interpolated (bilinearly) to square pixels."""
        factor = max(round(self.pixel_aspect), 1)
        if factor == 1:
            return self
        invalid = None if self.invalid is None else self.invalid.repeat(factor, axis=0)
        return replace(
            self,
            raw=_more_rows(self.raw, factor),
            pixel_aspect=self.pixel_aspect / factor,
            row_upsampling=self.row_upsampling * factor,
            invalid=invalid,
        )

    def cropped(self, top: int, left: int, height: int, width: int) -> DualPixelCapture:
        """A crop that starts at (top, left), in pixels of this capture."""
        _, _, rows, cols = self.shape
        fits_rows = 0 <= top < top + height <= rows
        fits_cols = 0 <= left < left + width <= cols
        if not (fits_rows and fits_cols):
            raise CaptureError(
                f"The crop of {height} x {width} px at ({top}, {left}) does not fit inside "
                f"{self.name} ({rows} x {cols} px)."
            )
        window = (slice(top, top + height), slice(left, left + width))
        invalid = None if self.invalid is None else self.invalid[window]
        return replace(self, raw=self.raw[(..., *window)], invalid=invalid)

    def describe(self) -> dict[str, Any]:
        """Properties as plain values, ready for JSON."""
        views, channels, height, width = self.shape
        darkest = estimate_black(self)
        warning = black_warning(darkest, self.black, self.white)
        return {
            "name": self.name,
            "format": self.source.format,
            "files": list(self.source.files),
            "sha256": list(self.source.sha256),
            "views": views,
            "channels": channels,
            "height_px": height,
            "width_px": width,
            "dtype": str(self.raw.dtype),
            "encoding": self.encoding,
            "unit": self.unit,
            "black": float(self.black),
            "white": float(self.white),
            "estimated_black": round(darkest, 1),
            "pixel_aspect": float(self.pixel_aspect),
            "row_upsampling": self.row_upsampling,
            "orientation": self.orientation,
            "mean": [round(float(view.mean()), 6) for view in self.views],
            "clipped_fraction": round(float((self.raw >= self.white).mean()), 6),
            "invalid_fraction": 0.0 if self.invalid is None else float(self.invalid.mean()),
            "warnings": [] if warning is None else [warning],
        }


def estimate_black(capture: DualPixelCapture) -> float:
    """Black level estimated from the darkest 0.1 % of the raw values.

    Only a hint: without dark areas in the scene it is far too high.
    """
    return darkest_level(capture.raw)


def _more_rows(raw: np.ndarray, factor: int) -> np.ndarray:
    """Bilinear interpolation of rows between pixel centres: (..., H, W) to (..., factor H, W)."""
    height, width = raw.shape[-2:]
    planes = raw.reshape(-1, height, width).astype(np.float32)
    size = (width, height * factor)
    tall = np.stack([cv2.resize(p, size, interpolation=cv2.INTER_LINEAR) for p in planes])
    return tall.reshape(*raw.shape[:-2], height * factor, width)


def _check_raw(raw: np.ndarray, name: str) -> None:
    if raw.ndim != 4 or raw.shape[0] != 2 or raw.shape[1] not in (1, 3) or raw.size == 0:
        raise CaptureError(
            f"{name}: a capture must have shape (2 views, 1 or 3 channels, rows, columns), "
            f"not {tuple(raw.shape)}."
        )
    if raw.dtype not in (np.uint8, np.uint16, np.float32):
        raise CaptureError(f"{name}: raw values must be uint8, uint16 or float32, not {raw.dtype}.")
    if raw.dtype == np.float32 and not np.isfinite(raw).all():
        raise CaptureError(f"{name}: raw values contain NaN or infinity.")


def _check_levels(black: float, white: float, name: str) -> None:
    if not (np.isfinite(black) and np.isfinite(white) and 0 <= black < white):
        raise CaptureError(
            f"{name}: the black level ({black:g}) must be at least 0 and below the white level "
            f"({white:g}); change the levels."
        )


def _check_aspect(pixel_aspect: float, name: str) -> None:
    # The number of rows is multiplied by it, so a large one would exhaust memory.
    if not 1 / MAX_PIXEL_ASPECT <= pixel_aspect <= MAX_PIXEL_ASPECT:
        raise CaptureError(
            f"{name}: the pixel aspect must be between 1/{MAX_PIXEL_ASPECT:g} and "
            f"{MAX_PIXEL_ASPECT:g}, not {pixel_aspect:g}."
        )
