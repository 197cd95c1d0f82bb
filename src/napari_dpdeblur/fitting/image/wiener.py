"""The all-in-focus image of the closed form: two-view Wiener images, joined by the defocus map."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.image.filters import box_mean, largest_around, total_variation_filter
from napari_dpdeblur.fitting.image.layers import picture_behind, weights_of_layers
from napari_dpdeblur.fitting.problem import FitProblem
from napari_dpdeblur.optics import TileWindows
from napari_dpdeblur.optics.memory import in_groups

NOISE_TO_SIGNAL = 1e-2
SMALLEST_FLOOR = 1e-6  # against a division by zero
BLEND_PX = 16
TILES_AT_ONCE = 8
PIXELS_AT_ONCE = 600_000  # of large tiles fewer are taken, to look more often whether to go on
EXTRA_REACH_PX = 32  # an inverse filter is longer than the filter

SAME_SURFACE = 0.4  # defocus difference from which on something lies in front of a surface
SURFACE_BLEND = 0.1
OUTLINE_REACH_PX = 12  # how far an outline of defocus 1 is blurred, in calibrated pixels
OUTLINE_STEP = 0.2  # of defocus, within which outlines reach equally far
OUTLINE_FADE_PX = 2


@dataclass(frozen=True)
class Belief:
    """How far an image is believed when it is deconvolved again.

    ``weight``: noise to signal of the prior, against that without an expected image;
    ``variation``: strength of the smoothing that makes the image an expectation.
    """

    weight: float
    variation: float


@dataclass(frozen=True)
class Expectation:
    """What an image and its map say about the picture before it is deconvolved again.

    ``image`` (C, h, w) stands in for the frequencies that the lens has swallowed, so that edges
    are complete, ``weight`` times as strongly as the prior without it. ``surfaces`` (h, w) is the
    defocus of what is seen: what lies in front of a surface is taken out of the views before that
    surface is deconvolved, as far as its blurred outline reaches, because an outline with another
    blur would make ripples there.
    """

    image: Tensor
    surfaces: Tensor
    weight: float = 1.0

    @classmethod
    def of(cls, image: Tensor, surfaces: Tensor, belief: Belief) -> Expectation:
        """Keep the edges of an image (C, h, w), not its ripples and its noise."""
        smooth = total_variation_filter(image, belief.variation)
        return cls(smooth, surfaces, belief.weight)

    def views_of_surface(self, problem: FitProblem, scale: float) -> Tensor:
        """The views (V, C, h, w), with what is in front replaced by what lies around it."""
        own = 1 - self._covered(problem, scale)
        if bool((own == 1).all()):  # nothing to fill, as in a scene of little depth
            return problem.views
        surely = (own > 0.5).to(own.dtype)
        filled = torch.empty_like(problem.views)
        for out, view in zip(filled, problem.views, strict=True):
            check_cancelled()
            out[:] = picture_behind(view, surely).lerp_(view, own)
        return filled

    def _covered(self, problem: FitProblem, scale: float) -> Tensor:
        """1 where light from in front of a surface arrives, 0 where none does: (1, h, w)."""
        surfaces = self.surfaces[None]
        nearer_by = scale - surfaces
        in_front = (1 - (SAME_SURFACE - nearer_by) / SURFACE_BLEND).clamp(0, 1)
        covered = in_front
        for number in range(math.ceil(scale / OUTLINE_STEP)):
            middle = (number + 0.5) * OUTLINE_STEP
            layer = in_front * ((surfaces - middle).abs() <= OUTLINE_STEP / 2)
            if bool(layer.any()):
                reach = problem.in_pixels(round(OUTLINE_REACH_PX * middle))
                covered = torch.maximum(covered, largest_around(layer, reach))
            check_cancelled()
        return box_mean(covered, problem.in_pixels(OUTLINE_FADE_PX))


def wiener_images(
    problem: FitProblem,
    defocus_map: Tensor,
    scales: Tensor,
    smoothness: float = 1.0,
    expected: Expectation | None = None,
) -> Iterator[Tensor]:
    """Deconvolve at each scale (supplement, Eq. 13) and interpolate between scales.

    Yields the image (C, h, w) as it grows; the last one is complete.
    ``defocus_map`` (h, w) is on the grid of the views, ``scales`` (S,) fall evenly.
    ``smoothness`` is the strength of the prior that keeps noise from being amplified; its mean is
    zero, or what is ``expected``. ``check`` is called between groups of tiles.
    """
    image = torch.zeros_like(problem.views[0])
    floor = max(smoothness * NOISE_TO_SIGNAL, SMALLEST_FLOOR)
    for scale, weight in zip(scales, weights_of_layers(defocus_map, scales), strict=True):
        if bool(weight.any()):
            image += weight * _surface(problem, float(scale), floor, expected)
        yield image


def _surface(
    problem: FitProblem,
    scale: float,
    floor: float,
    expected: Expectation | None,
) -> Tensor:
    """The image (C, h, w) of what has this defocus."""
    if expected is None:
        return _deconvolved(problem, scale, floor, None)
    views = expected.views_of_surface(problem, scale)
    check_cancelled()
    own = replace(problem, views=views)
    return _deconvolved(own, scale, expected.weight * floor, expected.image)


def _deconvolved(
    problem: FitProblem,
    scale: float,
    noise_to_signal: float,
    expected: Tensor | None,
) -> Tensor:
    """The image (C, h, w) if all of it had this defocus."""
    views = problem.views
    grid = problem.kernels.scaled(scale, problem.pixel_pitch)
    height, width = (size // 2 + EXTRA_REACH_PX for size in grid.size_px)
    windows = TileWindows.of(problem.layout, (height, width), BLEND_PX, views)
    padded = [windows.pad(view) for view in views]
    padded_expected = None if expected is None else windows.pad(expected)
    out = torch.zeros_like(views[0])
    fft_height, fft_width = windows.fft_px
    count = min(max(PIXELS_AT_ONCE // (fft_height * fft_width), 1), TILES_AT_ONCE)

    def sharpened(tiles: range) -> Tensor:
        part = windows.restricted(tiles)
        spectrum = grid.select(tiles, len(tiles), 1).spectrum(part.fft_px)
        left, right = (torch.fft.rfft2(part.cut(view)) for view in padded)
        mean = None if padded_expected is None else torch.fft.rfft2(part.cut(padded_expected))
        sharp = _two_view_wiener(left, right, spectrum, noise_to_signal, mean)
        window: Tensor = torch.fft.irfft2(sharp, s=part.fft_px)
        return window

    def add(tiles: range, sharp: Tensor) -> None:
        windows.restricted(tiles).scatter(sharp, out)
        check_cancelled()

    in_groups(len(windows.tiles), count, sharpened, add)
    return out


def _two_view_wiener(
    left: Tensor, right: Tensor, spectrum: Tensor, floor: float, mean: Tensor | None
) -> Tensor:
    """Spectra (P, C, n, m) of the sharp windows from those of both views and the prior's mean."""
    power = spectrum.abs().square().sum(1, keepdim=True)
    # the mean intensity is known exactly, it needs no regularisation
    prior = torch.full_like(power, floor)
    prior[..., 0, 0] = 0
    sharp = spectrum[:, :1].conj() * left + spectrum[:, 1:].conj() * right
    if mean is not None:
        sharp += prior * mean
    return sharp / power.add_(prior)
