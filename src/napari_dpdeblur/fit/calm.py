"""Calm the image where the views are flat, because ripples and noise are all it can show there.

A deconvolution answers every strong edge with ripples, at frequencies that the lens lets hardly
through and that a calibration therefore knows badly. They reach farther than the blur does, into
surfaces on which the views themselves show nothing: that tells them from texture.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from napari_dpdeblur.fit.filters import box_mean, largest_around, total_variation_filter
from napari_dpdeblur.fit.problem import FitProblem, reduce_images, resample

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


def calmed(
    problem: FitProblem, image: Tensor, strength: float, check: Callable[[], None] = lambda: None
) -> Tensor:
    """The image (C, h, w), smoothed where the views are flat beside edges or flat altogether."""
    if not strength:
        return image
    smooth = total_variation_filter(image, strength * VARIATION, check=check)
    return image + flatness(problem, check) * (smooth - image)


def flatness(problem: FitProblem, check: Callable[[], None] = lambda: None) -> Tensor:
    """1 where the views show nothing that could be trusted, 0 where they do: (1, h, w)."""
    energy = _structure(problem)
    check()
    coarse = reduce_images(energy, *problem.in_pixels(COARSE_PX))
    edges = largest_around(coarse, (RIPPLE_REACH_PX // COARSE_PX,) * 2)
    edges = box_mean(edges, (FADE_PX // COARSE_PX,) * 2)
    untrusted = TRUSTED_SHARE * (edges + QUIET_FACTOR * coarse.quantile(QUIET_QUANTILE))
    check()
    limit = resample(untrusted, (energy.shape[-2], energy.shape[-1])).clamp_min(1e-12)
    return 1 - (energy / limit).clamp_max(1)


def _structure(problem: FitProblem) -> Tensor:
    """Mean square of the slopes around each pixel of the views: (1, h, w)."""
    rows, cols = problem.pixel_pitch
    view = box_mean(problem.views.mean((0, 1)), problem.in_pixels(FINE_PX))
    squares = torch.zeros_like(view)
    squares[1:-1] += ((view[2:] - view[:-2]) / (2 * rows)).square()
    squares[:, 1:-1] += ((view[:, 2:] - view[:, :-2]) / (2 * cols)).square()
    return box_mean(squares[None], problem.in_pixels(LOCAL_PX))
