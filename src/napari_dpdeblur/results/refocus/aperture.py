"""Apertures for refocusing: calibrated kernels or an ideal disc."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.optics.lens_model import CENTRED, LensModel

if TYPE_CHECKING:
    from torch import Tensor

    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.optics import KernelGrid, TileLayout

DEFAULT_RADIUS_PX = 12.0  # of a round aperture without a calibration
SUPERSAMPLING = 16
SWAY = 2.0  # sharp parallax to each side, in multiples of the shift between the views
MAX_REDUCTION = 16


@dataclass(frozen=True)
class Aperture:
    """Blur kernels on both sides of the focus, and the tiles of the image that they apply to.

    ``pixel_pitch`` is the pixel size of the image in pixels of the kernels: 2 for layers fitted at
    half the resolution of the calibration. ``lens`` says how kernels are stretched and blended.
    """

    grid: KernelGrid
    layout: TileLayout
    pixel_pitch: float = 1.0
    lens: LensModel = CENTRED

    def seen_by(self, views: Sequence[int], as_one: bool = False) -> Aperture:
        """The aperture of some of the views (0 left, 1 right), or of their mean."""

        def seen(kernels: Tensor) -> Tensor:
            chosen = kernels[:, list(views)]
            return chosen.mean(dim=1, keepdim=True) if as_one else chosen

        front = None if self.grid.front is None else seen(self.grid.front)
        grid = replace(self.grid, kernels=seen(self.grid.kernels), front=front)
        return replace(self, grid=grid)

    def rms_radius_px(self, reduction: int = 1) -> float:
        """RMS blur radius of a view at defocus scale 1, in pixels ``reduction`` times larger."""
        return self.grid.rms_radius_px() / (self.pixel_pitch * reduction)

    def sway_px(self) -> float:
        """How far defocus 1 moves to each side in a sharp parallax; signed as in the left view.

        A multiple of the shift between the views of the lens, which is hard to see when sharp.
        """
        return SWAY * float(self.grid.disparity_px().median()) / self.pixel_pitch

    def kernels(self, scale: float, reduction: int = 1, rim: float = 0.0) -> FloatArray:
        """Kernels (P, V, Ky, Kx) of a signed defocus scale, on pixels ``reduction`` times larger.

        Negative scales are in front of the focus, where kernels are measured or turned by 180
        degrees (see :class:`KernelGrid`); at 0 a kernel is a single pixel. A rim that contains
        less than the share ``rim`` is cut off, for previews, which need no exact kernels.
        """
        pitch = self.pixel_pitch * reduction
        if self.lens.is_exact and rim == 0.0 and scale != 0.0:
            exact = self.grid.defocused(scale, (pitch, pitch)).sampled(self.lens.negligible_mass)
            return np.asarray(exact, np.float32)
        array = np.asarray(self.grid.scaled(scale, (pitch, pitch)).kernels, np.float32)
        return _without_rim(array, rim) if rim > 0.0 else array


def calibrated_aperture(
    calibration: Calibration,
    shape: tuple[int, int],
    crop: Sequence[int] | None = None,
    lens: LensModel | None = None,
) -> Aperture:
    """Aperture of a calibration for layers of ``shape`` at ``crop`` in its field.

    ``lens`` is how the fit used the kernels. Without it they are centred, so that the image does
    not move when the focus changes. Layers whose size is an integer fraction of the field are taken
    as fitted at that resolution.
    """
    lens = lens or CENTRED
    from napari_dpdeblur.optics import TileLayout

    field = calibration.field
    top, left, height, width = crop or (0, 0, field.height, field.width)
    reduction = _reduction((height, width), shape)
    if reduction is None or not field.holds(top, left, height, width):
        raise CalibrationError(
            f"The multiplane image of {shape[0]} x {shape[1]} px does not match the crop of "
            f"{height} x {width} px at ({top}, {left}) in the field of {field} of the calibration "
            f"of {calibration.camera}; use the calibration and the crop of the fit, or a round "
            "aperture."
        )
    grid = calibration.kernel_grid(lens)
    layout = TileLayout.regular(field.height, field.width, grid.rows, grid.cols)
    layout, tiles = layout.crop(top, left, height, width)
    grid = grid.select(tiles, layout.rows, layout.cols)
    return Aperture(grid, layout.coarser(reduction, reduction), float(reduction), lens)


def round_aperture(
    shape: tuple[int, int], radius_px: float = DEFAULT_RADIUS_PX, left_side: int = -1
) -> Aperture:
    """A disc of ``radius_px`` at defocus scale 1; each view sees one half of it.

    ``left_side`` is the half that belongs to the left view: -1 left, as in captures of a Pixel
    behind the focus plane, 1 right.
    """
    from napari_dpdeblur.optics import KernelGrid, TileLayout

    half = math.ceil(radius_px + 0.5)
    fine = (np.arange((2 * half + 1) * SUPERSAMPLING) + 0.5) / SUPERSAMPLING - half - 0.5
    disc = fine[:, None] ** 2 + fine**2 <= radius_px**2
    sides = np.stack([disc & (fine * left_side > 0), disc & (fine * left_side < 0)])
    size = 2 * half + 1
    area = sides.reshape(2, size, SUPERSAMPLING, size, SUPERSAMPLING).mean(axis=(2, 4))
    grid = KernelGrid.from_array(area[None].astype(np.float32), 1, 1)
    return Aperture(grid, TileLayout.regular(*shape, 1, 1))


def equivalent_radius_px(calibration: Calibration) -> float:
    """Radius of the disc with the same RMS radius as the mean calibrated kernel.

    A disc of radius R has an RMS radius of R / sqrt(2).
    """
    grid = calibration.kernel_grid(CENTRED)
    kernel = grid.kernels.double().mean(dim=(0, 1)).numpy()
    offset = np.arange(kernel.shape[0]) - kernel.shape[0] // 2
    return float(np.sqrt(2 * (kernel * (offset[:, None] ** 2 + offset**2)).sum()))


def _reduction(whole: tuple[int, int], part: tuple[int, int]) -> int | None:
    """Factor by which an image was reduced; None if it is not an integer."""
    for factor in range(1, MAX_REDUCTION + 1):
        if part == (-(-whole[0] // factor), -(-whole[1] // factor)):
            return factor
    return None


def _without_rim(kernels: FloatArray, share: float) -> FloatArray:
    """Cut off a negligible rim, equally on all sides, and normalise the sums to 1."""
    mean = kernels.mean(axis=(0, 1))
    size = max(mean.shape) // 2
    offset_y, offset_x = (np.abs(np.arange(side) - side // 2) for side in mean.shape)
    distance = np.maximum(offset_y[:, None], offset_x)
    outside = 1 - np.cumsum([mean[distance == ring].sum() for ring in range(size + 1)])
    kept = int(np.argmax(outside < share))
    cut_y, cut_x = (max(side // 2 - kept, 0) for side in mean.shape)
    inner = kernels[..., cut_y : mean.shape[0] - cut_y, cut_x : mean.shape[1] - cut_x]
    return np.asarray(inner / inner.sum(axis=(-2, -1), keepdims=True), np.float32)
