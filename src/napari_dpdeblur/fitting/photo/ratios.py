"""Red and blue of a sharp green image, from a photo that may be blurred differently.

Within a small neighbourhood of one surface, colours lie on a line: red = a green + b. Blur mixes
points of a line into points of the same line, so a and b can be measured in a blurred photo and
applied to the sharp image.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.parameters.photo import ColorParameters

GREEN = 1
OTHERS = (0, 2)  # red and blue
TINY = 1e-6
BORDER = cv2.BORDER_REFLECT
DARK_SHARE = 0.1  # of the mean: darker pixels are compared by their difference, not their ratio


@dataclass(frozen=True)
class Seen:
    """What the photo shows of each pixel: colours (3, H, W), and how far they can be trusted.

    ``weight`` (H, W) is 0 where the photo does not see, is clipped or shows something else;
    ``detail`` (H, W) is 1 where its green equals that of the fit, 0 where blur mixes colours.
    """

    colors: FloatArray
    weight: FloatArray
    detail: FloatArray

    def within(self, window: tuple[slice, slice]) -> Seen:
        """A part of the image."""
        inner = (slice(None), *window)
        return Seen(self.colors[inner], self.weight[window], self.detail[window])


def compare(
    sharp: FloatArray, photo: FloatArray, is_clipped: np.ndarray, parameters: ColorParameters
) -> Seen:
    """Compare green of a photo (3, H, W; NaN: not seen) with the sharp image (H, W)."""
    is_seen = np.isfinite(photo).all(0) & ~is_clipped
    seen = is_seen.astype(np.float32)
    colors = np.where(is_seen, photo, np.float32(0))
    green = colors[GREEN]
    matched = green * _wide_ratio(sharp * seen, green, parameters.brightness_px)
    floor = np.float32(DARK_SHARE * float(sharp.mean()))
    relative = (matched - sharp) / (sharp + matched + floor)
    sigma = parameters.disagreement_px
    means = [cv2.GaussianBlur(image * seen, (0, 0), sigma) for image in (matched, sharp)]
    wide = np.abs(means[0] - means[1]) / (means[0] + means[1] + floor)
    agrees = np.clip(2 - 2 * wide / parameters.disagreement, 0, 1)
    is_bright = green / (green + parameters.dark_level)
    detail = agrees / (1 + (relative / parameters.agreement) ** 2)
    return Seen(colors, np.asarray(seen * agrees * is_bright), np.asarray(detail * seen))


def _wide_ratio(sharp: FloatArray, green: FloatArray, sigma_px: float) -> FloatArray:
    """Slowly varying ratio of two images (H, W), computed at reduced resolution."""
    factor = max(int(sigma_px // 5), 1)
    height, width = sharp.shape
    size = (max(width // factor, 1), max(height // factor, 1))
    means = []
    for image in (sharp, green):
        small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
        means.append(cv2.GaussianBlur(small, (0, 0), sigma_px / factor, borderType=BORDER))
    ratio = (means[0] + TINY) / (means[1] + TINY)
    return np.asarray(cv2.resize(ratio, (width, height), interpolation=cv2.INTER_LINEAR))


def surface_ratios(
    sharp: FloatArray, seen: Seen, inside: FloatArray, parameters: ColorParameters
) -> tuple[FloatArray, FloatArray]:
    """Ratios of red and blue to green (2, H, W) of one surface, and their support (H, W).

    ``inside`` (H, W) is the part of the image that belongs to the surface. The support is the
    largest mean trust of the pixels that a ratio comes from; where it is 0, ratios mean nothing.
    """
    weight = seen.weight * inside * (parameters.least_detail + seen.detail)
    total = np.zeros((2, *sharp.shape), np.float32)
    reliability = np.full_like(total, TINY * TINY)
    support = np.zeros_like(sharp)
    for radius in parameters.windows_px:
        lines = _Lines(sharp, seen, weight, radius, parameters)
        for index, channel in enumerate(OTHERS):
            ratio, trusted = lines.ratio(channel)
            total[index] += trusted * ratio
            reliability[index] += trusted
            check_cancelled()
        support = np.maximum(support, lines.support)
    ratios = np.clip(total / reliability, 0, parameters.largest_ratio)
    return np.asarray(ratios), support


class _Lines:
    """Lines of colour in windows of one size; units are those of the sharp image."""

    def __init__(
        self,
        sharp: FloatArray,
        seen: Seen,
        weight: FloatArray,
        radius: int,
        parameters: ColorParameters,
    ) -> None:
        self._sharp, self._seen, self._weight = sharp, seen, weight
        self._size, self._parameters = (2 * radius + 1, 2 * radius + 1), parameters
        self.support = self._mean(weight)
        self._inverse = 1 / (self.support + TINY)
        self._green = seen.colors[GREEN]
        self._weighted = weight * self._green
        self._level = self._mean(self._weighted) * self._inverse
        square = self._mean(self._weighted * self._green) * self._inverse
        self._variance = np.maximum(square - self._level**2, 0)
        # Brightness of the sharp image over that of the photo.
        bright = self._mean(weight * sharp) * self._inverse
        self._gain = bright / (self._level + TINY)

    def _mean(self, image: FloatArray) -> FloatArray:
        return np.asarray(cv2.blur(image, self._size, borderType=BORDER))

    def ratio(self, channel: int) -> tuple[FloatArray, FloatArray]:
        """Ratio of a channel to green (H, W), and how reliable it is."""
        color = self._seen.colors[channel]
        slope, offset, unexplained = self._line(color)
        # Each pixel lies in many windows: those in which a line explains the colours count most.
        trusted = self.support / (unexplained + self._parameters.tolerance**2)
        share = 1 / (self._mean(trusted) + TINY * TINY)
        slope, offset, gain = (
            self._mean(trusted * part) * share for part in (slope, offset, self._gain)
        )
        left = (color - slope * self._green - offset) * self._seen.detail * (self._weight > 0)
        left = cv2.GaussianBlur(left, (0, 0), self._parameters.residual_px)
        level = np.maximum(self._sharp, self._parameters.dark_level * gain)
        return slope + gain * (offset + left) / level, self._mean(trusted)

    def _line(self, color: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Slope, offset, and the unexplained variance relative to the square of the colour."""
        mean = self._mean(self._weight * color) * self._inverse
        product = self._mean(self._weighted * color) * self._inverse - self._level * mean
        square = self._mean(self._weight * color * color) * self._inverse - mean**2
        # Without contrast the ratio is constant: shading changes brightness, not colour.
        ridge = (self._parameters.flatness * self._level) ** 2 + TINY * TINY
        typical = mean / (self._level + TINY)
        slope = (product + ridge * typical) / (self._variance + ridge)
        unexplained = square - 2 * slope * product + slope**2 * self._variance
        relative = np.maximum(unexplained, 0) / (mean**2 + self._level**2 + TINY)
        return slope, mean - slope * self._level, relative
