"""Resolution, tiles and units of a lens estimate, chosen from frame, disparity and optics."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from torch import Tensor

from napari_dpdeblur.calibration.estimate.evidence import Evidence, gather_evidence
from napari_dpdeblur.calibration.estimate.first_look import reduced
from napari_dpdeblur.calibration.estimate.pupil import REACH, field_positions
from napari_dpdeblur.calibration.estimate.settings import (
    EstimateSettings,
    EvidenceParameters,
    TileParameters,
)
from napari_dpdeblur.capture import CameraOptics, DualPixelCapture
from napari_dpdeblur.optics import TileLayout

PITCHES = (8, 4, 2)


@dataclass(frozen=True)
class Geometry:
    """How captures are reduced and divided, and what scale 1 means.

    ``disparity_px`` is the disparity at scale 1 in px of the frame; ``radius_px`` the radius of the
    blur at scale 1 if the optics are known, when scale 1 is the blur of a very distant point.
    """

    frame_shape: tuple[int, int]
    rows: int
    cols: int
    pitch_px: int
    disparity_px: float
    radius_px: float | None
    lens_constants: tuple[float, float] | None
    largest_scale: float
    tiles: TileParameters

    @property
    def has_optics(self) -> bool:
        """Whether the optics give the size of the blur."""
        return self.radius_px is not None

    @property
    def radius_of_estimate(self) -> float | None:
        """Known radius at scale 1 in px of the estimate."""
        return None if self.radius_px is None else self.radius_px / self.pitch_px

    @property
    def farthest_scale(self) -> float:
        """Scale of a very distant point; infinite if the optics are unknown."""
        return math.inf if self.lens_constants is None else self.lens_constants[0]

    @property
    def generic_radius_px(self) -> float:
        """Radius at scale 1 when all that is known is the disparity."""
        return max(self.disparity_px, self.tiles.least_disparity_px) / self.tiles.generic_ratio

    def with_disparity(self, disparity_px: float, parameters: EvidenceParameters) -> Geometry:
        """The geometry with another disparity at scale 1."""
        pitch = reduction(self.frame_shape, disparity_px, parameters, self.tiles)
        return replace(self, disparity_px=disparity_px, pitch_px=pitch)

    def kernel_field(self) -> Tensor:
        """Places (P, 2) of the tiles of the kernel grid."""
        return field_positions(self.rows, self.cols, *self.frame_shape)

    def field(self) -> Tensor:
        """Places (P, 2) of the tiles that are compared."""
        layout = self.layout()
        return field_positions(layout.rows, layout.cols, *self.frame_shape)

    def layout(self) -> TileLayout:
        """Tiles that are compared, on the reduced frame."""
        height, width = (-(-side // self.pitch_px) for side in self.frame_shape)
        rows, cols = _grid(height, width, self.tiles)
        return TileLayout.regular(height, width, rows, cols)

    def margin_px(self) -> int:
        """Reach of the largest kernel and context, in px of the estimate."""
        radius = self.radius_px or self.disparity_px / self.tiles.generic_ratio
        reach = math.ceil(REACH * self.largest_scale * radius / self.pitch_px)
        return reach + self.tiles.context_px


def lens_geometry(
    capture: DualPixelCapture, largest_px: float, settings: EstimateSettings
) -> Geometry:
    """Geometry of captures of square pixels like this one, whose largest disparity is known."""
    height, width = capture.shape[-2:]
    rows, cols = _kernel_grid(height, width, settings.tiles)
    optics = capture.optics
    has_optics = optics is not None and has_plausible_blur(optics, (height, width), settings.tiles)
    unit_px = max(largest_px / settings.lens.typical_scale, 1e-3)
    return Geometry(
        frame_shape=(height, width),
        rows=settings.rows or rows,
        cols=settings.cols or cols,
        pitch_px=reduction((height, width), unit_px, settings.evidence, settings.tiles),
        disparity_px=unit_px,
        radius_px=optics.blur_at_infinity_px / 2 if optics and has_optics else None,
        lens_constants=(1.0, -float(optics.focus_distance_m or 0))
        if optics and has_optics
        else None,
        largest_scale=settings.lens.largest_scale,
        tiles=settings.tiles,
    )


def has_plausible_blur(
    optics: CameraOptics, frame: tuple[int, int], parameters: TileParameters
) -> bool:
    """Whether the optics are complete and give a blur that can be: EXIF data may say anything."""
    if not optics.is_complete:
        return False
    most = parameters.largest_blur * max(frame)
    return parameters.least_blur_px <= optics.blur_at_infinity_px <= most


def gathered(views: Tensor, geometry: Geometry, parameters: EvidenceParameters) -> Evidence:
    """Evidence of grey views (2, H, W) on the tiles with texture."""
    small = reduced(views, geometry.pitch_px)
    return gather_evidence(
        small, geometry.layout(), geometry.margin_px(), parameters
    ).with_texture()


def _grid(height: int, width: int, parameters: TileParameters) -> tuple[int, int]:
    """Rows and columns of about square tiles, not too small."""
    tile = max(max(height, width) / parameters.tiles, parameters.smallest_px)
    return max(round(height / tile), 1), max(round(width / tile), 1)


def _kernel_grid(height: int, width: int, parameters: TileParameters) -> tuple[int, int]:
    """Rows and columns of the kernels: finer than the tiles compared, which must hold texture."""
    longer = max(height, width)
    at_most = min(longer / parameters.tiles, parameters.kernel_tile_px)
    tile = max(longer / parameters.kernel_tiles, at_most, parameters.smallest_px)
    return max(round(height / tile), 1), max(round(width / tile), 1)


def reduction(
    frame: tuple[int, int],
    disparity_px: float,
    parameters: EvidenceParameters,
    tiles: TileParameters,
) -> int:
    """Largest reduction that keeps the disparity measurable and leaves enough tiles."""
    for pitch in PITCHES:
        is_large = min(frame) // pitch >= 2 * tiles.smallest_px
        if is_large and disparity_px / pitch >= parameters.reduced_disparity_px:
            return pitch
    return 1
