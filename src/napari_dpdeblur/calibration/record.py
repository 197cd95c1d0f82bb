"""The calibration of one camera: blur kernels and vignetting, immutable."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from napari_dpdeblur.calibration.file_schema import check_diagnostics, check_verdict
from napari_dpdeblur.calibration.sides import (
    DERIVED,
    FRONT,
    MEASURED,
    check_front_grid,
    check_front_scale,
)
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.optics.kernel_check import check_kernels

if TYPE_CHECKING:
    from napari_dpdeblur.optics import KernelGrid
    from napari_dpdeblur.optics.lens_model import LensModel

VIGNETTING_BOX_PX = 101
ASPECT_TOLERANCE = 1e-3
MAX_FRAME_PX = 100_000
MAX_EXCESS_PX2 = 100.0
OFF_CENTRE = 0.1  # of the frame: a field farther from its middle is not centred
ESTIMATE = "estimate"  # the format in `source` of a lens that was estimated from captures


@dataclass(frozen=True)
class Field:
    """The part of the frame that the kernels cover, in square pixels."""

    top: int
    left: int
    height: int
    width: int

    @property
    def window(self) -> tuple[slice, slice]:
        """Rows and columns, as an index into an array of the frame."""
        return (
            slice(self.top, self.top + self.height),
            slice(self.left, self.left + self.width),
        )

    def is_centred(self, frame_shape: tuple[int, ...]) -> bool:
        """Whether the middle of the field is that of the frame, within a tenth of its size."""
        middle = (self.top + self.height / 2, self.left + self.width / 2)
        return all(
            abs(at - size / 2) <= OFF_CENTRE * size
            for at, size in zip(middle, frame_shape, strict=True)
        )

    def holds(self, top: int, left: int, height: int, width: int) -> bool:
        """Whether a rectangle in pixels of the field is non-empty and inside it."""
        in_rows = 0 <= top < top + height <= self.height
        return in_rows and 0 <= left < left + width <= self.width

    def __str__(self) -> str:
        return f"{self.height} x {self.width} px at ({self.top}, {self.left})"


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """Blur kernels at defocus scale 1 and vignetting of one camera.

    ``kernels`` (P, 2, K, K) float32: P = rows * cols tiles in row-major order over ``field``;
    left, right. ``frame_shape`` is the height and width of the whole frame in square pixels.
    ``vignetting`` (2, H, W) float32: linear white captures W_l, W_r of the whole frame, black
    subtracted; None: no correction. ``lens_constants`` A, B of d = A + B / Z.
    ``excess_variance_px2`` (y, x): how much wider the kernels are than the blur of the lens, owing
    to how they were measured. ``diagnostics``: small arrays of a calibration run for display; they
    do not affect results. ``front_kernels`` like ``kernels``: measured in front of the focus plane,
    at the negative defocus scale ``front_scale``; None: the kernels behind it, turned by 180
    degrees, serve both sides, and ``front_scale`` has no meaning.
    """

    kernels: np.ndarray
    rows: int
    cols: int
    field: Field
    frame_shape: tuple[int, int]
    vignetting: np.ndarray | None = None
    camera: str = "unknown camera"
    focus_distance_m: float | None = None
    captured_on: str | None = None
    verdict: dict[str, Any] | None = None
    lens_constants: tuple[float, float] | None = None
    source: dict[str, Any] = dataclasses.field(default_factory=dict)
    orientation: str = "landscape"
    diagnostics: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    excess_variance_px2: tuple[float, float] = (0.0, 0.0)
    front_kernels: np.ndarray | None = None
    front_scale: float = -1.0

    def __post_init__(self) -> None:
        check_kernels(np.asarray(self.kernels), self.rows, self.cols)
        self._check_geometry()
        object.__setattr__(self, "kernels", _frozen(self.kernels))
        if self.front_kernels is not None:
            check_front_grid(np.asarray(self.front_kernels), self.kernels, self.rows, self.cols)
            check_front_scale(self.front_scale)
            object.__setattr__(self, "front_kernels", _frozen(self.front_kernels))
        if self.vignetting is not None:
            self._check_vignetting(self.vignetting)
            object.__setattr__(self, "vignetting", _frozen(self.vignetting))
        check_verdict(self.verdict, self.rows * self.cols)
        check_diagnostics(self.diagnostics, self.frame_shape)

    def __repr__(self) -> str:
        return (
            f"<Calibration of {self.camera}: {self.rows} x {self.cols} tiles of "
            f"{self.kernels.shape[-1]} px, field of {self.field}>"
        )

    def _check_geometry(self) -> None:
        area, (height, width) = self.field, self.frame_shape
        if max(height, width) > MAX_FRAME_PX:
            raise CalibrationError(
                f"The frame of this calibration is larger than {MAX_FRAME_PX} px; the file is "
                "damaged."
            )
        inside = area.top >= 0 and area.left >= 0
        inside &= area.top + area.height <= height and area.left + area.width <= width
        if not inside or not 0 < self.rows <= area.height or not 0 < self.cols <= area.width:
            raise CalibrationError(
                f"The calibrated field of {area} with {self.rows} x {self.cols} tiles does not "
                f"fit inside the frame of {height} x {width} px."
            )
        if not all(0 <= variance <= MAX_EXCESS_PX2 for variance in self.excess_variance_px2):
            raise CalibrationError(
                f"The excess variance of this calibration is {self.excess_variance_px2} px^2; it "
                f"must be between 0 and {MAX_EXCESS_PX2:g}."
            )

    def _check_vignetting(self, white: np.ndarray) -> None:
        if white.shape != (2, *self.frame_shape):
            raise CalibrationError(
                f"The white captures have shape {white.shape}, but the frame of this calibration "
                f"needs {(2, *self.frame_shape)}; use the same camera settings for both."
            )
        if not (np.isfinite(white).all() and (white > 0).all()):
            raise CalibrationError(
                "The white captures have invalid pixels (NaN, zero or negative after black "
                "subtraction); capture a brighter white sheet."
            )

    @cached_property
    def vignetting_ratio(self) -> np.ndarray | None:
        """Correction factor of the right view: box mean of W_l / W_r, float32 (H, W)."""
        if self.vignetting is None:
            return None
        left, right = self.vignetting.astype(np.float32)
        box = (VIGNETTING_BOX_PX, VIGNETTING_BOX_PX)
        smooth = cv2.blur(left / right, box, borderType=cv2.BORDER_REPLICATE)
        return np.asarray(smooth, np.float32)

    def prepare(self, capture: DualPixelCapture) -> np.ndarray:
        """Corrected views of the field: (2, C, field.height, field.width) float32, linear.

        Square pixels, cropped to the field, the right view times the vignetting ratio; the fall-off
        common to both views stays. A capture of the size of the field is taken as the field.
        """
        square = capture.with_square_pixels()
        size = square.raw.shape[-2:]
        has_frame = size == self.frame_shape
        has_field = size == (self.field.height, self.field.width)
        is_square = abs(square.pixel_aspect - 1) < ASPECT_TOLERANCE
        if not is_square or not (has_frame or has_field) or capture.orientation != self.orientation:
            raise CalibrationError(self._mismatch(square))
        views = square.linear(square.raw[(..., *self.field.window)] if has_frame else square.raw)
        if self.vignetting_ratio is not None:
            views[1] *= self.vignetting_ratio[self.field.window]
        return views

    def _mismatch(self, capture: DualPixelCapture) -> str:
        height, width = capture.raw.shape[-2:]
        return (
            f"The capture {capture.name} ({height} x {width} px, {capture.orientation}, pixel "
            f"aspect {capture.pixel_aspect:g}) does not match the calibration of {self.camera} "
            f"(frame of {self.frame_shape[0]} x {self.frame_shape[1]} px, {self.orientation}, "
            f"field of {self.field}); use a calibration of the same camera and size."
        )

    @property
    def is_estimated(self) -> bool:
        """Whether it was estimated from ordinary captures rather than measured with a target."""
        return self.source.get("format") == ESTIMATE

    @property
    def front(self) -> str:
        """Where the kernels in front of the focus plane come from, in words."""
        return DERIVED if self.front_kernels is None else MEASURED

    def kernel_grid(self, lens: LensModel | None = None) -> KernelGrid:
        """The kernels as torch tensors, as calibrated or as a fit uses them; loads torch."""
        from napari_dpdeblur.optics import KernelGrid

        grid = KernelGrid.from_array(
            self.kernels, self.rows, self.cols, self.front_kernels, self.front_scale
        )
        return grid if lens is None else lens.corrected(grid, self.excess_variance_px2)

    def front_side(self) -> Calibration | None:
        """The measured kernels in front of the focus plane as a calibration; None if derived."""
        if self.front_kernels is None:
            return None
        marked = {n: a for n, a in self.diagnostics.items() if n.startswith(FRONT)}
        return dataclasses.replace(
            self,
            kernels=self.front_kernels,
            front_kernels=None,
            verdict=(self.verdict or {}).get("front"),
            diagnostics={name.removeprefix(FRONT): array for name, array in marked.items()},
        )

    def content_hash(self) -> str:
        """SHA-256 of everything that affects a result: kernels, geometry, vignetting."""
        return self._content_hash

    @cached_property
    def _content_hash(self) -> str:
        geometry = (self.rows, self.cols, *astuple(self.field), *self.frame_shape, self.orientation)
        # Without an excess the hash is the same as before excesses existed.
        excess = self.excess_variance_px2 if any(self.excess_variance_px2) else ()
        digest = hashlib.sha256(repr((*geometry, *excess)).encode())
        for array in (self.kernels, self.vignetting):
            digest.update(b"none" if array is None else np.ascontiguousarray(array, "<f4").data)
        if self.front_kernels is not None:  # the hash of one side alone is the same as before
            digest.update(repr(self.front_scale).encode())
            digest.update(np.ascontiguousarray(self.front_kernels, "<f4").data)
        return digest.hexdigest()

    def describe(self) -> dict[str, Any]:
        """Properties as plain values, ready for JSON."""
        return {
            "camera": self.camera,
            "tiles": [self.rows, self.cols],
            "kernel_size_px": self.kernels.shape[-1],
            "field": dict(
                zip(("top", "left", "height", "width"), astuple(self.field), strict=True)
            ),
            "frame_shape": list(self.frame_shape),
            "orientation": self.orientation,
            "front": self.front,
            "has_vignetting": self.vignetting is not None,
            "focus_distance_m": self.focus_distance_m,
            "captured_on": self.captured_on,
            "lens_constants": self.lens_constants and list(self.lens_constants),
            "excess_variance_px2": list(self.excess_variance_px2),
            "verdict": self.verdict,
            "source": self.source,
            "sha256": self.content_hash(),
        }


def _frozen(array: np.ndarray) -> np.ndarray:
    """A read-only float32 copy."""
    copy = np.array(array, np.float32)
    copy.setflags(write=False)
    return copy
