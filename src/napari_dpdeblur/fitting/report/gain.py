"""Gain field: a smooth brightness difference between the views that no scene explains."""

from __future__ import annotations

import cv2
import numpy as np
import torch
from torch import Tensor

from napari_dpdeblur.fitting.parameters.report import LayerColorParameters


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
    plane = values.detach().cpu().numpy().astype(np.float32)
    return np.asarray(cv2.GaussianBlur(plane, (0, 0), sigma_px, borderType=cv2.BORDER_REFLECT))
