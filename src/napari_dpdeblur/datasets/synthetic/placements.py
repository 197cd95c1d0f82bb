"""Where the objects of a synthetic scene are: on the floor, or hanging in front of the wall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from napari_dpdeblur.datasets.synthetic.shapes import Grid

HORIZON_Y = 0.02
FLOOR_FAR, FLOOR_NEAR = 0.22, 0.95  # nearness at the horizon and at the lower edge
# Objects around a subject: nearness, column in half widths, half size, height of a hanging one.
# The subject is in the middle, at the nearness of the focus plane.
AROUND = (
    (0.30, -0.30, 0.13, None),
    (0.36, 0.62, 0.10, -0.22),
    (0.40, 0.40, 0.13, None),
    (0.80, -0.55, 0.10, -0.27),
    (0.87, 0.78, 0.20, None),
    (1.00, -0.80, 0.22, None),
)
SUBJECT_RADIUS = 0.19


@dataclass(frozen=True)
class Placement:
    """Position of an object: centre, half size, rotation, nearness; standing or hanging."""

    y: float
    x: float
    radius: float
    angle: float
    nearness: float
    stands: bool
    is_subject: bool = False


def still_life(grid: Grid, generator: np.random.Generator) -> list[Placement]:
    """Seven objects in shuffled columns, sorted from back to front."""
    half_width, bottom = float(grid.x.max()), float(grid.y.max())
    nearness = np.array([0.3, 0.4, 0.5, 0.6, 0.72, 0.85, 1.0])
    columns = (np.arange(7) + generator.uniform(0.25, 0.75, 7)) / 7 * 2 - 1
    columns = generator.permutation(columns) * half_width * 0.92
    hangs = generator.permutation(7) < 2
    places = []
    for i, near in enumerate(nearness):
        radius = (0.10 + 0.10 * near) * generator.uniform(0.85, 1.15)
        y = generator.uniform(-0.38, -0.15) if hangs[i] else _floor_y(near, bottom) - radius
        angle = generator.uniform(-0.5, 0.5)
        places.append(Placement(y, float(columns[i]), radius, angle, float(near), not hangs[i]))
    return places


def around_a_subject(
    grid: Grid, focus_nearness: float, generator: np.random.Generator
) -> list[Placement]:
    """A subject in the focus plane with things behind and in front of it, from back to front."""
    half_width, bottom = float(grid.x.max()), float(grid.y.max())
    side = generator.choice([-1.0, 1.0])
    subject = (focus_nearness, 0.0, SUBJECT_RADIUS, None)
    places = []
    for near, column, size, hanging_y in sorted((*AROUND, subject), key=lambda place: place[0]):
        radius = size * generator.uniform(0.9, 1.1)
        x = (side * column + generator.uniform(-0.06, 0.06)) * half_width
        y = _floor_y(near, bottom) - radius if hanging_y is None else hanging_y
        angle = generator.uniform(-0.5, 0.5)
        stands, is_subject = hanging_y is None, near == focus_nearness
        places.append(Placement(y, x, radius, angle, near, stands, is_subject))
    return places


def _floor_y(nearness: float, bottom: float) -> float:
    """Where something of this nearness stands, at most close to the lower edge."""
    share = (nearness - FLOOR_FAR) / (FLOOR_NEAR - FLOOR_FAR)
    return float(min(HORIZON_Y + share * (bottom - HORIZON_Y), bottom - 0.03))
