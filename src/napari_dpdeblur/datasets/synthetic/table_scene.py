"""The sample scene, in colour: dolls on a laid table, one of them in focus.

Behind the focus plane: a papered wall with lamps, a plant, a doll. In the focus plane: a doll, and
the middle of a printed page. In front of it: a doll and a twig. The table runs through all of
it, with a woven cloth.

Coordinates are those of `shapes.Grid`. The defocus of a plane is linear in its image, so that of
the table is linear in y.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import cv2
import numpy as np

from napari_dpdeblur.datasets.synthetic.doll import Doll
from napari_dpdeblur.datasets.synthetic.patches import WORKERS, PaintedScene, Patch
from napari_dpdeblur.datasets.synthetic.scene import check_size
from napari_dpdeblur.datasets.synthetic.shapes import Grid, fractal_noise
from napari_dpdeblur.datasets.synthetic.textures import (
    checked_cloth,
    leaf,
    linear,
    paint,
    part_of,
    printed_page,
    wallpaper,
    warped,
    window_of,
)

VANISHING_Y, TABLE_Y, FOCUS_Y = -0.30, 0.0, 0.27
DEFOCUS_PER_Y = -1.8  # of the table, from its far edge (0.49) through 0 to the lower edge (-0.41)
NEAREST = -1.0  # of the table, in very tall frames
LAYER_STEP = 0.075
# Shorter side of a frame for which the scales are given; they change with it, within limits.
REFERENCE_PX, BLUR_LIMITS = 1008, (0.5, 2.0)
WALL_SCALE = 0.75
HIDDEN_PX = 64  # how far a layer goes on behind the one in front of it: more than any blur
BRIGHTEST = 0.9
CHECK_SIZE, FOLD_PX = 0.085, 8
# What stands on the table: defocus scale, x, size of its foot.
SHADOW_LIFT = 0.022  # their feet are seen from above
STANDING = ((0.45, -0.47, 0.12), (0.3, 0.29, 0.14), (0.0, -0.17, 0.21), (-0.3, 0.47, 0.13))
PLANT_SCALE, TWIG_SCALE = 0.45, -0.55
# Dolls: defocus scale, x, height; colours of scarf, dress, apron and eyes.
DOLLS = (
    (0.3, 0.29, 0.42, ("2f7f86", "18455f", "efe2c4", "5a3a1c")),
    (0.0, -0.17, 0.66, ("b8232f", "8c1a2b", "f3e6c8", "2f6fa8")),
    (-0.3, 0.47, 0.40, ("d9902a", "2f6b3c", "f6ecd0", "3b6b34")),
)
# Corners (y, x) of the page on the table, in image coordinates: top left, top right, bottom right,
# bottom left.
PAGE = ((0.14, 0.05), (0.12, 0.36), (0.40, 0.44), (0.43, 0.02))
PAGE_PX = (720, 560)
LAMPS = ((-0.43, -0.05), (-0.37, 0.10), (-0.35, 0.27), (-0.38, 0.44), (-0.45, 0.58))


def table_scene(height: int, width: int, seed: int = 0) -> PaintedScene:
    """Paint the scene for a frame of this size; ``seed`` varies leaves, print and cloth.

    Blur grows with the frame, as it does in pictures of more pixels.
    """
    check_size(height, width)
    grid = _grid(height, width)
    random = [np.random.default_rng([seed, number]) for number in range(4)]
    defocus = np.where(grid.y > TABLE_Y, _table_defocus(grid.y), np.float32(WALL_SCALE))
    with ThreadPoolExecutor(WORKERS) as pool:
        wall, table = pool.submit(_wall, grid, random[0]), pool.submit(_table, grid, random[1])
        things = [
            (PLANT_SCALE, pool.submit(_plant, grid, random[2])),
            *((doll[0], pool.submit(_doll, grid, *doll)) for doll in DOLLS),
            (TWIG_SCALE, pool.submit(_twig, grid, random[3])),
        ]
    patches = [wall.result(), *table.result()]
    for scale, painted in things:
        window, color, cover = painted.result()
        patches.append(_patch(window, color, cover, scale))
        defocus[window][cover > 0.5] = scale
    # The sort keeps the table before what stands on it at the same scale.
    patches.sort(key=_farther)
    blur = float(np.clip(min(height, width) / REFERENCE_PX, *BLUR_LIMITS))
    scaled = tuple(replace(patch, scale=blur * patch.scale) for patch in patches)
    return PaintedScene((height, width), scaled, np.asarray(blur * defocus, np.float32))


def _farther(patch: Patch) -> float:
    return -patch.scale


def _grid(height: int, width: int) -> Grid:
    grid = Grid.of(height, width)
    return Grid(grid.y.astype(np.float32), grid.x.astype(np.float32), grid.px)


def _patch(
    window: tuple[slice, slice], color: np.ndarray, cover: np.ndarray, scale: float
) -> Patch:
    limited = np.clip(color, 0.003, BRIGHTEST).astype(np.float32)
    return Patch(window[0].start, window[1].start, limited, cover.astype(np.float32), scale)


def _table_defocus(y: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum(DEFOCUS_PER_Y * (y - FOCUS_Y), NEAREST), np.float32)


def _table_y(scale: float) -> float:
    """Where the table has this defocus scale."""
    return FOCUS_Y + scale / DEFOCUS_PER_Y


def _wall(grid: Grid, generator: np.random.Generator) -> Patch:
    """Wallpaper in warm lamplight, down to where the table hides it."""
    edge = int(np.searchsorted(grid.y[:, 0], TABLE_Y)) + HIDDEN_PX
    window = slice(0, min(edge, len(grid.y))), slice(0, grid.y.shape[1])
    part = part_of(grid, window)
    color = wallpaper(part, linear("35575a"), linear("8fa88e"))
    color *= 1 + 0.07 * fractal_noise(generator, part.y.shape, (1.5, 5.0))
    color *= 0.55 + 0.75 * np.exp(-((part.x + 0.45) ** 2 + (part.y + 0.45) ** 2) / 0.45)
    cord = np.abs(part.y - _cord_y(part.x)) - 0.0035
    paint(color, part.mask(cord), linear("2a1c12"))
    for y, x in LAMPS:
        distance = np.hypot(part.y - y, part.x - x)
        color += (0.16 * np.exp(-((distance / 0.055) ** 2))) * linear("ffcf8a")[:, None, None]
        paint(color, part.mask(distance - 0.013), 0.85 * linear("fff0d2"))
    return _patch(window, color, np.ones_like(part.y), WALL_SCALE)


def _cord_y(x: np.ndarray) -> np.ndarray:
    """The cord of the lamps."""
    lamps_y, lamps_x = np.array(LAMPS).T
    bends = np.polyfit(lamps_x, lamps_y - 0.012, 2)
    return np.asarray(np.polyval(bends, x), np.float32)


def _table(grid: Grid, generator: np.random.Generator) -> list[Patch]:
    """Cloth and page, shared between layers: each goes on behind the next one in front of it."""
    top = int(np.searchsorted(grid.y[:, 0], TABLE_Y))
    part = part_of(grid, (slice(top, None), slice(None)))
    color = _cloth(part, generator)
    _put_page(part, color, generator)
    _cast_shadows(part, color)
    defocus = _table_defocus(part.y[:, 0])
    numbers = np.arange(
        np.ceil(defocus[0] / LAYER_STEP), np.floor(defocus[-1] / LAYER_STEP) - 1, -1
    )
    layers = []
    for number in numbers:
        # Coverage of each row: 0 from the layer behind backwards, 1 from this layer on.
        share = np.clip(number + 1 - defocus / LAYER_STEP, 0.0, 1.0)
        share[:] = 1.0 if number == numbers[0] else share
        rows = np.flatnonzero(share)
        hidden = np.flatnonzero(defocus / LAYER_STEP <= number - 1)
        if rows.size:
            end = min(hidden[0] + HIDDEN_PX, len(share)) if hidden.size else len(share)
            band = slice(int(rows[0]), int(end))
            cover = np.broadcast_to(share[band, None], color[0, band].shape)
            window = slice(top + band.start, None), slice(0, None)
            layers.append(_patch(window, color[:, band], cover, round(number * LAYER_STEP, 6)))
    return layers


def _cloth(part: Grid, generator: np.random.Generator) -> np.ndarray:
    """Woven checks in perspective, with soft folds."""
    distance = (FOCUS_Y - VANISHING_Y) / (part.y - VANISHING_Y)
    across, along = part.x * distance / CHECK_SIZE, 0.9 * distance / CHECK_SIZE
    wide = part.px * distance / CHECK_SIZE
    deep = 0.9 * part.px * distance / (part.y - VANISHING_Y) / CHECK_SIZE
    turn = 0.3
    footprints = (
        np.hypot(wide * np.cos(turn), deep * np.sin(turn)),
        np.hypot(wide * np.sin(turn), deep * np.cos(turn)),
    )
    color = checked_cloth(
        across * np.cos(turn) - along * np.sin(turn),
        across * np.sin(turn) + along * np.cos(turn),
        footprints,
    )
    coarse = tuple(size // FOLD_PX + 1 for size in part.y.shape)
    folds = fractal_noise(generator, coarse, (3.0, 9.0))
    soft = cv2.resize(folds, part.y.shape[::-1], interpolation=cv2.INTER_CUBIC)
    return np.asarray(color * (0.82 + 0.05 * soft) * (1.0 - 0.25 * part.x), np.float32)


def _put_page(part: Grid, color: np.ndarray, generator: np.random.Generator) -> None:
    """A printed page that lies on the table, with its shadow."""
    height, width = PAGE_PX
    page = printed_page(PAGE_PX, int(generator.integers(1 << 16)))
    corners = np.array([[x, y] for y, x in PAGE], np.float32)
    at = (corners - np.array([part.x[0, 0], part.y[0, 0]])) / part.px
    sheet = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    matrix = cv2.getPerspectiveTransform(sheet, at.astype(np.float32))
    seen = partial(warped, matrix=matrix, shape=part.y.shape)
    cover = seen(np.ones(PAGE_PX, np.float32))
    shadow = cv2.GaussianBlur(np.roll(cover, (3, 5), (0, 1)), (0, 0), 6e-3 / part.px)
    color *= 1 - 0.45 * shadow
    ink = seen(1 - page)
    paper, black = linear("f7efdf"), linear("241f26")
    light = 0.92 - 0.2 * part.x
    paint(color, cover, paper[:, None, None] * light)
    paint(color, np.clip(ink, 0, 1), black)


def _cast_shadows(part: Grid, color: np.ndarray) -> None:
    """Soft shadows of what stands on the table, away from the light."""
    for scale, x, size in STANDING:
        v, u = part.y - _table_y(scale) + SHADOW_LIFT, part.x - x
        contact = (v / (0.16 * size)) ** 2 + (u / (1.05 * size)) ** 2
        cast = ((v + 0.1 * u) / (0.3 * size)) ** 2 + ((u - 0.9 * size) / (1.6 * size)) ** 2
        color *= (1 - 0.75 * np.exp(-(contact**1.4))) * (1 - 0.45 * np.exp(-(cast**1.2)))


def _doll(
    grid: Grid, scale: float, x: float, height: float, colors: tuple[str, str, str, str]
) -> tuple[tuple[slice, slice], np.ndarray, np.ndarray]:
    return Doll(_table_y(scale) - 0.02 * height, x, height, *(linear(c) for c in colors)).painted(
        grid
    )


def _plant(
    grid: Grid, generator: np.random.Generator
) -> tuple[tuple[slice, slice], np.ndarray, np.ndarray]:
    """A pot with leaves that grow to all sides."""
    foot = _table_y(PLANT_SCALE)
    window = window_of(grid, (-0.5, foot + 0.01), (-0.75, -0.12))
    part = part_of(grid, window)
    light = np.zeros((4, *part.y.shape), np.float32)
    v, u = (part.y - foot + 0.085) / 0.085, (part.x + 0.47) / 0.085
    pot = np.maximum(np.abs(v) - 1, np.abs(u) - 0.82 + 0.16 * v) * 0.085
    rim = np.maximum(np.abs(v + 0.85) - 0.2, np.abs(u) - 1.1) * 0.085
    shade = np.clip(0.95 - 0.5 * u - 0.25 * u**2, 0.15, 1.3)
    rings = 1 + 0.12 * np.sin(16 * v)
    for shape, tone in ((pot, 1.0), (rim, 1.15)):
        _add(light, linear("b5613c")[:, None, None] * shade * tone * rings, part.mask(shape))
    hues = [linear(c) for c in ("2e6b34", "3f8441", "5a9a45", "86b24c", "24562f")]
    for turn in np.linspace(0, 1, 34):
        angle = np.pi * (0.5 + 0.62 * (generator.permutation(2)[0] * 2 - 1) * generator.random())
        start = (foot - 0.17, -0.47 + 0.05 * generator.uniform(-1, 1))
        size = generator.uniform(0.12, 0.30), generator.uniform(0.022, 0.038)
        hue = hues[generator.integers(len(hues))] * (0.55 + 0.65 * turn)
        where, color, cover = leaf(part, start, angle, size, generator.uniform(-0.1, 0.1), hue)
        _add(light[(slice(None), *where)], color, cover)
    return window, light[:3] / np.maximum(light[3], 1e-6), light[3]


def _twig(
    grid: Grid, generator: np.random.Generator
) -> tuple[tuple[slice, slice], np.ndarray, np.ndarray]:
    """A twig that hangs into the picture, in front of everything."""
    window = window_of(grid, (0.12, 0.5), (-0.75, -0.3))
    part = part_of(grid, window)
    light = np.zeros((4, *part.y.shape), np.float32)
    left = float(grid.x[0, 0])
    hues = [linear(c) for c in ("7a9c3a", "9bb84a", "5f8a3a")]
    stem = np.abs(part.y - 0.5 + 0.55 * (part.x - left) + 0.4 * (part.x - left) ** 2) - 0.004
    bark = np.broadcast_to(linear("5b4a2a")[:, None, None], (3, *part.y.shape))
    _add(light, bark, part.mask(np.maximum(stem, part.x - left - 0.25)))
    for i, along in enumerate(np.linspace(0.01, 0.25, 7)):
        start = (0.5 - 0.55 * along - 0.4 * along**2, left + along)
        angle = np.pi * (0.18 + (0.42 if i % 2 else -0.3) + generator.uniform(-0.06, 0.06))
        size = generator.uniform(0.13, 0.17), generator.uniform(0.036, 0.044)
        where, color, cover = leaf(
            part, start, angle, size, generator.uniform(-0.03, 0.03), hues[i % 3]
        )
        _add(light[(slice(None), *where)], color, cover)
    return window, light[:3] / np.maximum(light[3], 1e-6), light[3]


def _add(light: np.ndarray, color: np.ndarray, cover: np.ndarray) -> None:
    """Composite over premultiplied light (4, H, W), in place."""
    light *= 1 - cover
    light[:3] += color * cover
    light[3] += cover
