"""DualPixelCapture: both views of one exposure, their levels and their origin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.capture.camera_optics import CameraOptics
from napari_dpdeblur.capture.header import (
    LANDSCAPE,
    LINEAR,
    SRGB,
    UNIT,
    CaptureHeader,
    check_aspect,
    check_levels,
)
from napari_dpdeblur.capture.levels import black_warning, darkest_level, srgb_to_linear
from napari_dpdeblur.errors import CaptureError
from napari_dpdeblur.files import digest

STRIP_ROWS = 256


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
    half as many. ``invalid`` (H, W) marks invalid pixels; None: all are valid. ``optics`` is what
    is known about lens and sensor, ``notes`` are sentences about what was assumed.
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
    optics: CameraOptics | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_raw(self.raw, self.name)
        check_levels(self.black, self.white, self.name)
        check_aspect(self.pixel_aspect, self.name)
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
        values = self.linear(self.raw)
        values.setflags(write=False)
        return values

    def linear(self, raw: np.ndarray) -> np.ndarray:
        """Raw values (..., H, W) of this capture as float32 in linear units."""
        values = raw.astype(np.float32, order="C")
        for plane in values.reshape(-1, *values.shape[-2:]):  # one by one, to save memory
            plane -= np.float32(self.black)
            plane /= np.float32(self.white)
            np.maximum(plane, 0.0, out=plane)
            if self.encoding == SRGB:
                plane[:] = srgb_to_linear(plane)
            check_cancelled()
        return values

    def with_swapped_views(self) -> DualPixelCapture:
        """The capture with its left and right view exchanged."""
        return replace(self, raw=self.raw[::-1])

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

    def with_orientation(self, orientation: str) -> DualPixelCapture:
        """The capture with its views transposed, if it does not have this orientation yet."""
        turned = self.header.with_orientation(orientation)
        if orientation == self.orientation:
            return self
        return replace(
            self,
            raw=np.ascontiguousarray(self.raw.swapaxes(-1, -2)),
            pixel_aspect=turned.pixel_aspect,
            row_upsampling=turned.row_upsampling,
            orientation=orientation,
            invalid=None if self.invalid is None else self.invalid.T,
        )

    def with_optics(
        self, sensor_width_mm: float | None = None, **known: float | str | None
    ) -> DualPixelCapture:
        """The capture with these properties of its optics; None keeps what is known.

        ``known`` are fields of ``CameraOptics``. ``sensor_width_mm`` is the width of the part
        of the sensor that the picture shows, as it is stored; it gives the pixel pitch.
        """
        return replace(self, optics=self.header.with_optics(sensor_width_mm, **known).optics)

    @property
    def stored_width_px(self) -> int:
        """Columns of the files, which are the rows of a transposed capture."""
        return self.header.stored_width_px

    @property
    def header(self) -> CaptureHeader:
        """Everything but the pixels and what they say."""
        return CaptureHeader(
            self.shape,
            str(self.raw.dtype),
            self.black,
            self.white,
            self.name,
            self.source.format,
            self.source.files,
            self.pixel_aspect,
            self.row_upsampling,
            self.orientation,
            self.encoding,
            self.unit,
            self.optics,
            self.notes,
        )

    def _mean(self, side: int) -> float:
        """Mean of a view, in strips: as floats, large views would take much memory."""
        sums, rows = [], self.raw.shape[-2]
        for top in range(0, rows, STRIP_ROWS):
            strip = self.raw[side : side + 1, :, top : top + STRIP_ROWS]
            sums.append(float(self.linear(strip).sum(dtype=np.float64)))
        return sum(sums) / int(self.raw[side].size)

    def describe(self) -> dict[str, Any]:
        """Properties as plain values, ready for JSON: those of the header and of the pixels."""
        darkest = estimate_black(self)
        warning = black_warning(darkest, self.black, self.white)
        same = [
            "The two views are identical; unless the whole scene is in focus, one file is a copy "
            "of the other."
        ]
        described = self.header.describe()
        del described["warnings"]  # comes last
        return {
            **described,
            "sha256": list(self.source.sha256),
            "estimated_black": round(darkest, 1),
            "mean": [round(self._mean(side), 6) for side in (0, 1)],
            "clipped_fraction": round(float((self.raw >= self.white).mean()), 6),
            "invalid_fraction": 0.0 if self.invalid is None else float(self.invalid.mean()),
            "warnings": [
                *self.notes,
                *([] if warning is None else [warning]),
                *(same if np.array_equal(self.raw[0], self.raw[1]) else []),
            ],
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
