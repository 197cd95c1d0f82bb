"""Scenes on both sides of the focus plane, rendered with the published Pixel 4 kernels.

A textured ground runs linearly through the focus plane; three upright cards stand behind it, close
in front of it and far in front of it. Everything here is NumPy and SciPy and shares nothing with
the optics of the package, so that a fit is not judged by its own model:

- a kernel at defocus scale d is made by moving each of its taps to d times its position, with
  bilinear weights: a negative d turns it by 180 degrees, d = 0 makes a point. The kernels are
  centred tile by tile first, because an offset common to both views cannot be observed;
- every tile of the output has its own kernel, and tiles are blended linearly;
- the ground is one surface, cut into thin slices that do not cover each other; cards and nearer
  parts of the ground cover what lies behind them by their blurred coverage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import cv2
import numpy as np
from scipy.fft import irfft2, next_fast_len, rfft2

HEIGHT, WIDTH = 1008, 1344
TILE_ROWS, TILE_COLS = 6, 8
BLEND_PX = 32
MARGIN_PX = 40  # around the field: light from there reaches it
BORDER_PX = 8  # of the published sharp pictures, black in places
SLICE = 0.02  # defocus between two slices of the ground

BRIGHT, BRIGHT_PERCENTILE = 0.7, 99.5  # value given to a picture's bright parts
BRIGHTEST = 0.9
BLACK_DN, WHITE_DN = 1024, 16383  # of the published 14-bit files
SHOTS = 6
FULL_WELL_ELECTRONS, READ_ELECTRONS = 6000.0, 3.0  # of one shot, white = full well

# The canonical scene, seed 0. Other seeds change every number by up to its tolerance.
GROUND = (1.0, -0.6)  # defocus at the upper and the lower edge
CARDS = (  # defocus, row and column of the centre, half height and width, rotation in degrees
    (0.55, 155.0, 400.0, 105.0, 230.0, 0.0),
    (-0.35, 560.0, 970.0, 190.0, 190.0, 0.0),
    (-0.95, 630.0, 390.0, 230.0, 170.0, 8.0),
)
PICTURES = (2, 0, 4, 3)  # of the ground and of the cards
TOLERANCES = (0.05, 25.0, 80.0, 20.0, 40.0, 10.0)
ROUND_CARD = 1
LOBES = ((3, 0.18), (5, 0.08))  # of the round card's outline: number, relative height


@dataclass(frozen=True, eq=False)
class Card:
    """A flat card: defocus scale, coverage and colour (H, W) with margin."""

    scale: float
    alpha: np.ndarray
    color: np.ndarray


@dataclass(frozen=True, eq=False)
class Scene:
    """A ground with its defocus of each row, and cards from back to front, all with margin."""

    ground: np.ndarray
    ground_scale: np.ndarray
    cards: tuple[Card, ...]

    def truth(self) -> tuple[np.ndarray, np.ndarray]:
        """All-in-focus image and signed defocus map (H, W) of the field."""
        rows = np.broadcast_to(self.ground_scale[:, None], self.ground.shape)
        image, defocus = self.ground, rows
        for card in self.cards:
            seen = card.alpha * (rows > card.scale)
            image = image * (1 - seen) + card.color * seen
            defocus = np.where(seen >= 0.5, card.scale, defocus)
        inside = (slice(MARGIN_PX, -MARGIN_PX),) * 2
        return image[inside].astype(np.float32), defocus[inside].astype(np.float32)


def make_scene(pictures: list[np.ndarray], seed: int = 0) -> Scene:
    """The canonical scene (seed 0) or a variation of it; pictures are linear, of the field."""
    random = np.random.default_rng(seed)
    change = random.uniform(-1, 1, (len(CARDS), len(TOLERANCES))) * (seed > 0)
    ends = np.array(GROUND) + 0.1 * random.uniform(-1, 1, 2) * (seed > 0)
    order = random.permutation(len(pictures)) if seed else PICTURES
    textures = [_texture(pictures[i % len(pictures)], random if seed else None) for i in order]
    row = np.arange(-MARGIN_PX, HEIGHT + MARGIN_PX)
    cards = []
    for index, card in enumerate(CARDS):
        values = np.array(card) + change[index] * TOLERANCES
        shape = _lobed if index == ROUND_CARD else _rectangle
        texture = textures[(index + 1) % len(textures)]
        cards.append(Card(float(values[0]), shape(*values[1:]), texture))
    return Scene(textures[0], ends[0] + (ends[1] - ends[0]) * row / (HEIGHT - 1), tuple(cards))


def read_pictures(folder: Path) -> list[np.ndarray]:
    """All sharp pictures of the published scenes, linear, (H, W)."""
    paths = sorted(folder.glob("gt_all_in_focus_im/*.png"))
    pictures = [cv2.imread(str(path), cv2.IMREAD_UNCHANGED) for path in paths]
    return [picture / 65535 for picture in pictures]


def read_kernels(folder: Path) -> np.ndarray:
    """The published kernels (P, 2, K, K), float64."""
    views = [np.load(folder / "calibration" / f"blur_kernels_{v}.npy") for v in ("left", "right")]
    return np.stack(views, axis=1).astype(np.float64)


def _texture(picture: np.ndarray, random: np.random.Generator | None) -> np.ndarray:
    """A picture with margin, its bright parts at a common value, mirrored at random."""
    bright = picture * (BRIGHT / np.percentile(picture, BRIGHT_PERCENTILE))
    if random is not None:
        bright = bright[:: random.choice([1, -1]), :: random.choice([1, -1])]
    inside = np.minimum(bright, BRIGHTEST)[BORDER_PX:-BORDER_PX, BORDER_PX:-BORDER_PX]
    return np.pad(inside, MARGIN_PX + BORDER_PX, mode="reflect")


def _offsets(y: float, x: float, degrees: float) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates along and across a card, in px from its centre."""
    rows, cols = np.mgrid[-MARGIN_PX : HEIGHT + MARGIN_PX, -MARGIN_PX : WIDTH + MARGIN_PX]
    turn = np.exp(-1j * np.radians(degrees))
    around = ((cols - x) + 1j * (rows - y)) * turn
    return around.imag, around.real


def _rectangle(y: float, x: float, height: float, width: float, degrees: float) -> np.ndarray:
    v, u = _offsets(y, x, degrees)
    return np.asarray(np.clip(0.5 - np.maximum(np.abs(v) - height, np.abs(u) - width), 0, 1))


def _lobed(y: float, x: float, height: float, width: float, degrees: float) -> np.ndarray:
    v, u = _offsets(y, x, degrees)
    angle = np.arctan2(v, u)
    edge = (height + width) / 2 * (1 + sum(a * np.sin(n * angle) for n, a in LOBES))
    return np.asarray(np.clip(0.5 + edge - np.hypot(v, u), 0, 1))


def render(scene: Scene, kernels: np.ndarray) -> np.ndarray:
    """Both views of the field without noise: (2, H, W).

    A sum over slices and cards of blur(alpha * color), each times the product of
    (1 - blur(alpha)) over everything nearer; slices of the ground do not cover each other.
    """
    lens = Lens(kernels)
    cards = [
        (card.scale, *lens.blur([card.color * card.alpha, card.alpha], card.scale))
        for card in scene.cards
    ]
    light = np.zeros((2, HEIGHT, WIDTH))
    total = np.full((2, HEIGHT, WIDTH), 1e-9)
    ground_in_front = [np.zeros((2, HEIGHT, WIDTH)) for _ in cards]
    for scale, weight in _slices(scene):
        bright, cover = lens.blur([scene.ground * weight, weight], scale)
        total += cover
        for card, nearer in zip(cards, ground_in_front, strict=True):
            if card[0] < scale:
                bright = bright * (1 - card[2])
            else:
                nearer += cover
        light += bright
    views = light / total
    for index, (_, bright, _) in enumerate(cards):
        for _, _, cover in cards[index + 1 :]:
            bright = bright * (1 - cover)
        views += bright * (1 - ground_in_front[index] / total)
    return np.asarray(views)


def _slices(scene: Scene) -> Iterator[tuple[float, np.ndarray]]:
    """Defocus and weight (H, W) of each slice; the weights of all slices sum to 1."""
    steps = scene.ground_scale / SLICE
    for step in range(int(np.floor(steps.min())), int(np.ceil(steps.max())) + 1):
        share = np.maximum(1 - np.abs(steps - step), 0)
        if share.any():
            yield step * SLICE, np.broadcast_to(share[:, None], scene.ground.shape)


class Lens:
    """Tiled kernels, centred, at any signed defocus scale."""

    def __init__(self, kernels: np.ndarray) -> None:
        self.kernels = kernels / kernels.sum((-2, -1), keepdims=True)
        place = np.arange(kernels.shape[-1]) - kernels.shape[-1] // 2
        self.place_y = place - self._centre(place, 3)[:, None]
        self.place_x = place - self._centre(place, 2)[:, None]

    def _centre(self, place: np.ndarray, summed_axis: int) -> np.ndarray:
        """Mean centroid of both views of each tile."""
        return np.asarray((self.kernels.sum(summed_axis) @ place).mean(1))

    def at(self, scale: float) -> np.ndarray:
        """Kernels (P, 2, k, k) at a scale, every tap moved to scale times its position."""
        farthest = max(np.abs(self.place_y).max(), np.abs(self.place_x).max())
        reach = int(np.ceil(abs(scale) * farthest))
        pixel = np.arange(-reach, reach + 1)[:, None]
        down, across = (
            np.maximum(1 - np.abs(pixel - scale * place[:, None, :]), 0)
            for place in (self.place_y, self.place_x)
        )
        return np.asarray(down[:, None] @ self.kernels @ across[:, None].swapaxes(-1, -2))

    def blur(self, planes: list[np.ndarray], scale: float) -> np.ndarray:
        """Planes (H, W) with margin through the lens: (planes, 2, H, W) of the field."""
        kernels = self.at(scale)
        reach = kernels.shape[-1] // 2
        stack = np.stack(planes)
        out = np.zeros((len(planes), 2, HEIGHT, WIDTH))
        filled = np.flatnonzero(stack.any((0, 2))) - MARGIN_PX
        lit = np.arange(HEIGHT)
        lit = (lit >= filled[0] - reach) & (lit <= filled[-1] + reach)
        for tile, pair in enumerate(kernels):
            down = _ramps(HEIGHT, TILE_ROWS)[tile // TILE_COLS] * lit
            across = _ramps(WIDTH, TILE_COLS)[tile % TILE_COLS]
            if not down.any():
                continue
            rows, cols = _extent(down), _extent(across)
            part = stack[:, _around(rows, reach), _around(cols, reach)]
            weight = np.outer(down[rows], across[cols])
            out[:, :, rows, cols] += weight * _convolved(part, pair)
        return out


@cache
def _ramps(length: int, tiles: int) -> np.ndarray:
    """Weight of each tile along an axis: (tiles, length), a linear ramp around inner edges."""
    edges = np.arange(1, tiles) * length / tiles
    ramps = np.clip((np.arange(length) + 0.5 - edges[:, None]) / BLEND_PX + 0.5, 0, 1)
    started = np.vstack([np.ones(length), ramps])
    return np.asarray(started - np.vstack([ramps, np.zeros(length)]))


def _extent(weights: np.ndarray) -> slice:
    """From the first to the last weight that is not 0."""
    nonzero = np.flatnonzero(weights)
    return slice(int(nonzero[0]), int(nonzero[-1]) + 1)


def _around(extent: slice, reach: int) -> slice:
    """The same pixels and ``reach`` more on both sides, in an array with margin."""
    return slice(extent.start + MARGIN_PX - reach, extent.stop + MARGIN_PX + reach)


def _convolved(planes: np.ndarray, kernels: np.ndarray) -> np.ndarray:
    """Convolution of planes (N, h, w) with kernels (2, k, k), valid part: (N, 2, h', w')."""
    size = kernels.shape[-1]
    shape = [next_fast_len(length, real=True) for length in planes.shape[-2:]]
    # Circular: what wraps around lies within the first k - 1 rows and columns.
    product = rfft2(planes, shape)[:, None] * rfft2(kernels, shape)
    full = irfft2(product, shape)[..., : planes.shape[-2], : planes.shape[-1]]
    return np.asarray(full[..., size - 1 :, size - 1 :])


def exposed(views: np.ndarray, seed: int, sensor_rows: bool = False) -> np.ndarray:
    """Noise of merged shots and quantisation as in the published files: uint16 (2, H, W).

    ``sensor_rows``: as the real files, whose rows were interpolated from half as many.
    """
    random = np.random.default_rng(seed + 1)
    signal = views.reshape(2, HEIGHT // 2, 2, WIDTH).mean(2) if sensor_rows else views
    variance = signal / FULL_WELL_ELECTRONS + (READ_ELECTRONS / FULL_WELL_ELECTRONS) ** 2
    signal = signal + random.normal(size=signal.shape) * np.sqrt(variance / SHOTS)
    if sensor_rows:
        resized = [
            cv2.resize(view, (WIDTH, HEIGHT), interpolation=cv2.INTER_LINEAR) for view in signal
        ]
        signal = np.stack(resized)
    return np.asarray(np.clip(np.round(signal * WHITE_DN + BLACK_DN), 0, WHITE_DN), np.uint16)
