"""Photo: a colour photo of the scene of a capture, linear and upright."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.errors import CaptureError


@dataclass(frozen=True, eq=False, repr=False)
class Photo:
    """A colour photo: linear red, green and blue (3, H, W), float32, 0 to 1.

    ``is_clipped`` (H, W) marks pixels that are too bright to have a colour. ``size_px`` is
    (width, height) of the upright picture before it was reduced.
    """

    pixels: FloatArray
    is_clipped: np.ndarray
    name: str
    file: str = ""
    sha256: str = ""
    size_px: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        shape = self.pixels.shape
        if len(shape) != 3 or shape[0] != 3 or self.is_clipped.shape != shape[1:]:
            raise CaptureError(
                f"The photo {self.name} must have shape (3, rows, columns), not {shape}."
            )

    def __repr__(self) -> str:
        width, height = self.size_px
        return f"<Photo {self.name}: {width} x {height} px>"

    def transposed(self) -> Photo:
        """The photo with rows and columns exchanged, as in transposed captures."""
        return replace(
            self,
            pixels=np.ascontiguousarray(self.pixels.swapaxes(-1, -2)),
            is_clipped=np.ascontiguousarray(self.is_clipped.T),
        )

    def content_hash(self) -> str:
        """SHA-256 of the file, or of the pixels if there is none."""
        if self.sha256:
            return self.sha256
        return hashlib.sha256(np.ascontiguousarray(self.pixels, np.float32).tobytes()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """Properties as plain values."""
        return {"file": self.file, "sha256": self.sha256, "size_px": list(self.size_px)}
