"""Materials of the painted scene: woven cloth, printed paper, wallpaper, leaves, flowers."""

from __future__ import annotations

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from napari_dpdeblur.datasets.synthetic.shapes import Grid

WORDS = (
    *("light", "lens", "focus", "layer", "pixel", "depth", "left", "right", "blur", "sharp"),
    *("scene", "point", "image", "plane", "edge", "near", "far", "both", "sides", "of", "the"),
    *("a", "in", "to", "and", "is", "with", "from", "through", "each", "one", "two", "view"),
)
SUPERSAMPLING = 2


def linear(code: str) -> np.ndarray:
    """Linear RGB (3,) of a colour such as ``"c0392b"``."""
    srgb = np.array([int(code[i : i + 2], 16) for i in (0, 2, 4)], np.float32) / 255
    return np.asarray(np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4))


def paint(color: np.ndarray, cover: np.ndarray, hue: np.ndarray) -> None:
    """Cover (H, W) of a picture (3, H, W) with a colour (3,) or colours (3, H, W), in place."""
    hue = hue[:, None, None] if hue.ndim == 1 else hue
    color += (hue - color) * cover


def window_of(grid: Grid, y: tuple[float, float], x: tuple[float, float]) -> tuple[slice, slice]:
    """Rows and columns of a grid whose centres lie in a rectangle, at least one of each."""
    parts = []
    for axis, (low, high) in ((grid.y[:, 0], y), (grid.x[0], x)):
        begin = min(int(np.searchsorted(axis, low)), len(axis) - 1)
        parts.append(slice(begin, max(int(np.searchsorted(axis, high)), begin + 1)))
    return parts[0], parts[1]


def part_of(grid: Grid, window: tuple[slice, slice]) -> Grid:
    """The part of a grid in a window."""
    return Grid(grid.y[window], grid.x[window], grid.px)


def soft_wave(phase: np.ndarray, footprint: np.ndarray | float) -> np.ndarray:
    """A sine of ``phase`` periods, faded out where a pixel covers half a period or more."""
    fade = np.clip(1 - 2 * np.asarray(footprint), 0.0, 1.0)
    return np.asarray(fade * np.sin(2 * np.pi * phase), np.float32)


def soft_stripes(phase: np.ndarray, footprint: np.ndarray) -> np.ndarray:
    """Stripes between 0 and 1 of ``phase`` periods, with edges one pixel (``footprint``) wide."""
    folded = np.abs(phase % 1.0 - 0.5) - 0.25
    return np.asarray(np.clip(0.5 - folded / np.maximum(footprint, 1e-6), 0.0, 1.0), np.float32)


def checked_cloth(
    across: np.ndarray, along: np.ndarray, footprints: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Gingham of coloured threads (3, H, W) in coordinates of the cloth; checks of size 1."""
    stripes = [soft_stripes(c, f) for c, f in zip((across, along), footprints, strict=True)]
    threads = [soft_wave(13 * c, 13 * f) for c, f in zip((across, along), footprints, strict=True)]
    weave = threads[0] * threads[1]
    # Where stripes cross, threads of both directions are coloured; elsewhere every second one.
    mixed = stripes[0] != stripes[1]
    share = np.clip(0.5 * (stripes[0] + stripes[1]) + 0.16 * weave * mixed, 0.0, 1.0)
    white, blue = linear("f3efe6"), linear("2b5f9e")
    color = white[:, None, None] + (blue - white)[:, None, None] * share
    relief = 1 + 0.16 * (0.5 * threads[0] + 0.5 * threads[1]) + 0.10 * weave
    return np.asarray(color * relief, np.float32)


def printed_page(size_px: tuple[int, int], seed: int) -> np.ndarray:
    """A printed page (H, W) with a title, columns of words and a plot; 1 is paper, 0 is ink."""
    height, width = size_px
    page = Image.new("L", (width, height), 255)
    draw, generator = ImageDraw.Draw(page), np.random.default_rng(seed)
    margin, gap = width // 14, width // 22
    draw.text((width / 2, margin), "Both sides of focus", 0, _font(width / 11), anchor="mt")
    top = margin + width // 7
    draw.line((margin, top, width - margin, top), 0, max(width // 200, 1))
    top += width // 24
    column = (width - 2 * margin - gap) // 2
    for left in (margin, margin + column + gap):
        _column(draw, generator, (left, top, left + column, height - margin), width / 30)
    figure = (margin + column + gap, height // 2, width - margin, height // 2 + column // 2)
    _plot(draw, figure, width)
    return np.asarray(page, np.float32) / 255


def _font(size_px: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(max(size_px, 4.0))


def _column(
    draw: ImageDraw.ImageDraw,
    generator: np.random.Generator,
    area: tuple[int, int, int, int],
    size_px: float,
) -> None:
    """Lines of words that fill an area (left, top, right, bottom)."""
    left, top, right, bottom = area
    font, y = _font(size_px), float(top)
    while y + size_px < bottom:
        line = ""
        while draw.textlength(line, font) < right - left:
            text, line = line, f"{line} {WORDS[generator.integers(len(WORDS))]}".strip()
        draw.text((left, y), text, 10, font)
        y += 1.25 * size_px


def _plot(draw: ImageDraw.ImageDraw, area: tuple[int, int, int, int], width: int) -> None:
    """A small figure: blur against distance."""
    left, top, right, bottom = area
    pen = max(width // 220, 1)
    draw.rectangle(area, 255, 40, pen)
    xs = np.linspace(0.06, 0.94, 40)
    ys = np.abs(1 - 0.45 / xs)
    points = [
        (left + x * (right - left), bottom - (0.1 + 0.75 * min(y, 1.0)) * (bottom - top))
        for x, y in zip(xs, ys, strict=True)
    ]
    draw.line(points, 0, 2 * pen)


def wallpaper(grid: Grid, ground: np.ndarray, print_: np.ndarray) -> np.ndarray:
    """A wall with broad stripes, rows of dots and a printed ornament of sprigs (3, H, W)."""
    period = 0.15
    row = np.floor(grid.y / period)
    v = grid.y - (row + 0.5) * period
    u = (grid.x + 0.5 * period * (row % 2)) % period - 0.5 * period
    mirrored = np.abs(u)
    sprig = flower(v + 0.2 * period, mirrored, 0.19 * period, 6)
    stem = np.abs(mirrored - 0.10 * period * np.sin(v / period * 9)) - 0.022 * period
    stem = np.maximum(stem, np.abs(v) - 0.45 * period)
    leaves = np.hypot((v - 0.16 * period) + 0.6 * mirrored, 2.2 * (mirrored - 0.15 * period))
    shape = np.minimum(np.minimum(sprig, stem), leaves - 0.13 * period)
    step = period / 4
    dots = np.hypot(
        (grid.y + step / 2) % step - step / 2, (grid.x + period / 4) % (period / 2) - period / 4
    )
    tones = np.where(grid.x % period < period / 2, np.float32(1.0), np.float32(0.78))
    color = np.asarray(ground[:, None, None] * tones, np.float32)
    paint(color, grid.mask(dots - 0.16 * step).astype(np.float32), print_)
    paint(color, grid.mask(shape).astype(np.float32), print_)
    return color


def flower(v: np.ndarray, u: np.ndarray, radius: float, petals: int) -> np.ndarray:
    """Signed distance, about, to a flower with round petals."""
    rim = 0.62 + 0.38 * np.abs(np.cos(0.5 * petals * np.arctan2(v, u)))
    return np.asarray(np.hypot(v, u) - radius * rim)


def leaf(
    grid: Grid,
    at: tuple[float, float],
    angle: float,
    size: tuple[float, float],
    bend: float,
    hue: np.ndarray,
) -> tuple[tuple[slice, slice], np.ndarray, np.ndarray]:
    """A leaf with veins: window, colour (3, h, w) and coverage (h, w).

    It grows from ``at`` (y, x) in the direction ``angle`` (0: right, positive: up); ``size`` is
    length and half width, ``bend`` how far the tip leaves the direction.
    """
    length, half = size
    y, x = at
    tip = y - length * np.sin(angle), x + length * np.cos(angle)
    rim = half + abs(bend)
    window = window_of(
        grid,
        (min(y, tip[0]) - rim, max(y, tip[0]) + rim),
        (min(x, tip[1]) - rim, max(x, tip[1]) + rim),
    )
    part = part_of(grid, window)
    dy, dx = y - part.y, part.x - x
    along = (dx * np.cos(angle) + dy * np.sin(angle)) / length
    side = dy * np.cos(angle) - dx * np.sin(angle) - bend * along**2
    s = np.clip(along, 0.0, 1.0)
    width = half * np.sin(np.pi * s**0.75) ** 0.9
    distance = np.maximum(np.abs(side) - width, np.maximum(-along, along - 1) * length)
    veins = soft_wave(9 * (along - 0.9 * np.abs(side) / length), 9 * part.px / length)
    rib = part.mask(np.abs(side) - 0.035 * half - 0.4 * part.px)
    light = 0.85 + 0.30 * np.tanh(4 * side / half) + 0.24 * veins + 0.25 * (1 - s)
    color = hue[:, None, None] * light
    paint(color, 0.8 * rib, 2.2 * hue + 0.06)
    return window, np.asarray(color, np.float32), np.asarray(part.mask(distance), np.float32)


def warped(picture: np.ndarray, matrix: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """A picture (H, W) seen through a homography to pixels of the frame, with fine sampling."""
    fine = np.diag([SUPERSAMPLING, SUPERSAMPLING, 1.0]) @ matrix
    size = (shape[1] * SUPERSAMPLING, shape[0] * SUPERSAMPLING)
    large = cv2.warpPerspective(picture, fine, size, flags=cv2.INTER_AREA)
    return np.asarray(cv2.resize(large, (shape[1], shape[0]), interpolation=cv2.INTER_AREA))
