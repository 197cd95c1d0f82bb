"""Calm the image where the views are flat, because ripples and noise are all it can show there.

A deconvolution answers every strong edge with ripples, at frequencies that the lens lets hardly
through and that a calibration therefore knows badly. They reach farther than the blur does, into
surfaces on which the views themselves show nothing: that tells them from texture.
"""

from __future__ import annotations

from torch import Tensor

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.image.filters import (
    box_mean,
    largest_around,
    squared_slopes,
    total_variation_filter,
)
from napari_dpdeblur.fitting.problem import FitProblem, reduce_images, resample

# Lengths in calibrated pixels.
FINE_PX = 2  # details below this size are noise in a view
LOCAL_PX = 5  # neighbourhood whose structure counts as a pixel's own
RIPPLE_REACH_PX = 32  # how far from an edge its ripples go
FADE_PX = 12
COARSE_PX = 4  # resolution at which edges are looked for
TRUSTED_SHARE = 0.01  # of an edge's energy: a structure beside it that is stronger is trusted
QUIET_QUANTILE = 0.05  # the structure of so many pixels is weaker than noise may be
QUIET_FACTOR = 50.0
VARIATION = 0.2  # strength of the smoothing where the views are flat
DARK_QUANTILE = 1e-3  # so few pixels are darker than what counts as the darkest
DARKER_BY = 0.7  # a dark detail was brightened by the blur


def within_capture(problem: FitProblem, image: Tensor) -> Tensor:
    """The image (C, h, w) without what a deconvolution adds to its darkest and brightest parts.

    Nothing is brighter than the brightest pixel that was captured, as in the paper, where colours
    are sigmoids in its unit, and nothing much darker than the darkest, noise aside: beyond, there
    is mostly overshoot.
    """
    coarse = reduce_images(problem.views.mean(0), *problem.in_pixels(COARSE_PX))
    darkest = coarse.flatten(1).quantile(DARK_QUANTILE, dim=1).clamp_min(0)[:, None, None]
    return image.maximum(DARKER_BY * darkest).minimum(problem.views.max())


def calmed(problem: FitProblem, image: Tensor, strength: float) -> Tensor:
    """The image (C, h, w), smoothed where the views are flat beside edges or flat altogether."""
    if not strength:
        return image
    smooth = total_variation_filter(image, strength * VARIATION)
    return image + flatness(problem) * (smooth - image)


def flatness(problem: FitProblem) -> Tensor:
    """1 where the views show nothing that could be trusted, 0 where they do: (1, h, w)."""
    energy = _structure(problem)
    check_cancelled()
    coarse = reduce_images(energy, *problem.in_pixels(COARSE_PX))
    edges = largest_around(coarse, (RIPPLE_REACH_PX // COARSE_PX,) * 2)
    edges = box_mean(edges, (FADE_PX // COARSE_PX,) * 2)
    untrusted = TRUSTED_SHARE * (edges + QUIET_FACTOR * coarse.quantile(QUIET_QUANTILE))
    check_cancelled()
    limit = resample(untrusted, (energy.shape[-2], energy.shape[-1])).clamp_min(1e-12)
    return 1 - (energy / limit).clamp_max(1)


def _structure(problem: FitProblem) -> Tensor:
    """Mean square of the slopes around each pixel of the views: (1, h, w)."""
    rows, cols = problem.pixel_pitch
    view = box_mean(problem.views.mean((0, 1)), problem.in_pixels(FINE_PX))
    along_y, along_x = squared_slopes(view)
    squares = along_y / rows**2 + along_x / cols**2
    return box_mean(squares[None], problem.in_pixels(LOCAL_PX))
