"""Noise of the views, estimated from the views: sigma^2 = a + b I."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
import torch
from torch import Tensor

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.fitting.parameters.report import NoiseParameters

# Answers to noise, but not to planes and ridges (Immerkaer 1996); its gain is 6.
DETAIL = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32)
DETAIL_GAIN = 6.0
NORMAL_MEDIAN = 0.6745  # median absolute value of a standard normal variable


@dataclass(frozen=True)
class NoiseModel:
    """Variance a + b I of a pixel of intensity I."""

    constant: float
    per_intensity: float

    def at(self, intensity: float) -> float:
        """Standard deviation at an intensity."""
        return math.sqrt(self.constant + self.per_intensity * intensity)

    def sigma(self, views: Tensor) -> Tensor:
        """Standard deviation of views of any shape, of which the noise is smoothed away first."""
        flat = views.reshape(-1, *views.shape[-2:]).cpu().numpy()
        smooth = np.stack([cv2.blur(view, (3, 3)) for view in flat])
        intensity = torch.from_numpy(smooth).reshape(views.shape).to(views).clamp_min(0)
        return (self.constant + self.per_intensity * intensity).sqrt()


def estimate_noise(views: Tensor, parameters: NoiseParameters) -> NoiseModel:
    """Fit the model to the quietest parts of views (V, C, h, w) at several intensities."""
    samples = [
        sample
        for view in views.reshape(-1, *views.shape[-2:]).cpu().numpy()
        for sample in _samples(view.astype(np.float32), parameters)
    ]
    floor = parameters.min_sigma**2
    if not samples:
        return NoiseModel(floor, 0.0)
    intensity, variance = np.array(samples).T
    weight = 1 / np.maximum(variance, floor)  # relative errors are alike
    design = np.stack([np.ones_like(intensity), intensity], axis=1)
    constant, slope = _non_negative(design * weight[:, None], variance * weight)
    return NoiseModel(max(constant, floor), slope)


def _non_negative(design: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """The two non-negative factors of the columns that fit the values best.

    scipy has a general solver, but loading its package takes longer than a quick fit may.
    """
    both = np.linalg.lstsq(design, values, rcond=None)[0]
    if (both >= 0).all():
        return float(both[0]), float(both[1])
    alone = np.maximum(design.T @ values / (design**2).sum(0), 0)
    candidates = [(float(alone[0]), 0.0), (0.0, float(alone[1]))]
    return min(candidates, key=lambda factors: float(np.sum((design @ factors - values) ** 2)))


def _samples(view: FloatArray, parameters: NoiseParameters) -> list[tuple[float, float]]:
    """Intensity and variance in each range of intensities, where the view (h, w) is quiet."""
    detail = np.abs(cv2.filter2D(view, -1, DETAIL))
    mean = cv2.blur(view, (5, 5))
    slopes = [cv2.Sobel(mean, cv2.CV_32F, *axis) for axis in ((1, 0), (0, 1))]
    structure = cv2.blur(slopes[0] ** 2 + slopes[1] ** 2, (9, 9))
    edges = np.quantile(mean, np.linspace(0.01, 0.99, parameters.intensities + 1))
    found = []
    for low, high in pairwise(edges):
        within = (mean >= low) & (mean < high)
        if within.sum() < parameters.min_pixels:
            continue
        within &= structure <= np.quantile(structure[within], parameters.quiet_share)
        sigma = float(np.median(detail[within])) / NORMAL_MEDIAN / DETAIL_GAIN
        found.append((float(mean[within].mean()), sigma**2))
    return found
