"""The calibration target: a regular grid of discs in two sizes, shown on a screen.

The sizes follow a fixed random code, so any part of the grid can be located, and the pattern does
not repeat: a strictly periodic one would leave the kernels ambiguous.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from napari_dpdeblur.capture.levels import linear_to_srgb
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.files import read_regular, write_atomically
from napari_dpdeblur.files.schema import first_problem

FORMAT: Final = "napari-dpdeblur target"
TARGET_FILE = "target.json"
MAX_BYTES = 4_000_000
CODE_SEED = 20210705
# As seen by the camera, in its pixels: chosen by experiment, see docs/explanation/calibration.md.
CAMERA_PITCH_PX = 50.0
SMALL_RADIUS, LARGE_RADIUS = 0.2, 0.34  # in pitches
PIXEL4_FOCAL_PX = 1520.0
MM_PER_INCH = 25.4
MIN_PITCH_PX = 12
MIN_RADIUS_PX = 1.0
MAX_SCREEN_PX = 20_000
MIN_DISCS = 8  # along the shorter side


_ScreenSide = Annotated[int, Field(ge=1, le=MAX_SCREEN_PX)]
_Place = Annotated[float, Field(ge=0, le=MAX_SCREEN_PX)]


class _TargetFile(BaseModel):
    """Content of `target.json`."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    format: Literal["napari-dpdeblur target"] = FORMAT
    version: Literal[1] = 1
    screen_px: tuple[_ScreenSide, _ScreenSide] = Field(description="width and height of the screen")
    pitch_px: float = Field(
        ge=MIN_PITCH_PX, le=MAX_SCREEN_PX, description="distance between neighbouring discs"
    )
    first_disc_px: tuple[_Place, _Place] = Field(description="centre (x, y) of the top left disc")
    radii_px: tuple[_Place, _Place] = Field(description="radius of a disc marked 0 and marked 1")
    sizes: tuple[str, ...] = Field(description="one string of 0 and 1 per row of discs")


@dataclass(frozen=True, eq=False)
class Target:
    """A grid of discs on a screen of ``screen_px`` (width, height).

    ``code`` (rows, cols) bool: true for a large disc. Pixel centres are integers.
    """

    screen_px: tuple[int, int]
    pitch_px: float
    first_disc_px: tuple[float, float]
    radii_px: tuple[float, float]
    code: np.ndarray

    @classmethod
    def for_screen(cls, width_px: int, height_px: int, pitch_px: float) -> Target:
        """The grid of whole discs that fills a screen."""
        if max(width_px, height_px) > MAX_SCREEN_PX:
            raise CalibrationError(
                f"A screen of {width_px} x {height_px} px is not supported; the maximum is "
                f"{MAX_SCREEN_PX} px per side."
            )
        cols, rows = (int(side // pitch_px) for side in (width_px, height_px))
        if pitch_px < MIN_PITCH_PX or min(rows, cols) < MIN_DISCS:
            raise CalibrationError(
                f"A screen of {width_px} x {height_px} px is too small for discs {pitch_px:g} px "
                f"apart: at least {MIN_DISCS} x {MIN_DISCS} discs with a pitch of at least "
                f"{MIN_PITCH_PX} px are needed; use a larger screen or another distance."
            )
        first = [
            (side - 1 - (count - 1) * pitch_px) / 2
            for side, count in ((width_px, cols), (height_px, rows))
        ]
        radii = (SMALL_RADIUS * pitch_px, LARGE_RADIUS * pitch_px)
        code = np.random.default_rng(CODE_SEED).random((rows, cols)) < 0.5
        return cls((width_px, height_px), pitch_px, (first[0], first[1]), radii, code)

    @property
    def rows(self) -> int:
        """Number of rows of discs."""
        return int(self.code.shape[0])

    @property
    def cols(self) -> int:
        """Number of columns of discs."""
        return int(self.code.shape[1])

    @cached_property
    def centres_px(self) -> np.ndarray:
        """Centres (rows, cols, 2) of the discs as (x, y)."""
        row, col = np.mgrid[0 : self.rows, 0 : self.cols]
        first = np.array(self.first_disc_px)
        return np.asarray(np.stack([col, row], axis=-1) * self.pitch_px + first)

    def nearest_disc(self, screen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Row and column of the disc nearest to points (..., 2)."""
        lattice = np.rint((screen - np.array(self.first_disc_px)) / self.pitch_px).astype(np.intp)
        return (
            np.clip(lattice[..., 1], 0, self.rows - 1),
            np.clip(lattice[..., 0], 0, self.cols - 1),
        )

    def signed_distance_px(self, screen: np.ndarray) -> np.ndarray:
        """Distance of points (..., 2) to the edge of the nearest disc, positive inside: (...)."""
        row, col = self.nearest_disc(screen)
        offset_x = screen[..., 0] - (col * self.pitch_px + self.first_disc_px[0])
        offset_y = screen[..., 1] - (row * self.pitch_px + self.first_disc_px[1])
        radius = np.where(self.code[row, col], self.radii_px[1], self.radii_px[0])
        return np.asarray(radius - np.hypot(offset_x, offset_y))

    def picture(self) -> np.ndarray:
        """The pattern as display values, uint8 (height, width): white discs on black.

        Grey levels at edges are sRGB-encoded, so the emitted light is proportional to coverage.
        """
        width, height = self.screen_px
        x, y = np.meshgrid(np.arange(width), np.arange(height))
        distance = self.signed_distance_px(np.stack([x, y], axis=-1).astype(np.float64))
        light = np.clip(0.5 + distance, 0.0, 1.0)
        return np.asarray(np.rint(255 * linear_to_srgb(light)), np.uint8)

    def describe(self) -> dict[str, Any]:
        """The content of `target.json`."""
        return _TargetFile(
            screen_px=self.screen_px,
            pitch_px=self.pitch_px,
            first_disc_px=self.first_disc_px,
            radii_px=self.radii_px,
            sizes=tuple("".join("01"[int(bit)] for bit in row) for row in self.code),
        ).model_dump()


def pitch_for_screen(
    width_px: int,
    height_px: int,
    diagonal_inch: float,
    distance_cm: float,
    focal_px: float = PIXEL4_FOCAL_PX,
) -> float:
    """Pitch in screen pixels that the camera sees as about 50 of its own pixels.

    ``focal_px`` is the focal length in square camera pixels; the default is that of a Pixel 4.
    """
    if not (diagonal_inch > 0 and distance_cm > 0 and focal_px > 0):
        raise CalibrationError(
            "The screen diagonal, its distance and the focal length must be positive, not "
            f"{diagonal_inch:g} inches, {distance_cm:g} cm and {focal_px:g} px."
        )
    screen_px_per_mm = float(np.hypot(width_px, height_px)) / (diagonal_inch * MM_PER_INCH)
    camera_px_per_mm = focal_px / (distance_cm * 10)
    return float(round(CAMERA_PITCH_PX / camera_px_per_mm * screen_px_per_mm))


def save_target(target: Target, path: Path) -> None:
    """Write `target.json`."""
    try:
        write_atomically(path, (json.dumps(target.describe(), indent=1) + "\n").encode())
    except OSError as error:
        raise CalibrationError(f"{path} cannot be written: {error.strerror or error}.") from error


def load_target(path: Path) -> Target:
    """Read `target.json`."""
    try:
        content = _TargetFile.model_validate_json(read_regular(path, MAX_BYTES))
    except OSError as error:
        raise CalibrationError(
            f"The target {path} cannot be read: {error.strerror or error}."
        ) from error
    except ValidationError as error:
        raise _not_a_target(path, " ({}: {})".format(*first_problem(error))) from error
    except UnicodeDecodeError as error:
        raise _not_a_target(path) from error
    lengths = {len(row) for row in content.sizes}
    if len(lengths) != 1 or lengths == {0} or not set("".join(content.sizes)) <= {"0", "1"}:
        raise _not_a_target(path)
    if not _is_possible(content):
        raise _not_a_target(path, " (its discs overlap, are too small or lie beyond the screen)")
    code = np.array([[bit == "1" for bit in row] for row in content.sizes])
    return Target(
        content.screen_px, content.pitch_px, content.first_disc_px, content.radii_px, code
    )


def _is_possible(content: _TargetFile) -> bool:
    """Whether the discs lie on the screen, do not overlap and have a size."""
    pitch, radii = content.pitch_px, content.radii_px
    counts = (len(content.sizes[0]), len(content.sizes))
    last = [f + (n - 1) * pitch for f, n in zip(content.first_disc_px, counts, strict=True)]
    on_screen = all(end <= side for end, side in zip(last, content.screen_px, strict=True))
    return on_screen and min(radii) >= MIN_RADIUS_PX and max(radii) <= pitch / 2


def _not_a_target(path: Path, why: str = "") -> CalibrationError:
    return CalibrationError(
        f"{path} is not a calibration target{why}; use the {TARGET_FILE} written by "
        "'napari-dpdeblur calibrate target'."
    )
