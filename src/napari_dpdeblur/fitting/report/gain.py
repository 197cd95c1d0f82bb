"""Gain field: a smooth brightness difference between the views that no scene explains."""

from __future__ import annotations

import cv2
import numpy as np
import torch
from torch import Tensor

from napari_dpdeblur.fitting.parameters.report import LayerColorParameters

COARSE_SIGMA_PX = 5.0  # interpolated linearly, such a Gaussian has no visible corners


def gain_field(
    rendered: Tensor, views: Tensor, weight: Tensor, parameters: LayerColorParameters
) -> Tensor:
    """Factors (2, 1, h, w) of the rendered views that fit the captured ones, 1 + g and 1 - g.

    Opposite in the two views: what both have in common is the brightness of the scene.
    """
    gains = []
    for model, view, importance in zip(rendered, views, weight, strict=True):
        moments = ((importance * model * other).sum(0) for other in (view, model))
        product, square = (_smooth(moment, parameters.gain_px) for moment in moments)
        gains.append(product / np.maximum(square, 1e-12))
    half = np.clip((gains[0] - gains[1]) / 2, -parameters.max_gain, parameters.max_gain)
    return torch.from_numpy(np.stack([1 + half, 1 - half])[:, None]).to(views)


def _smooth(values: Tensor, sigma_px: float) -> np.ndarray:
    """Gaussian mean, computed at a resolution at which its sigma is still a few pixels."""
    plane = values.detach().cpu().numpy().astype(np.float32)
    height, width = plane.shape
    factor = max(min(int(sigma_px / COARSE_SIGMA_PX), height, width), 1)
    size = (-(-width // factor), -(-height // factor))
    coarse = cv2.resize(plane, size, interpolation=cv2.INTER_AREA)
    sigma = (sigma_px * size[0] / width, sigma_px * size[1] / height)
    smooth = cv2.GaussianBlur(
        coarse, (0, 0), sigma[0], sigmaY=sigma[1], borderType=cv2.BORDER_REFLECT
    )
    return np.asarray(cv2.resize(smooth, (width, height), interpolation=cv2.INTER_LINEAR))
