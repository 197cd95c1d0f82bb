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
from napari_dpdeblur.fit.problem import FitProblem

# Lengths in calibrated pixels.
FINE_PX = 2  # details below this size are noise in a view
LOCAL_PX = 5  # neighbourhood whose structure counts as a pixel's own
RIPPLE_REACH_PX = 32  # how far from an edge its ripples go
FADE_PX = 13
TRUSTED_SHARE = 0.01  # of an edge's energy: a structure beside it that is stronger is trusted
QUIET_QUANTILE = 0.05  # the structure of so many pixels is weaker than noise may be
QUIET_FACTOR = 50.0
VARIATION = 0.2  # strength of the smoothing where the views are flat
SAMPLED_EVERY = 4  # pixels, for a quantile


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
    edges = largest_around(energy, problem.in_pixels(RIPPLE_REACH_PX))
    edges = box_mean(edges, problem.in_pixels(FADE_PX))
    check()
    sample = energy[..., ::SAMPLED_EVERY, ::SAMPLED_EVERY].flatten()
    untrusted = TRUSTED_SHARE * (edges + QUIET_FACTOR * sample.quantile(QUIET_QUANTILE))
    return 1 - (energy / untrusted.clamp_min(1e-12)).clamp_max(1)


def _structure(problem: FitProblem) -> Tensor:
    """Mean square of the slopes around each pixel of the views: (1, h, w)."""
    rows, cols = problem.pixel_pitch
    view = box_mean(problem.views.mean((0, 1)), problem.in_pixels(FINE_PX))
    squares = torch.zeros_like(view)
    squares[1:-1] += ((view[2:] - view[:-2]) / (2 * rows)).square()
    squares[:, 1:-1] += ((view[:, 2:] - view[:, :-2]) / (2 * cols)).square()
    return box_mean(squares[None], problem.in_pixels(LOCAL_PX))
