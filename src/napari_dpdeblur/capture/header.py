"""CaptureHeader: what the files of a capture say about it, before any pixel is decoded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from napari_dpdeblur.capture.camera_optics import CameraOptics
from napari_dpdeblur.errors import CaptureError

MAX_PIXEL_ASPECT = 16.0
LANDSCAPE = "landscape"
TRANSPOSED = "transposed"
ORIENTATIONS = (LANDSCAPE, TRANSPOSED)
LINEAR = "linear"
SRGB = "srgb"
ENCODINGS = (SRGB, LINEAR)
UNIT = "(raw - black) / white"


@dataclass(frozen=True)
class ViewHeader:
    """Shape (C, H, W) and type of one view, as its file declares them."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class CaptureHeader:
    """A capture without its pixels; fields as in :class:`DualPixelCapture`.

    ``shape`` is (2, C, H, W), ``format`` the id of the file format. ``black`` and ``white`` are
    None where only the pixels tell them.
    """

    shape: tuple[int, int, int, int]
    dtype: str
    black: float | None
    white: float | None
    name: str
    format: str
    files: tuple[str, ...]
    pixel_aspect: float = 1.0
    row_upsampling: int = 1
    orientation: str = LANDSCAPE
    encoding: str = LINEAR
    unit: str = UNIT
    optics: CameraOptics | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_levels(self.black, self.white, self.name)
        check_aspect(self.pixel_aspect, self.name)

    @property
    def stored_width_px(self) -> int:
        """Columns of the files, which are the rows of a transposed capture."""
        return self.shape[-2 if self.orientation == TRANSPOSED else -1]

    def with_orientation(self, orientation: str) -> CaptureHeader:
        """The header of the transposed capture, if it does not have this orientation yet."""
        if orientation not in ORIENTATIONS:
            raise CaptureError(
                f"The orientation must be {' or '.join(ORIENTATIONS)}, not {orientation!r}."
            )
        if orientation == self.orientation:
            return self
        views, channels, height, width = self.shape
        return replace(
            self,
            shape=(views, channels, width, height),
            pixel_aspect=1 / self.pixel_aspect,
            row_upsampling=1,
            orientation=orientation,
        )

    def with_optics(
        self, sensor_width_mm: float | None = None, **known: float | str | None
    ) -> CaptureHeader:
        """The header with these properties of the optics; see `DualPixelCapture.with_optics`."""
        if sensor_width_mm is not None:
            known["pixel_pitch_um"] = 1e3 * sensor_width_mm / self.stored_width_px
        optics = (self.optics or CameraOptics()).updated(CameraOptics.of(known))
        return replace(self, optics=optics if optics.known() else None)

    def describe(self) -> dict[str, Any]:
        """Properties as plain values, ready for JSON; unknown levels are None."""
        views, channels, height, width = self.shape
        return {
            "name": self.name,
            "format": self.format,
            "files": list(self.files),
            "views": views,
            "channels": channels,
            "height_px": height,
            "width_px": width,
            "dtype": self.dtype,
            "encoding": self.encoding,
            "unit": self.unit,
            "black": None if self.black is None else float(self.black),
            "white": None if self.white is None else float(self.white),
            "pixel_aspect": float(self.pixel_aspect),
            "row_upsampling": self.row_upsampling,
            "orientation": self.orientation,
            "warnings": list(self.notes),
            **({} if self.optics is None else {"optics": self.optics.describe()}),
        }


def check_levels(black: float | None, white: float | None, name: str) -> None:
    """Raise CaptureError unless 0 <= black < white, as far as they are known."""
    low, high = 0.0 if black is None else black, np.inf if white is None else white
    is_finite = all(np.isfinite(level) for level in (black, white) if level is not None)
    if not (is_finite and 0 <= low < high):
        raise CaptureError(
            f"{name}: the black level ({low:g}) must be at least 0 and below the white level "
            f"({high:g}); change the levels."
        )


def check_aspect(pixel_aspect: float, name: str) -> None:
    """Raise CaptureError if the height of a pixel is absurd."""
    # The number of rows is multiplied by it, so a large one would exhaust memory.
    if not 1 / MAX_PIXEL_ASPECT <= pixel_aspect <= MAX_PIXEL_ASPECT:
        raise CaptureError(
            f"{name}: the pixel aspect must be between 1/{MAX_PIXEL_ASPECT:g} and "
            f"{MAX_PIXEL_ASPECT:g}, not {pixel_aspect:g}."
        )
