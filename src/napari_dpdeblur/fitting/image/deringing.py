"""Remove ringing and noise where the views are flat.

A deconvolution answers every strong edge with ringing, at frequencies that the lens hardly passes
and that a calibration therefore measures badly. It extends farther than the blur, into areas where
the views themselves show nothing: that distinguishes it from texture.
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
from napari_dpdeblur.fitting.parameters.image import DeringingParameters, VariationParameters
from napari_dpdeblur.fitting.problem import FitProblem, reduce_images, resample


def within_capture(problem: FitProblem, image: Tensor, parameters: DeringingParameters) -> Tensor:
    """Limit an image (C, h, w) to what the capture allows.

    Nothing is brighter than the brightest pixel that was captured, as in the paper, where colours
    are sigmoids in its unit, and nothing much darker than the darkest, noise aside: beyond that,
    it is mostly overshoot.
    """
    coarse = reduce_images(problem.views.mean(0), *problem.in_pixels(parameters.coarse_px))
    darkest = coarse.flatten(1).quantile(parameters.dark_quantile, dim=1).clamp_min(0)
    return image.maximum(parameters.darker_by * darkest[:, None, None]).minimum(problem.views.max())


def without_ringing(
    problem: FitProblem,
    image: Tensor,
    strength: float,
    parameters: DeringingParameters,
    variation: VariationParameters,
) -> Tensor:
    """The image (C, h, w), smoothed where the views are flat next to edges or flat altogether."""
    if not strength:
        return image
    smooth = total_variation_filter(image, strength * parameters.variation, variation)
    return image + flatness(problem, parameters) * (smooth - image)


def flatness(problem: FitProblem, parameters: DeringingParameters) -> Tensor:
    """1 where the views show no structure above noise and ringing, 0 where they do: (1, h, w)."""
    energy = _structure(problem, parameters)
    check_cancelled()
    coarse_px = parameters.coarse_px
    coarse = reduce_images(energy, *problem.in_pixels(coarse_px))
    edges = largest_around(coarse, (parameters.reach_px // coarse_px,) * 2)
    edges = box_mean(edges, (parameters.fade_px // coarse_px,) * 2)
    noise = parameters.quiet_factor * coarse.quantile(parameters.quiet_quantile)
    untrusted = parameters.trusted_share * (edges + noise)
    check_cancelled()
    limit = resample(untrusted, (energy.shape[-2], energy.shape[-1])).clamp_min(1e-12)
    return 1 - (energy / limit).clamp_max(1)


def _structure(problem: FitProblem, parameters: DeringingParameters) -> Tensor:
    """Mean squared gradient around each pixel of the views: (1, h, w)."""
    rows, cols = problem.pixel_pitch
    view = box_mean(problem.views.mean((0, 1)), problem.in_pixels(parameters.fine_px))
    along_y, along_x = squared_slopes(view)
    squares = along_y / rows**2 + along_x / cols**2
    return box_mean(squares[None], problem.in_pixels(parameters.local_px))
