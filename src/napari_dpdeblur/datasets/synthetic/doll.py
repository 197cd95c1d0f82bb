"""A painted wooden doll: a lacquered solid of revolution with a face, a scarf and an apron.

Coordinates of the doll: ``t`` runs from 0 at its base to 1 at its top, ``u`` across it, both in
units of its height; paint follows the surface, so it is foreshortened towards the outline.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from napari_dpdeblur.datasets.synthetic.shapes import Grid
from napari_dpdeblur.datasets.synthetic.textures import (
    flower,
    linear,
    paint,
    part_of,
    soft_wave,
    window_of,
)

HEAD_T, HEAD_RADIUS = 0.765, 0.235
BODY_T, BODY_RADII = 0.25, (0.40, 0.315)  # along the axis, across
FACE_T, FACE_RADII = 0.75, (0.150, 0.145)
WIDEST = 0.34
THREAD = 0.011
LIGHT = np.array([-0.52, 0.55, 0.65]) / np.linalg.norm([-0.52, 0.55, 0.65])
SKIN, HAIR, GOLD = linear("f1c8a4"), linear("3a2012"), linear("e0aa3e")
LIPS, BLUSH, INK, WHITE = linear("b3262e"), linear("e0796b"), linear("1c1418"), linear("f7f2e8")
LEAF = linear("2f7d3b")


@dataclass(frozen=True)
class Doll:
    """Where a doll stands (middle of its base), its height, and its colours, linear RGB."""

    y: float
    x: float
    height: float
    scarf: np.ndarray
    dress: np.ndarray
    apron: np.ndarray
    eyes: np.ndarray

    def painted(self, grid: Grid) -> tuple[tuple[slice, slice], np.ndarray, np.ndarray]:
        """Window of the frame, colour (3, h, w) and coverage (h, w)."""
        reach = WIDEST * self.height
        window = window_of(
            grid,
            (self.y - 1.02 * self.height, self.y + 0.06 * self.height),
            (self.x - reach, self.x + reach),
        )
        part = part_of(grid, window)
        fine = Grid(
            (self.y - part.y) / self.height, (part.x - self.x) / self.height, grid.px / self.height
        )
        surface = _Surface.of(fine)
        color = self._clothes(fine, surface)
        self._paint_face(fine, surface, color)
        return window, _lit(surface, color), surface.cover

    def _clothes(self, fine: Grid, surface: _Surface) -> np.ndarray:
        """Dress with stripes and a band, apron with flowers, scarf with blossoms and a knot."""
        t, u = fine.y, surface.u
        color = np.broadcast_to(self.dress[:, None, None], (3, *t.shape)).astype(np.float32)
        color *= 1 + 0.22 * soft_wave(u / 0.03, fine.px / 0.03)
        band = fine.mask(np.abs(t - 0.035 - surface.sag) - 0.03)
        zigzag = np.abs((u / 0.05) % 1.0 - 0.5) * 0.09 + 0.013 + surface.sag
        paint(color, band, self.scarf)
        paint(color, band * fine.mask(np.abs(t - zigzag) - 0.006), GOLD)
        apron = np.hypot((t - 0.29) / 1.25, u) - 0.215
        paint(color, fine.mask(apron - 0.014 - 0.010 * np.cos(np.arctan2(t - 0.29, u) * 22)), WHITE)
        linen = 1 + 0.09 * _threads(fine, u) * _threads(fine, t)
        paint(color, fine.mask(apron), self.apron[:, None, None] * linen)
        paint(color, fine.mask(np.abs(apron + 0.016) - 0.003), GOLD)
        for up, aside, radius, hue in _bouquet(self.scarf, self.dress):
            _paint_rose(fine, color, (t - up, u - aside), radius, hue)
        scarf = np.maximum(0.565 + 0.9 * u**2 - t, -1.0)
        cover = fine.mask(scarf)
        paint(color, cover, self.scarf)
        v, w = _tiled(t, u, 0.085)
        paint(color, cover * fine.mask(flower(v, w, 0.026, 5)), WHITE)
        paint(color, cover * fine.mask(np.hypot(v, w) - 0.008), GOLD)
        paint(color, fine.mask(np.abs(scarf) - 0.007), GOLD)
        for side in (-1, 1):
            knot = np.hypot((t - 0.545) * 1.5 - side * 0.25 * u, u - side * 0.045) - 0.045
            paint(color, fine.mask(knot), 0.8 * self.scarf)
            paint(color, fine.mask(np.abs(knot) - 0.003), GOLD)
        return color

    def _paint_face(self, fine: Grid, surface: _Surface, color: np.ndarray) -> None:
        t, u = fine.y, surface.u
        round_ = np.hypot((t - FACE_T) / FACE_RADII[0], u / FACE_RADII[1])
        face = (round_ - 1) * FACE_RADII[1]
        inside = fine.mask(face)
        paint(color, fine.mask(face - 0.010), GOLD)
        paint(color, inside, SKIN)
        for side in (-1, 1):
            cheek = np.exp(-((t - 0.695) ** 2 + (u - side * 0.075) ** 2) / 0.0011)
            paint(color, 0.75 * cheek * inside, BLUSH)
        strands = 1 + 0.5 * soft_wave((np.abs(u) + 0.35 * t) / 0.011, fine.px / 0.011)
        hair = inside * fine.mask(0.868 - 2.6 * np.abs(u) ** 1.35 - t)
        paint(color, hair, HAIR[:, None, None] * strands)
        for side in (-1, 1):
            _paint_eye(fine, color, t - 0.765, u - side * 0.057, self.eyes)
        nose = np.hypot(t - 0.722, np.abs(u) - 0.010) - 0.0045
        paint(color, 0.6 * fine.mask(nose), 0.55 * SKIN)
        smile = 0.011 * np.minimum((u / 0.03) ** 2, 1.5)
        cupid = 0.0035 * np.cos(u / 0.03 * 2.5 * np.pi) * (t > 0.664 + smile)
        mouth = np.hypot((t - 0.664 - smile + cupid) / 0.42, u) - 0.032
        paint(color, fine.mask(mouth), LIPS)
        paint(color, fine.mask(np.maximum(np.abs(t - 0.664 - smile) - 0.0016, mouth)), 0.3 * LIPS)


@dataclass(frozen=True)
class _Surface:
    """Coverage, position across the unrolled surface, normal (3, h, w), sag of horizontal rings."""

    cover: np.ndarray
    u: np.ndarray
    normal: np.ndarray
    sag: np.ndarray

    @classmethod
    def of(cls, fine: Grid) -> _Surface:
        axis = fine.y[:, 0]
        radius = _radius(axis)
        slope = np.gradient(radius, axis)[:, None]
        across = np.clip(fine.x / np.maximum(radius, 1e-4)[:, None], -1.0, 1.0)
        depth = np.sqrt(1 - across**2)
        sag = 0.035 * (1 - depth)  # one looks down on the table: rings are ellipses
        outline = (np.abs(fine.x) - radius[:, None]) / np.sqrt(1 + slope**2)
        ends = np.maximum(fine.y - HEAD_T - HEAD_RADIUS, sag - 0.02 - fine.y)
        cover = fine.mask(np.maximum(outline, ends))
        unrolled = np.arcsin(across) * radius[:, None]
        normal = np.stack([across, -slope * np.ones_like(across), depth])
        normal /= np.linalg.norm(normal, axis=0)
        return cls(cover.astype(np.float32), unrolled.astype(np.float32), normal, sag)


def _radius(t: np.ndarray) -> np.ndarray:
    """Radius of the doll at heights ``t``: head and body, smoothly joined."""
    head = HEAD_RADIUS * np.sqrt(np.clip(1 - ((t - HEAD_T) / HEAD_RADIUS) ** 2, 0.0, 1.0))
    body = BODY_RADII[1] * np.sqrt(np.clip(1 - ((t - BODY_T) / BODY_RADII[0]) ** 2, 0.0, 1.0))
    sharpness = 40.0
    joined = np.log(np.exp(sharpness * head) + np.exp(sharpness * body)) / sharpness
    neck = np.clip((t - 0.45) / 0.08, 0, 1) * np.clip((0.72 - t) / 0.08, 0, 1)
    apart = np.maximum(head, body)
    return np.asarray(apart + neck * (joined - apart))


def _threads(fine: Grid, position: np.ndarray) -> np.ndarray:
    return soft_wave(position / THREAD, fine.px / THREAD)


def _lit(surface: _Surface, color: np.ndarray) -> np.ndarray:
    """Daylight from the upper left, light from the table below, lacquer."""
    normal = surface.normal
    direct = np.clip(np.tensordot(LIGHT, normal, axes=1), 0.0, 1.0)
    ambient = 0.36 + 0.14 * normal[1] + 0.10 * normal[2]
    half = LIGHT + np.array([0.0, 0.0, 1.0])
    gloss = np.clip(np.tensordot(half / np.linalg.norm(half), normal, axes=1), 0.0, 1.0) ** 70
    return np.asarray(color * (ambient + 0.62 * direct) + 0.22 * gloss, np.float32)


def _paint_eye(
    fine: Grid, color: np.ndarray, v: np.ndarray, u: np.ndarray, iris: np.ndarray
) -> None:
    almond = np.hypot(v / 0.62, u) - 0.031
    paint(color, fine.mask(almond), WHITE)
    inside = fine.mask(almond)
    paint(color, inside * fine.mask(np.hypot(v, u) - 0.0165), iris)
    paint(color, inside * fine.mask(np.hypot(v, u) - 0.0085), INK)
    paint(color, fine.mask(np.hypot(v - 0.007, u + 0.006) - 0.0042), WHITE)
    lid = np.maximum(np.abs(almond) - 0.0032, 0.002 - v)
    paint(color, fine.mask(lid), INK)
    brow = np.abs(v - 0.040 + 7.0 * u**2) - 0.0045 * (1 - (u / 0.042) ** 2)
    paint(color, fine.mask(brow), HAIR)


def _paint_rose(
    fine: Grid,
    color: np.ndarray,
    at: tuple[np.ndarray, np.ndarray],
    radius: float,
    hue: np.ndarray,
) -> None:
    """A rose of painted strokes with three leaves."""
    v, u = at
    for turn in (0.5, 2.5, 4.4):
        a, b = v * np.cos(turn) - u * np.sin(turn), v * np.sin(turn) + u * np.cos(turn)
        blade = np.hypot((a - 1.25 * radius) / 1.0, 2.1 * b) - 0.55 * radius
        paint(color, fine.mask(blade), LEAF)
        paint(color, fine.mask(np.maximum(blade, np.abs(b) - 0.03 * radius)), 2 * LEAF)
    paint(color, fine.mask(flower(v, u, radius, 7)), hue)
    spiral = np.hypot(v, u) / radius * 3 + np.arctan2(v, u) / (2 * np.pi)
    strokes = np.clip(soft_wave(spiral, 3 * fine.px / radius), 0, 1)
    paint(color, strokes * fine.mask(np.hypot(v, u) - 0.8 * radius), 0.35 * hue + 0.55 * WHITE)


def _bouquet(
    first: np.ndarray, second: np.ndarray
) -> tuple[tuple[float, float, float, np.ndarray], ...]:
    return (
        (0.20, -0.09, 0.052, second),
        (0.22, 0.09, 0.056, GOLD),
        (0.36, 0.0, 0.072, first),
    )


def _tiled(t: np.ndarray, u: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates relative to the nearest point of a staggered pattern."""
    row = np.floor(t / period)
    v = t - (row + 0.5) * period
    return v, (u + 0.5 * period * (row % 2)) % period - 0.5 * period
