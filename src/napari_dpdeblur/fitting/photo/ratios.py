"""Red and blue of a sharp green image, from a photo that may be blurred differently.

Within a small neighbourhood of one surface, colours lie on a line: red = a green + b. Blur mixes
points of a line into points of the same line, so a and b can be measured in a blurred photo and
applied to the sharp image.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from napari_dpdeblur.array_types import AnyFloatArray, FloatArray
from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.parameters.photo import ColorParameters

GREEN = 1
OTHERS = (0, 2)  # red and blue
TINY = 1e-6
FEW_PX = 4  # radius of windows on the reduced grid
BORDER = cv2.BORDER_REFLECT
DARK_SHARE = 0.1  # of the mean: darker pixels are compared by their difference, not their ratio


@dataclass(frozen=True)
class Seen:
    """What the photo shows of each pixel: colours (3, H, W), and how far they can be trusted.

    ``weight`` (H, W) is 0 where the photo does not see, is clipped or shows something else;
    ``detail`` (H, W) is 1 where its green equals that of the fit or is sharper, 0 where blur mixes
    colours; ``own`` (H, W) is 1 where the photo is at least as sharp as the fit.
    """

    colors: FloatArray
    weight: FloatArray
    detail: FloatArray
    own: FloatArray

    def within(self, window: tuple[slice, slice]) -> Seen:
        """A part of the image."""
        inner = (slice(None), *window)
        return Seen(self.colors[inner], self.weight[window], self.detail[window], self.own[window])


def compare(
    sharp: FloatArray, photo: FloatArray, is_clipped: np.ndarray, parameters: ColorParameters
) -> Seen:
    """Compare green of a photo (3, H, W; NaN: not seen) with the sharp image (H, W)."""
    is_seen = np.isfinite(photo).all(0)
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
    own = agrees * _sharpness(sharp * seen, matched, parameters) * ~is_clipped
    detail = agrees / (1 + (relative / parameters.agreement) ** 2)
    # A clipped colour is close to white, which is better than the colour of something else.
    known = np.where(is_clipped, np.float32(parameters.clipped_weight), seen * agrees)
    return Seen(colors, known * is_bright * seen, np.asarray(detail * seen * ~is_clipped), own)


def _sharpness(sharp: FloatArray, green: FloatArray, parameters: ColorParameters) -> FloatArray:
    """1 where edges of a photo's green are as strong as those of the sharp image, 0 if half."""
    power = []
    for image in (sharp, green):
        smooth = cv2.GaussianBlur(image, (0, 0), parameters.residual_px)
        along_x, along_y = (cv2.Sobel(smooth, cv2.CV_32F, *step) for step in ((1, 0), (0, 1)))
        power.append(cv2.GaussianBlur(along_x**2 + along_y**2, (0, 0), parameters.sharpness_px))
    return np.asarray(np.clip(2 * power[1] / (power[0] + TINY * TINY) - 1, 0, 1))


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
    windows = [
        _Window(sharp, seen.colors, weight, radius, parameters) for radius in parameters.windows_px
    ]
    support = np.maximum.reduce([window.enlarged(window.support) for window in windows])
    ratios = []
    for channel in OTHERS:
        line = _combined([window.line(channel) for window in windows])
        ratios.append(_applied(line, sharp, seen, channel, weight > 0, parameters))
        check_cancelled()
    limited = np.clip(np.stack(ratios), 0, parameters.largest_ratio)
    return np.asarray(limited, np.float32), np.asarray(support, np.float32)


@dataclass(frozen=True)
class _Line:
    """Slope and offset of a line of colours, brightness of the sharp image over that of the photo,
    and how reliable they are: (H, W) each."""

    slope: AnyFloatArray
    offset: AnyFloatArray
    gain: AnyFloatArray
    trust: AnyFloatArray


def _combined(lines: list[_Line]) -> _Line:
    """Lines of windows of all sizes, the reliable ones counting most."""
    total = np.add.reduce([line.trust for line in lines]) + TINY * TINY
    slope, offset, gain = (
        np.add.reduce([line.trust * getattr(line, name) for line in lines]) / total
        for name in ("slope", "offset", "gain")
    )
    return _Line(slope, offset, gain, total)


def _applied(
    line: _Line,
    sharp: AnyFloatArray,
    seen: Seen,
    channel: int,
    is_inside: np.ndarray,
    parameters: ColorParameters,
) -> AnyFloatArray:
    """Ratio of a channel to green (H, W) of the sharp image.

    Where the photo is as sharp as the fit, its colours need not lie on a line.
    """
    left = seen.colors[channel] - line.slope * seen.colors[GREEN] - line.offset
    left *= seen.detail * is_inside
    left = cv2.GaussianBlur(left, (0, 0), parameters.residual_px)
    level = np.maximum(sharp, parameters.dark_level * line.gain + TINY)
    ratio = line.slope + line.gain * (line.offset + left) / level
    # Errors of the sharp image become errors of colour, so a photo that is as sharp decides alone.
    own = seen.colors[channel] / np.maximum(seen.colors[GREEN], TINY)
    return np.asarray(ratio + seen.own * is_inside * (own - ratio))


class _Window:
    """Means over windows of one size, on a reduced grid: averaging keeps lines of colours."""

    def __init__(
        self,
        sharp: AnyFloatArray,
        colors: AnyFloatArray,
        weight: AnyFloatArray,
        radius: int,
        parameters: ColorParameters,
    ) -> None:
        factor = max(radius // FEW_PX, 1)
        self._shape, self._parameters = sharp.shape, parameters
        self._size = (2 * (radius // factor) + 1,) * 2
        self._weight = _reduced(weight, factor)
        inverse = 1 / (self._weight + TINY)
        self._colors = [_reduced(weight * color, factor) * inverse for color in colors]
        bright = _reduced(weight * sharp, factor)
        self.support = self._mean(self._weight)
        self._inverse = 1 / (self.support + TINY)
        green = self._colors[GREEN]
        self._weighted = self._weight * green
        self._level = self._mean(self._weighted) * self._inverse
        square = self._mean(self._weighted * green) * self._inverse
        self._variance = np.maximum(square - self._level**2, 0)
        self._gain = self._mean(bright) * self._inverse / (self._level + TINY)

    def _mean(self, image: AnyFloatArray) -> AnyFloatArray:
        return np.asarray(cv2.blur(image, self._size, borderType=BORDER))

    def enlarged(self, image: AnyFloatArray) -> AnyFloatArray:
        """An image of the reduced grid at full size."""
        height, width = self._shape
        if image.shape == self._shape:
            return image
        return np.asarray(cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR))

    def line(self, channel: int) -> _Line:
        """The line of a channel: each pixel lies in many windows, which are averaged."""
        slope, offset, unexplained = self._fitted(self._colors[channel])
        trust = self.support / (unexplained + self._parameters.tolerance**2)
        total = self._mean(trust)
        share = 1 / (total + TINY * TINY)
        slope, offset, gain = (
            self.enlarged(self._mean(trust * part) * share) for part in (slope, offset, self._gain)
        )
        return _Line(slope, offset, gain, self.enlarged(total))

    def _fitted(self, color: AnyFloatArray) -> tuple[AnyFloatArray, AnyFloatArray, AnyFloatArray]:
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


def _reduced(image: AnyFloatArray, factor: int) -> AnyFloatArray:
    if factor == 1:
        return image
    height, width = image.shape
    size = (max(width // factor, 1), max(height // factor, 1))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA))
