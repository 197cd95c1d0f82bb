"""Find motion of the camera during the exposure, from the kernels that it blurred.

A motion softens the kernels of both views and of all tiles along one direction. The sum of the two
views sees the whole pupil, which is round: its edge is equally soft all round. So a common
direction in the fine structure of the sums is taken as motion. Fine structure tells more than
widths do: a blur of 8 px that is 5 % wider along one axis has the second moments of a motion of
4.4 px, but here it looks like one of 2 px.
"""

from __future__ import annotations

import numpy as np

BAND = (0.1, 0.2)  # cycles per px: below, the shape of the pupil matters; above, the noise
SPECTRUM_PX = 128
EDGE_POWER = 3  # the power of a disc falls with the third power of the frequency
LONGEST_PX = 5.0  # longer motions have zeros in the band
STEPS = 200
ANGLES = 60
# How often kernels on interpolated rows contain the mean of two rows, at least and at most.
# Bilinear interpolation takes it three times, the height of the rows once more; the published
# kernels of a phone contain it 3.6 times, those of rows that were fitted to a picture never.
ROW_MEANS = (0.0, 5.0)


def motion_px(kernels: np.ndarray, row_upsampling: int = 1) -> float:
    """Length of the straight motion that explains what all kernels (P, 2, K, K) share.

    With interpolated rows, softness along y that the interpolation can explain is not counted.
    """
    power, x, y = _power_in_band(kernels)
    transfer = np.abs(_rows_read(y, row_upsampling)) ** 2
    (most, oblique), (least, _) = (_direction(power / transfer**n, x, y) for n in ROW_MEANS)
    along_x = max(least, 0.0) + min(most, 0.0)  # 0 if it is in between
    return _length(float(np.hypot(along_x, oblique)), power, np.hypot(x, y))


def _power_in_band(kernels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean power of the sum of both views, weighted to that of an edge, and its frequencies."""
    size = max(SPECTRUM_PX, kernels.shape[-1])
    sums = kernels.mean(axis=1)
    power = (np.abs(np.fft.fft2(sums, (size, size))) ** 2).mean(axis=0)
    x, y = np.meshgrid(np.fft.fftfreq(size), np.fft.fftfreq(size))
    radius = np.hypot(x, y)
    chosen = (radius >= BAND[0]) & (radius < BAND[1])
    return (power * radius**EDGE_POWER)[chosen], x[chosen], y[chosen]


def _direction(power: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Mean cosine and sine of twice the direction of the power; both 0 if it is even all round."""
    square = x**2 + y**2
    weight = power / power.sum()
    return float((weight * (x**2 - y**2) / square).sum()), float(
        (weight * 2 * x * y / square).sum()
    )


def _rows_read(y: np.ndarray, ratio: int) -> np.ndarray:
    """Transfer of a mean over rows: cos(pi y) for 2, 1 for a single one."""
    return np.asarray(np.sinc(ratio * y) / np.sinc(y))


def _length(found: float, power: np.ndarray, radius: np.ndarray) -> float:
    """Length of the motion that gives an even spectrum this much direction.

    A motion of L px multiplies the power by sinc(L f)^2, where f is the frequency along it.
    """
    density, edges = np.histogram(radius, bins=20, range=BAND, weights=power)
    middle = (edges[1:] + edges[:-1]) / 2
    angle = (np.arange(ANGLES) + 0.5) * np.pi / ANGLES
    lengths = np.linspace(0, LONGEST_PX, STEPS)
    along = lengths[:, None, None] * middle[:, None] * np.cos(angle)
    left = density[:, None] * np.sinc(along) ** 2
    given = -(left * np.cos(2 * angle)).sum((1, 2)) / left.sum((1, 2))
    return float(np.interp(found, np.maximum.accumulate(given), lengths))
