"""Confidence of the finished defocus map: the chance that a pixel is right."""

from __future__ import annotations

import torch
from torch import Tensor

from napari_dpdeblur.fitting.defocus.local_estimate import Estimate
from napari_dpdeblur.fitting.image.filters import box_mean, largest_around, smallest_around
from napari_dpdeblur.fitting.parameters.report import ConfidenceParameters
from napari_dpdeblur.fitting.problem import area_resample, resample

RIGHT_WITHIN = 0.05  # defocus scale; the coefficients were fitted for it
NO_EVIDENCE = 1.0  # weight that counts as neither agreement nor opposition


def map_confidence(
    estimate: Estimate, defocus_map: Tensor, parameters: ConfidenceParameters
) -> Tensor:
    """Probability (h, w) that a map of any size is right within ``RIGHT_WITHIN``.

    On the grid of the estimates. A logistic function of three features: which share of the
    estimates in a wide neighbourhood agrees with the map, how much evidence nearby opposes it, and
    the largest step of the map nearby. Its coefficients were fitted once, to published and
    synthetic scenes with known defocus.
    """
    values = _on_grid(defocus_map, estimate.centre)
    distance = (estimate.centre - values) / parameters.agreeing_distance
    agreeing = estimate.weight * torch.exp(-distance.square())
    opposing = estimate.weight - agreeing
    region, nearby = ((r, r) for r in (parameters.region_px, parameters.nearby_px))
    support, contrary = box_mean(agreeing, region), box_mean(opposing, region)
    agreement = support / (support + contrary + NO_EVIDENCE)
    against, local = box_mean(opposing, nearby), box_mean(estimate.weight, nearby)
    opposition = against / (local + parameters.clear_weight)
    around = (parameters.step_px, parameters.step_px)
    step = largest_around(values, around) - smallest_around(values, around)
    logit = (
        parameters.offset
        + parameters.of_agreement * agreement
        - parameters.of_opposition * opposition
        - parameters.of_step * step / (step + parameters.half_step)
    )
    return torch.sigmoid(logit)


def _on_grid(values: Tensor, like: Tensor) -> Tensor:
    """A map reduced, or enlarged, to the size of another."""
    shape = (like.shape[-2], like.shape[-1])
    is_smaller = shape[0] <= values.shape[-2] and shape[1] <= values.shape[-1]
    return area_resample(values, shape) if is_smaller else resample(values, shape)
