"""What captures show before their lens is known: ratio of vignetting, and disparity.

Where both views see the same surface, their ratio of brightness is that of their vignetting. It is
smooth, unlike the picture: a polynomial through robust means of many blocks finds it. The disparity
is measured by matching windows of the views.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, pad

from napari_dpdeblur.calibration.estimate.settings import DisparityParameters
from napari_dpdeblur.cancellation import check_cancelled

BLOCKS = 40  # along the longer side
DEGREE_OF_ONE, DEGREE_OF_SEVERAL = 4, 6  # of the polynomial, by the number of captures
ROUNDS = 20  # of re-weighting
OUTLIER = 1.5  # median residuals
DARKEST = 1e-3  # share of the mean brightness below which a block says nothing


def view_ratio(captures: Sequence[np.ndarray]) -> np.ndarray:
    """Left over right vignetting (H, W) float32 from grey views (2, H, W) of several captures."""
    height, width = captures[0].shape[-2:]
    degree = DEGREE_OF_ONE if len(captures) == 1 else DEGREE_OF_SEVERAL
    samples = [_block_ratios(views) for views in captures]
    y, x, ratio = (np.concatenate(parts) for parts in zip(*samples, strict=True))
    if len(ratio) == 0:
        return np.ones((height, width), np.float32)
    powers = [(i, j) for i in range(degree + 1) for j in range(degree + 1 - i)]
    coefficients = _robust_fit(np.stack([x**i * y**j for i, j in powers], 1), np.log(ratio))
    rows, cols = np.linspace(-1, 1, height)[:, None], np.linspace(-1, 1, width)
    log_ratio = np.zeros((height, width))
    for (i, j), coefficient in zip(powers, coefficients, strict=True):
        log_ratio += coefficient * (rows**j * cols**i)
    return np.exp(log_ratio).astype(np.float32)


def _block_ratios(views: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Place y, x in -1..1 and ratio of the means of all blocks that are bright enough."""
    height, width = views.shape[-2:]
    block = max(max(height, width) // BLOCKS, 4)
    rows, cols = height // block, width // block
    whole = views[:, : rows * block, : cols * block]
    means = whole.reshape(2, rows, block, cols, block).mean((2, 4))
    is_bright = means.min(0) > DARKEST * views.mean()
    y = (2 * (np.arange(rows) + 0.5) * block / height - 1)[:, None] + np.zeros(cols)
    x = (2 * (np.arange(cols) + 0.5) * block / width - 1) + np.zeros((rows, 1))
    return y[is_bright], x[is_bright], (means[0] / means[1].clip(1e-12))[is_bright]


def _robust_fit(design: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Coefficients of a least-squares fit in which outliers lose their weight."""
    weight = np.ones(len(values))
    for _ in range(ROUNDS):
        root = np.sqrt(weight)
        coefficients = np.linalg.lstsq(design * root[:, None], values * root, rcond=None)[0]
        residual = np.abs(design @ coefficients - values)
        weight = 1 / (1 + (residual / (OUTLIER * np.median(residual) + 1e-6)) ** 2)
    return np.asarray(coefficients)


def reduced(images: Tensor, factor: int) -> Tensor:
    """Means over blocks of factor x factor pixels of images (V, H, W)."""
    height, width = images.shape[-2:]
    padded = pad(images[None], (0, -width % factor, 0, -height % factor), mode="replicate")
    return avg_pool2d(padded, factor)[0]


def matched_disparities(views: Tensor, parameters: DisparityParameters) -> Tensor:
    """Disparities (N,) of clear matches between grey views (2, H, W), in px; may be empty.

    Positive where the content of the left view lies left of that of the right one: behind the
    focus plane. Starts on a small picture and goes on to finer ones while the disparity is small.
    """
    factor = 1
    while views.shape[-1] // (2 * factor) >= parameters.coarse_width_px:
        factor *= 2
    while True:
        found = factor * _matches(reduced(views, factor), parameters)
        check_cancelled()
        if factor == 1 or largest_disparity(found, parameters) > parameters.fine_px * factor:
            return found
        factor //= 2


def largest_disparity(disparities: Tensor, parameters: DisparityParameters) -> float:
    """The largest disparity that is surely no mismatch, in px; 0 without matches."""
    if len(disparities) == 0:
        return 0.0
    return float(disparities.abs().double().quantile(parameters.quantile))


def _matches(views: Tensor, parameters: DisparityParameters) -> Tensor:
    """Disparities of clear matches in px of these views (2, h, w)."""
    reach, radius = parameters.largest_px, parameters.window_px
    detail = views - _box(_box(views, 2 * radius), 2 * radius)
    left, right = detail
    costs = []
    for shift in range(-reach, reach + 1):
        moved = right.roll(-shift, -1)
        costs.append(_box((left - moved).square()[None], radius)[0])
    cost = torch.stack(costs)[..., radius:-radius, reach + radius : -reach - radius]
    if cost.numel() == 0:
        return views.new_zeros(0)
    # places at every window: neighbours say the same
    cost = cost[:, ::radius, ::radius].flatten(1)
    best = cost.argmin(0)
    inside = (best > 0) & (best < 2 * reach)
    cost, best = cost[:, inside], best[inside]
    before, here, after = (cost.gather(0, (best + i)[None])[0] for i in (-1, 0, 1))
    offset = 0.5 * (before - after) / (before + after - 2 * here).clamp_min(1e-12)
    is_clear = here < parameters.distinct * cost.median(0).values
    return (best - reach + offset.clamp(-0.5, 0.5))[is_clear]


def _box(images: Tensor, radius: int) -> Tensor:
    """Mean over a box of images (V, h, w), edge-replicated."""
    padded = pad(images[None], (radius,) * 4, mode="replicate")
    rows = avg_pool2d(padded, (2 * radius + 1, 1), stride=1)
    return avg_pool2d(rows, (1, 2 * radius + 1), stride=1)[0]
