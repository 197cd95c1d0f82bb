"""Colours of defocus maps: one rule for previews, reports, exports and the viewer.

A map of one side of the focus plane has the sequential map viridis from its lowest to its highest
value. A map with content in front of the focus plane has a diverging map centred on 0: warm colours
in front, light grey in focus, blue behind, and the same change of colour for the same blur on both
sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np

from napari_dpdeblur.array_types import AnyFloatArray, Picture

# A map is two-sided if more than this share of its pixels is in front of the focus plane by more
# than this share of its largest blur: noise around the focus and single outliers do not count.
TRACE_SHARE = 0.005
TRACE_DEPTH = 0.02
SEQUENTIAL, DIVERGING = "viridis", "front-focus-behind"
# Evenly spaced, of equal lightness (Oklab 0.36 to 0.95) at equal distance from the centre.
DIVERGING_ANCHORS = (
    "66261d a64114 ce773d e2b48b eeeeee 93c5ed 4f94de 2f62b6 28396e"  # front, focus, behind
)
DIVERGING_COLORS = 257  # odd, so that there is a colour for 0


@dataclass(frozen=True, eq=False)
class ColorScale:
    """Colours (N, 3) uint8 for defocus scales, evenly spaced between two limits."""

    limits: tuple[float, float]
    name: str
    palette: Picture

    @property
    def is_diverging(self) -> bool:
        """Whether the colours tell the front from the back; 0 is then at their centre."""
        return self.name == DIVERGING

    def paint(self, defocus_map: AnyFloatArray) -> Picture:
        """Colours (H, W, 3) uint8 of a defocus map (H, W)."""
        return painted(defocus_map, self.limits, self.palette)

    def with_limits(self, low: float, high: float) -> ColorScale:
        """The same colours over these limits, widened to be symmetric if they diverge."""
        return ColorScale(_limits(low, high, self.is_diverging), self.name, self.palette)


def color_scale(
    defocus_map: AnyFloatArray, limits: tuple[float, float] | None = None
) -> ColorScale:
    """The colours of a defocus map (H, W); without ``limits`` from its lowest to its highest."""
    low, high = limits or _extent(defocus_map)
    scale = diverging_scale if is_two_sided(defocus_map) else sequential_scale
    return scale(low, high)


def sequential_scale(low: float, high: float) -> ColorScale:
    """Viridis between two limits."""
    return ColorScale(_limits(low, high, False), SEQUENTIAL, _viridis())


def diverging_scale(low: float, high: float) -> ColorScale:
    """The diverging colours with 0 at their centre, as far as the farther of two limits."""
    return ColorScale(_limits(low, high, True), DIVERGING, diverging_palette())


def is_two_sided(defocus_map: AnyFloatArray) -> bool:
    """Whether more than a trace of a map is in front of the focus plane."""
    values = np.asarray(defocus_map)
    values = values[np.isfinite(values)]
    if not values.size:
        return False
    depth = TRACE_DEPTH * float(np.abs(values).max())
    return bool(np.mean(values < -depth) > TRACE_SHARE)


def painted(defocus_map: AnyFloatArray, limits: tuple[float, float], palette: Picture) -> Picture:
    """Colours (H, W, 3) uint8 of a map (H, W) from a palette (N, 3) over its limits."""
    low, high = limits
    span = max(high - low, 1e-12)
    unit = np.clip((np.nan_to_num(defocus_map) - low) / span, 0.0, 1.0)
    index = np.round((len(palette) - 1) * unit).astype(np.intp)
    return np.asarray(palette[index], np.uint8)


@cache
def diverging_palette() -> Picture:
    """The diverging colours (257, 3) uint8, from the front to the back."""
    anchors = np.array([list(bytes.fromhex(text)) for text in DIVERGING_ANCHORS.split()], float)
    at = np.linspace(0.0, 1.0, len(anchors))
    wanted = np.linspace(0.0, 1.0, DIVERGING_COLORS)
    channels = [np.interp(wanted, at, channel) for channel in anchors.T]
    return np.round(np.stack(channels, axis=-1)).astype(np.uint8)


@cache
def _viridis() -> Picture:
    ramp = np.arange(256, dtype=np.uint8)[:, None]
    return np.asarray(cv2.applyColorMap(ramp, cv2.COLORMAP_VIRIDIS)[:, 0, ::-1], np.uint8)


def _extent(defocus_map: AnyFloatArray) -> tuple[float, float]:
    values = np.asarray(defocus_map)
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)


def _limits(low: float, high: float, is_diverging: bool) -> tuple[float, float]:
    if is_diverging:
        farther = max(abs(low), abs(high))
        return -farther, farther
    return low, high
