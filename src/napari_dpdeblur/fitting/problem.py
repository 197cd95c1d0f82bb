"""FitProblem: a capture and a calibration as tensors on the grid that the fit works on."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d, avg_pool2d, interpolate, pad

from napari_dpdeblur.array_types import Crop
from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.computing.bounded_cache import BoundedCache
from napari_dpdeblur.computing.cores import begun
from napari_dpdeblur.errors import CalibrationError, FitError
from napari_dpdeblur.fitting.image.chromatic import chromatic_shift_px, without_chromatic_shift
from napari_dpdeblur.fitting.presets import PRESETS
from napari_dpdeblur.optics import DefocusedKernels, KernelGrid, TileLayout
from napari_dpdeblur.optics.lens_model import LensModel

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.fitting.parameters.defocus import MapEdgeParameters
    from napari_dpdeblur.fitting.parameters.problem import ProblemParameters
    from napari_dpdeblur.fitting.settings import FitSettings

MEAN_INTENSITY = 0.5  # of the normalised views: a convention, the unit of all intensities
LEAST_RADIUS_PX = 0.1  # of kernels that blur at all


@dataclass(frozen=True)
class FitProblem:
    """The views to explain and the lens that they were taken with.

    ``views`` (2, C, h, w) are linear with a mean of 0.5, on pixels of ``pixel_pitch`` (rows,
    cols) calibrated pixels: interpolated rows are left out.
    ``kernels`` are at scale 1 in calibrated pixels, ``layout`` divides the grid of the views,
    ``shape`` is the size of the result in calibrated pixels, ``intensity_scale`` is what the
    capture's unit was multiplied by, ``chromatic_px`` is how far red and blue were moved at the
    corners. ``calibrated`` are the kernels before the blur added by the calibration was removed;
    None: the same. ``cache`` keeps what several stages compute from the same kernels and views;
    None: nothing is kept.
    """

    views: Tensor
    kernels: KernelGrid
    layout: TileLayout
    pixel_pitch: tuple[int, int]
    shape: tuple[int, int]
    intensity_scale: float
    calibrated: KernelGrid | None = None
    chromatic_px: tuple[float, float] = (0.0, 0.0)
    cache: BoundedCache | None = None

    def for_search(self) -> FitProblem:
        """The problem of comparing the views, each blurred with the kernel of the other.

        Blur that the calibration added to both kernels cancels there; removing it would only add
        noise.
        """
        return replace(self, kernels=self.calibrated or self.kernels, cache=None)

    def kernels_at(self, scale: float) -> DefocusedKernels:
        """Kernels at a signed defocus scale, on the grid of the views."""
        return self.kernels.defocused(scale, self.pixel_pitch)

    def spectrum_at(self, scale: float, tiles: Sequence[int], fft_px: tuple[int, int]) -> Tensor:
        """Fourier transforms (P, V, n, m // 2 + 1) of the kernels of some tiles at a scale."""

        def computed() -> Tensor:
            return self.kernels_at(scale).select(tiles, len(tiles), 1).spectrum(fft_px)

        return self.kept(("spectrum", scale, self.pixel_pitch, tuple(tiles), fft_px), computed)

    def kept(self, key: Hashable, compute: Callable[[], Tensor]) -> Tensor:
        """What ``compute`` returns, or returned before for the same key."""
        return compute() if self.cache is None else self.cache.get(key, compute)

    def in_pixels(self, length: int) -> tuple[int, int]:
        """A length in calibrated pixels as rows and columns of the views, at least one."""
        return max(length // self.pixel_pitch[0], 1), max(length // self.pixel_pitch[1], 1)

    def of_channels(self, channels: slice) -> FitProblem:
        """The problem of some of the channels."""
        return replace(self, views=self.views[:, channels], cache=None)

    def luminance(self) -> FitProblem:
        """The problem of the mean of all channels."""
        if self.views.shape[1] == 1:
            return self
        return replace(self, views=self.views.mean(1, keepdim=True), cache=None)

    def map_pitch_px(self, parameters: MapEdgeParameters) -> int:
        """Calibrated pixels per pixel of the final map and of the grid of the layers."""
        pitch = parameters.pixel_pitch_px
        limit = 1e6 * parameters.max_map_megapixels
        height, width = self.views.shape[-2:]
        while height * width > limit * math.prod(self.in_pixels(pitch)):
            pitch *= 2
        return pitch

    def reduced(self, factor: int) -> FitProblem:
        """The problem on pixels that are ``factor`` calibrated pixels high and wide."""
        rows, cols = self.in_pixels(factor)
        return replace(
            self,
            views=reduce_images(self.views, rows, cols),
            layout=self.layout.coarser(rows, cols),
            pixel_pitch=(self.pixel_pitch[0] * rows, self.pixel_pitch[1] * cols),
        )

    def enlarged(self, images: Tensor, shape: tuple[int, int] | None = None) -> Tensor:
        """Images (..., h, w) on any grid of this problem, resampled to calibrated pixels."""
        return resample(images, shape or self.shape)


def resample(images: Tensor, shape: tuple[int, int]) -> Tensor:
    """Bilinear interpolation between pixel centres of images (..., h, w)."""
    if images.shape[-2:] == shape:
        return images
    flat = images.reshape(1, -1, *images.shape[-2:])
    larger = interpolate(flat, size=shape, mode="bilinear", align_corners=False)
    return larger.reshape(*images.shape[:-2], *shape)


def area_resample(images: Tensor, shape: tuple[int, int]) -> Tensor:
    """Reduce images (..., h, w) to a smaller shape by area averaging."""
    flat = images.reshape(1, -1, *images.shape[-2:])
    return adaptive_avg_pool2d(flat, shape).reshape(*images.shape[:-2], *shape)


def reduce_images(images: Tensor, rows: int, cols: int) -> Tensor:
    """Means over blocks of rows x cols pixels of images (..., h, w); the last may be partial."""
    if (rows, cols) == (1, 1):
        return images
    height, width = images.shape[-2:]
    flat = images.reshape(-1, 1, height, width)
    padded = pad(flat, (0, -width % cols, 0, -height % rows), mode="replicate")
    reduced = avg_pool2d(padded, (rows, cols))
    return reduced.reshape(*images.shape[:-2], *reduced.shape[-2:])


def pose_problem(
    capture: DualPixelCapture,
    calibration: Calibration,
    settings: FitSettings,
    device: torch.device,
    crop: Crop | None = None,
) -> FitProblem:
    """Correct, crop and normalise a capture."""
    if settings.swap_views:
        capture = capture.with_swapped_views()
    square = capture.with_square_pixels()
    check_cancelled()
    prepared, chromatic_px = _without_color_shift(square, calibration, settings)
    check_cancelled()
    grid = calibration.kernel_grid().to(device=device)
    _check_kernels(grid, calibration)
    height, width = prepared.shape[-2:]
    layout = TileLayout.regular(height, width, grid.rows, grid.cols)
    if crop is not None:
        prepared, grid, layout = _cropped(prepared, grid, layout, crop)
    lens, excess = lens_model(settings), calibration.excess_variance_px2
    used = begun(lambda: lens.corrected(grid, excess), device)
    parameters = settings.parameters.problem
    _check_views(prepared, capture, parameters)
    check_cancelled()
    shape = (prepared.shape[-2], prepared.shape[-1])
    preset = PRESETS[settings.preset]
    row_factor = 1 if preset.keeps_interpolated_rows else square.row_upsampling
    if shape[0] % row_factor or shape[0] // row_factor < layout.rows:
        row_factor = 1
    intensity_scale = MEAN_INTENSITY / float(prepared.mean())
    normalised = prepared.to(device).mul_(intensity_scale)
    views = original_rows(normalised, row_factor, parameters.row_fit_steps)
    calibrated = replace(lens, sharpening_steps=0).corrected(grid, excess)
    grid_of_views, pitch = layout.coarser(row_factor, 1), (row_factor, 1)
    return FitProblem(
        views, used(), grid_of_views, pitch, shape, intensity_scale, calibrated, chromatic_px
    )


def _check_kernels(grid: KernelGrid, calibration: Calibration) -> None:
    if not grid.rms_radius_px() >= LEAST_RADIUS_PX:
        raise CalibrationError(
            f"The kernels of {calibration.camera} do not blur: they are narrower than a pixel, as "
            "if the target had been in focus; calibrate with the target out of focus."
        )


def _without_color_shift(
    square: DualPixelCapture, calibration: Calibration, settings: FitSettings
) -> tuple[Tensor, tuple[float, float]]:
    """The corrected views, without lateral chromatic aberration if it can be measured."""
    views = calibration.prepare(square)
    least_px = settings.parameters.problem.least_chromatic_px
    if views.shape[1] == 1:
        return torch.from_numpy(views), (0.0, 0.0)
    field = calibration.field
    has_frame = square.raw.shape[-2:] == calibration.frame_shape
    top, left = (field.top, field.left) if has_frame else (0, 0)
    rows, cols = calibration.frame_shape if has_frame else (field.height, field.width)
    centre = ((rows - 1) / 2 - top, (cols - 1) / 2 - left)
    found = chromatic_shift_px(views, centre, settings.parameters.photo_registration)
    if max(abs(shift) for shift in found) < least_px:
        return torch.from_numpy(views), (0.0, 0.0)
    return torch.from_numpy(without_chromatic_shift(views, centre, found)), found


def lens_model(settings: FitSettings) -> LensModel:
    """How a fit with these settings uses the kernels of its calibration."""
    preset, optics = PRESETS[settings.preset], settings.parameters.optics
    return LensModel(
        is_centred=settings.centre_kernels and preset.centres_kernels,
        sharpening_steps=optics.sharpening_steps if preset.sharpens_kernels else 0,
        negligible_mass=optics.negligible_mass,
        is_exact=preset.stretches_exactly,
        blend_px=settings.blend_px if preset.stretches_exactly else 0,
        plane_step=settings.parameters.layer_colors.plane_step,
    )


def original_rows(images: Tensor, factor: int, steps: int) -> Tensor:
    """Undo the bilinear interpolation of rows: the rows whose interpolation is closest."""
    if factor == 1:
        return images
    rows = reduce_images(images, factor, 1)
    for _ in range(steps):
        missing = images - resample(rows, (images.shape[-2], images.shape[-1]))
        rows = rows + reduce_images(missing, factor, 1)
        check_cancelled()
    return rows


def _cropped(
    views: Tensor, grid: KernelGrid, layout: TileLayout, crop: Crop
) -> tuple[Tensor, KernelGrid, TileLayout]:
    top, left, height, width = crop
    rows, cols = views.shape[-2:]
    if not (0 <= top < top + height <= rows and 0 <= left < left + width <= cols):
        raise CalibrationError(
            f"The crop of {height} x {width} px at ({top}, {left}) does not lie inside the "
            f"calibrated field of {rows} x {cols} px."
        )
    part, tiles = layout.crop(top, left, height, width)
    window = views[..., top : top + height, left : left + width]
    return window, grid.select(tiles, part.rows, part.cols), part


def _check_views(views: Tensor, capture: DualPixelCapture, parameters: ProblemParameters) -> None:
    """Raise FitError for views that cannot be fitted."""
    name, smallest = capture.name, parameters.min_size_px
    height, width = views.shape[-2:]
    if min(height, width) < smallest:
        raise FitError(
            f"{name} has {height} x {width} px to fit; at least {smallest} px are needed in "
            "each direction; use a larger crop."
        )
    for side, view in zip(("left", "right"), views, strict=True):
        if float(view.max()) <= 0:
            raise FitError(
                f"The {side} view of {name} is black; check the file and its black level."
            )
    # Of the view with less contrast: vignetting correction gives the right one a slope anyway.
    contrast = float(views.std(dim=(-2, -1)).amax(-1).amin() / views.mean())
    if contrast < parameters.min_contrast:
        raise FitError(f"{name} is a constant image; a fit needs texture.")
    full = parameters.saturated_level * (capture.white - capture.black) / capture.white
    saturated = float((views >= full).sum()) / views.numel()
    if saturated > parameters.max_saturated:
        raise FitError(
            f"{name} is overexposed: {saturated:.0%} of its pixels are saturated; use a "
            "shorter exposure."
        )
