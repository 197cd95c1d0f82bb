"""Objects of the synthetic scene: a wall, a tiled floor, standing and hanging objects.

Nearness runs from 0 (farthest layer) to 1 (nearest). On the floor it is linear in y, as for any
plane, so an object stands where the floor has its nearness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from napari_dpdeblur.datasets.synthetic.placements import (
    FLOOR_FAR,
    FLOOR_NEAR,
    HORIZON_Y,
    Placement,
)
from napari_dpdeblur.datasets.synthetic.shapes import (
    CREAM,
    INK,
    PALETTE,
    Grid,
    box,
    disc,
    fractal_noise,
    mixed,
    polygon,
    sphere_light,
    spokes,
    text_bars,
)

WALL_LEFT, WALL_RIGHT = 0.0, 0.2
BRIGHTEST = 0.85
CORD_WIDTH = 0.007
LUMINANCE = np.array([0.2126, 0.7152, 0.0722], np.float32)


@dataclass(frozen=True)
class SceneObject:
    """An object to add to the layers: colour (3, H, W), coverage (H, W), nearness."""

    color: np.ndarray
    mask: np.ndarray
    nearness: float | np.ndarray  # (H, W) when slanted


def scene_objects(
    grid: Grid, places: list[Placement], generator: np.random.Generator
) -> Iterator[SceneObject]:
    """Wall, floor and an object at each place, from back to front."""
    yield _wall(grid, generator)
    yield _floor(grid, places, generator)
    makers = _makers(places, generator.permutation(len(MAKERS)))
    hues = generator.permutation(len(PALETTE))
    for i, place in enumerate(places):
        hue, other = PALETTE[hues[i % len(hues)]], PALETTE[hues[(i + 3) % len(hues)]]
        made = makers[i % len(makers)](grid, place, hue, other, generator)
        yield made if place.stands else _hung(grid, place, made)


def layered(
    objects: Iterable[SceneObject], grid: Grid, channels: int, layers: int
) -> tuple[np.ndarray, np.ndarray]:
    """Objects from back to front as layers: colour (L, C, H, W) and coverage (L, 1, H, W)."""
    height, width = grid.y.shape
    color = np.zeros((layers, channels, height, width), np.float32)
    alpha = np.zeros((layers, 1, height, width), np.float32)
    alpha[0] = 1.0
    for item in objects:
        rgb = item.color.astype(np.float32)
        paint = rgb if channels == 3 else np.tensordot(LUMINANCE, rgb, axes=1)[None]
        depth = np.asarray(item.nearness, np.float32) * (layers - 1)
        _insert(color, alpha, paint, item.mask.astype(np.float32), depth)
    return color, alpha


def _insert(
    color: np.ndarray, alpha: np.ndarray, paint: np.ndarray, mask: np.ndarray, depth: np.ndarray
) -> None:
    """Composite an object over the layers at its depth.

    A constant ``depth`` is snapped to one layer, so the object has one sharp edge. A slanted one is
    shared between neighbouring layers, so the defocus map is smooth, and extended behind itself, so
    that nothing shines through where blurred layers meet.
    """
    if depth.ndim == 0:
        layer = int(depth.round())
        _over(color[layer], alpha[layer], paint, mask)
        return
    below = np.clip(np.floor(depth), 0, len(alpha) - 2)
    near = np.clip(depth - below, 0.0, 1.0) * mask
    far = (mask - near) / np.maximum(1 - near, 1e-6)
    far = np.where(mask == 1, 1.0, far)
    farthest = int(below[mask > 0].min())
    for layer in range(farthest, len(alpha)):
        cover = np.where(below == layer, far, 0.0) + np.where(below + 1 == layer, near, 0.0)
        cover = np.where((below > layer) & (mask == 1), 1.0, cover).astype(np.float32)
        _over(color[layer], alpha[layer], paint, cover)


def _over(color: np.ndarray, alpha: np.ndarray, paint: np.ndarray, cover: np.ndarray) -> None:
    """Composite with straight alpha, in place: color (C, H, W), alpha (1, H, W)."""
    kept = alpha * (1 - cover)
    total = kept + cover
    color[:] = np.where(total > 0, (color * kept + paint * cover) / np.maximum(total, 1e-9), paint)
    alpha[:] = total


def _makers(places: list[Placement], order: np.ndarray) -> list[Maker]:
    """Makers in the given order, but for the subject, which is always of the same kind."""
    makers = [MAKERS[index] for index in order]
    subject = next((i for i, place in enumerate(places) if place.is_subject), None)
    if subject is not None:
        other = makers.index(SUBJECT)
        makers[subject], makers[other] = makers[other], makers[subject]
    return makers


def _hung(grid: Grid, place: Placement, item: SceneObject) -> SceneObject:
    """Add the cord that an object hangs from, a thin structure that is hard to recover."""
    line = np.abs(grid.x - place.x) - max(CORD_WIDTH / 2, 0.75 * grid.px)
    cord = np.minimum(grid.mask(line), grid.mask(grid.y - place.y)) * (1 - item.mask)
    total = np.minimum(item.mask + cord, 1.0)
    color = (item.color * item.mask + INK[:, None, None] * cord) / np.maximum(total, 1e-9)
    return SceneObject(color, total, item.nearness)


def _wall(grid: Grid, generator: np.random.Generator) -> SceneObject:
    """A slanted wall of bricks with a framed poster and a plain stripe."""
    course, length = 0.075, 0.19
    row = np.floor(grid.y / course)
    v = (grid.y / course) % 1.0 - 0.5
    u = (grid.x / length + 0.5 * (row % 2)) % 1.0 - 0.5
    joint = np.maximum(np.abs(v) * course - 0.455 * course, np.abs(u) * length - 0.478 * length)
    tone = np.sin(12.9898 * row + 78.233 * np.floor(grid.x / length + 0.5 * (row % 2))) * 43758.5
    brick = mixed(tone % 1.0, np.array([0.50, 0.17, 0.09]), np.array([0.30, 0.09, 0.06]))
    color = np.where(grid.mask(joint) > 0.5, brick, np.array([0.42, 0.38, 0.33])[:, None, None])
    color = color * (1 + 0.16 * fractal_noise(generator, grid.y.shape, (1.0, 3.0, 12.0)))
    color = _with_poster(grid, color, generator)
    slant = (grid.x - grid.x.min()) / max(float(np.ptp(grid.x)), 1e-9)
    light = 0.75 + 0.45 * np.exp(-((grid.x + 0.35) ** 2 + (grid.y + 0.5) ** 2) / 0.5)
    nearness = WALL_LEFT + (WALL_RIGHT - WALL_LEFT) * slant
    return SceneObject(_limited(color * light), np.ones_like(grid.y), nearness)


def _with_poster(grid: Grid, color: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    centre_x = generator.uniform(-0.25, 0.25)
    v, u = grid.y + 0.24, grid.x - centre_x
    frame, paper = grid.mask(box(v, u, 0.17, 0.235)), grid.mask(box(v, u, 0.15, 0.215))
    print_ = mixed(grid.bands(np.hypot(v - 0.1, u + 0.08), 0.055), CREAM, PALETTE[1])
    color = color * (1 - frame) + INK[:, None, None] * frame
    return np.asarray(color * (1 - paper) + print_ * paper)


def _floor(grid: Grid, places: list[Placement], generator: np.random.Generator) -> SceneObject:
    """Tiles in perspective with the shadows of the standing objects."""
    below = np.maximum(grid.y - HORIZON_Y, 0.0)
    distance = 1.0 / (0.32 + below)
    across = grid.x * distance
    blur = np.maximum(grid.px * distance**2, 1e-6)  # size of a pixel on the floor
    checks = _checks(distance * 1.6, blur * 1.6) * _checks(across * 1.9, blur)
    color = mixed(0.5 + 0.5 * checks, CREAM * 0.85, np.array([0.09, 0.11, 0.13]))
    color = color * (1 + 0.10 * fractal_noise(generator, grid.y.shape, (0.8, 2.0, 9.0)))
    for place in places:
        if place.stands:
            v, u = grid.y - (place.y + 0.97 * place.radius), grid.x - place.x - 0.25 * place.radius
            reach = (v / (0.28 * place.radius)) ** 2 + (u / (1.15 * place.radius)) ** 2
            color = color * (1 - 0.72 * np.exp(-(reach**1.5)))
    nearness = FLOOR_FAR + (FLOOR_NEAR - FLOOR_FAR) * below / (float(grid.y.max()) - HORIZON_Y)
    mask = grid.mask(HORIZON_Y - grid.y)
    return SceneObject(_limited(color), mask, nearness)


def _checks(position: np.ndarray, pixel: np.ndarray) -> np.ndarray:
    """Square wave between -1 and 1 with edges one pixel wide."""
    wave = np.sin(np.pi * position * 2) / (2 * np.pi * pixel)
    return np.asarray(np.clip(wave, -1.0, 1.0))


def _limited(color: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(color, 0.004, BRIGHTEST))


def _ball(
    grid: Grid, place: Placement, hue: np.ndarray, other: np.ndarray, generator: np.random.Generator
) -> SceneObject:
    """A ball with stripes that follow its curvature."""
    v, u = grid.local(place.y, place.x, place.angle)
    upright = grid.local(place.y, place.x, 0.0)
    depth = np.sqrt(np.clip(place.radius**2 - v**2 - u**2, 0.0, None)) + 0.3 * place.radius
    latitude = np.arctan2(v, depth) * place.radius
    stripes = grid.bands(latitude, 0.42 * place.radius)
    color = mixed(stripes, hue, other) * sphere_light(*upright, place.radius)
    return SceneObject(_limited(color), grid.mask(disc(v, u, place.radius)), place.nearness)


def _plain_ball(
    grid: Grid, place: Placement, hue: np.ndarray, other: np.ndarray, generator: np.random.Generator
) -> SceneObject:
    """A smooth ball: a large area without texture."""
    v, u = grid.local(place.y, place.x, 0.0)
    color = hue[:, None, None] * sphere_light(v, u, place.radius)
    return SceneObject(_limited(color), grid.mask(disc(v, u, place.radius)), place.nearness)


def _card(
    grid: Grid, place: Placement, hue: np.ndarray, other: np.ndarray, generator: np.random.Generator
) -> SceneObject:
    """A page of text-like bars under a coloured head."""
    v, u = grid.local(place.y, place.x, 0.35 * place.angle)
    ink = text_bars(grid, v - 0.2 * place.radius, u, place.radius, generator)
    color = mixed(ink, INK, CREAM * 1.1)
    head = grid.mask(v + 0.62 * place.radius)
    color = color * (1 - head) + hue[:, None, None] * head
    return SceneObject(
        _limited(color), grid.mask(box(v, u, place.radius, 0.82 * place.radius)), place.nearness
    )


def _star(
    grid: Grid, place: Placement, hue: np.ndarray, other: np.ndarray, generator: np.random.Generator
) -> SceneObject:
    """A disc with a Siemens star inside a ring."""
    v, u = grid.local(place.y, place.x, place.angle)
    color = mixed(spokes(grid, v, u, 18), CREAM * 1.1, INK)
    ring = grid.mask(-disc(v, u, 0.84 * place.radius))
    color = color * (1 - ring) + hue[:, None, None] * ring
    return SceneObject(_limited(color), grid.mask(disc(v, u, place.radius)), place.nearness)


def _gem(
    grid: Grid, place: Placement, hue: np.ndarray, other: np.ndarray, generator: np.random.Generator
) -> SceneObject:
    """A hexagon with crossed stripes."""
    v, u = grid.local(place.y, place.x, place.angle)
    weave = grid.bands(v + u, 0.16 * place.radius + 4 * grid.px)
    color = mixed(weave, hue, other) * (1.1 - 0.5 * v / place.radius)
    return SceneObject(_limited(color), grid.mask(polygon(v, u, place.radius, 6)), place.nearness)


def _stone(
    grid: Grid, place: Placement, hue: np.ndarray, other: np.ndarray, generator: np.random.Generator
) -> SceneObject:
    """A lump with a wavy outline and a rough surface."""
    v, u = grid.local(place.y, place.x, place.angle)
    outline = 1 + 0.07 * np.sin(3 * np.arctan2(v, u) + 1) + 0.05 * np.sin(5 * np.arctan2(v, u))
    rough = fractal_noise(generator, grid.y.shape, (1.0, 2.5, 6.0))
    shade = sphere_light(*grid.local(place.y, place.x, 0.0), 1.15 * place.radius)
    color = (0.55 * hue + 0.2)[:, None, None] * shade * (0.85 + 0.33 * rough)
    lump = np.hypot(v, u) - 0.93 * place.radius * outline
    return SceneObject(_limited(color), grid.mask(lump), place.nearness)


def _box(
    grid: Grid, place: Placement, hue: np.ndarray, other: np.ndarray, generator: np.random.Generator
) -> SceneObject:
    """A parcel with crossed ribbons."""
    v, u = grid.local(place.y, place.x, 0.0)
    ribbon = np.maximum(
        grid.mask(np.abs(v) - 0.13 * place.radius),
        grid.mask(np.abs(u + 0.2 * place.radius) - 0.13 * place.radius),
    )
    dots = grid.mask(
        np.hypot(_tile(v, 0.3 * place.radius), _tile(u, 0.3 * place.radius)) - 0.075 * place.radius
    )
    paper = mixed(dots, CREAM, hue)
    color = paper * (1 - ribbon) + other[:, None, None] * ribbon
    color = color * (1.05 - 0.25 * u / place.radius)
    return SceneObject(
        _limited(color), grid.mask(box(v, u, place.radius, 0.9 * place.radius)), place.nearness
    )


def _tile(position: np.ndarray, period: float) -> np.ndarray:
    return (position + period / 2) % period - period / 2


Maker = Callable[[Grid, Placement, np.ndarray, np.ndarray, np.random.Generator], SceneObject]
MAKERS: tuple[Maker, ...] = (_ball, _plain_ball, _card, _star, _gem, _stone, _box)
SUBJECT = _card  # fine detail, so that one sees that it is in focus
