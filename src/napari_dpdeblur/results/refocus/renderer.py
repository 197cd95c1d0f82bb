"""Refocus a multiplane image: change the focus plane and the aperture.

A layer of defocus scale d is blurred by ``aperture * (d - focus)``: focus 0 and aperture 1 give the
camera's own image, aperture 0 gives everything sharp. Negative scales are in front of the focus.
Blurred layers are composited (Eq. 2) tile by tile from front to back, whatever their blur, so that
a tile is finished as soon as it is opaque.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock

import cv2
import numpy as np
import numpy.typing as npt

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results.refocus.aperture import Aperture
from napari_dpdeblur.results.refocus.merge import merged
from napari_dpdeblur.results.refocus.tiles import IntArray, TileGrid, WindowBlur

LEFT, RIGHT = 0, 1
# Transmittance that can no longer change a pixel of a 16-bit image.
FINISHED = 2.0**-17
# Differences that are invisible at preview size: of kernel scales, of light in the rim of the
# kernels, and of blur.
PREVIEW_SCALE_STEP = 0.01
PREVIEW_RIM = 0.004
PREVIEW_BLUR_PX = 0.2
# Transmittance that can no longer change a pixel of an 8-bit image.
PREVIEW_FINISHED = 2.0**-9
PREVIEW_LONG_SIDE_PX = 700  # size of the canvas beside the panels on a small laptop
CACHED_KERNELS = 64
GROUPS = 8  # of tiles; more than threads, because work is unequal and small groups fit the cache
PADDING_STEP_PX = 16


class Superseded(Exception):
    """Rendering was abandoned because a newer image was requested."""


@dataclass(frozen=True)
class Shot:
    """Focus and aperture of an image: defocus scales, and multiples of the lens aperture.

    ``views`` are LEFT, RIGHT or both; both are averaged as in an ordinary photograph. ``sway``, for
    sharp views only, is the place of the viewpoint, from 1 at the left view to -1 at the right.
    """

    focus: float = 0.0
    aperture: float = 1.0
    views: tuple[int, ...] = (LEFT, RIGHT)
    sway: float = 0.0


def preview_reduction(shape: tuple[int, int]) -> int:
    """Factor by which an image of this size is reduced while a slider moves."""
    return max(-(-max(shape) // PREVIEW_LONG_SIDE_PX), 1)


def _never() -> bool:
    return False


class Refocuser:
    """Renders shots of one multiplane image through one aperture.

    ``color`` (L, C, H, W) linear, ``alpha`` (L, 1, H, W), ``defocus_scales`` (L,), back to front;
    ``defocus`` (L, 1, H, W), if given, is that of each pixel of slanted layers, which are divided
    between planes. With ``reduction`` n it works on means of n x n px. With ``is_quick``, implied
    by a reduction, it renders previews: both views share one kernel, and layers of similar blur are
    merged.
    """

    def __init__(
        self,
        color: FloatArray,
        alpha: FloatArray,
        defocus_scales: Sequence[float] | npt.NDArray[np.floating],
        aperture: Aperture,
        reduction: int = 1,
        threads: int = 2,
        blend_px: int | None = None,
        is_quick: bool = False,
        defocus: FloatArray | None = None,
    ) -> None:
        _check(color, alpha, defocus_scales, aperture)
        scene = MultiplaneImage(color, alpha, np.asarray(defocus_scales), defocus)
        layers, self._scales, self._layer_of = _planes(scene, aperture.lens.plane_step)
        self._aperture = aperture
        self._threads = threads
        self._blend_px = aperture.lens.blend_px if blend_px is None else blend_px
        self._is_quick = is_quick or reduction > 1
        if reduction > 1:
            layers = _reduced(layers, reduction)
        if self._is_quick:
            tolerance = PREVIEW_BLUR_PX / aperture.rms_radius_px(reduction)
            layers, self._scales, self._layer_of = merged(
                layers, self._scales, self._layer_of, tolerance
            )
        self._set_layers(layers, reduction)

    def smaller(self, factor: int) -> Refocuser:
        """The same scene, reduced by another factor."""
        other = object.__new__(Refocuser)
        other.__dict__.update(self.__dict__)
        other._set_layers(_reduced(self._layers, factor), self._reduction * factor)
        return other

    def _set_layers(self, layers: FloatArray, reduction: int) -> None:
        self._layers, self._reduction = layers, reduction
        self._tiles = TileGrid.of(self._aperture, reduction, self._blend_px)
        self._seen: dict[tuple[int, ...], Aperture] = {}
        self._kernels: OrderedDict[tuple[float, tuple[int, ...]], FloatArray] = OrderedDict()
        self._limits: dict[tuple[int, tuple[int, int]], tuple[FloatArray, FloatArray]] = {}
        self._lock = Lock()
        self._padding_px, self._padded = 0, self._layers

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of rendered images."""
        return self._layers.shape[-2], self._layers.shape[-1]

    @property
    def layers(self) -> int:
        """Number of layers and planes of layers that are blurred."""
        return len(self._layers)

    def render(self, shot: Shot, superseded: Callable[[], bool] = _never) -> FloatArray:
        """Render an image (C, H, W), linear, in the unit of the layers.

        ``superseded`` is called before every layer; if it returns True, Superseded is raised.
        """
        views = self.render_views(shot, superseded)
        return views[0] if len(views) == 1 else np.asarray(views.mean(axis=0), np.float32)

    def render_views(self, shot: Shot, superseded: Callable[[], bool] = _never) -> FloatArray:
        """Render each view of a shot (V, C, H, W); previews have one for both."""
        with ThreadPoolExecutor(self._threads) as pool:
            blurs = list(pool.map(lambda scale: self._blur(scale, shot.views), self._signed(shot)))
            self._pad(max(max(blur.margin) for blur in blurs) + self._tiles.overshoot_px)
            out = np.zeros((blurs[0].views, self._layers.shape[1] - 1, *self.shape), np.float32)

            def work(tiles: IntArray) -> FloatArray:
                return self._render_tiles(tiles, blurs, superseded)

            groups = list(self._tiles.groups(GROUPS))
            for tiles, parts in zip(groups, pool.map(work, groups), strict=True):
                self._tiles.blend(parts, tiles, out)
        return out

    def _signed(self, shot: Shot) -> list[float]:
        """Signed defocus scale of each layer in a shot."""
        scales = shot.aperture * (self._scales - shot.focus)
        if self._is_quick:
            scales = np.round(scales / PREVIEW_SCALE_STEP) * PREVIEW_SCALE_STEP
        return [float(scale) for scale in scales]

    def _blur(self, scale: float, views: tuple[int, ...]) -> WindowBlur:
        if not self._is_quick:
            return WindowBlur(self._aperture.seen_by(views).kernels(scale))
        return WindowBlur(self._preview_kernels(scale, views))

    def _preview_kernels(self, scale: float, views: tuple[int, ...]) -> FloatArray:
        """Kernels (P, 1, Ky, Kx) of one scale for the mean of the views, cached."""
        with self._lock:
            kernels = self._kernels.pop((scale, views), None)
        if kernels is None:
            if views not in self._seen:
                self._seen[views] = self._aperture.seen_by(views, as_one=True)
            kernels = self._seen[views].kernels(scale, self._reduction, PREVIEW_RIM)
        with self._lock:
            self._kernels[scale, views] = kernels
            while len(self._kernels) > CACHED_KERNELS:
                self._kernels.popitem(last=False)
        return kernels

    def _pad(self, margin_px: int) -> None:
        """Pad the layers by replicating their edges, so that all windows fit."""
        if margin_px > self._padding_px:
            self._padding_px = -(-margin_px // PADDING_STEP_PX) * PADDING_STEP_PX
            p, (height, width) = self._padding_px, self.shape
            self._padded = np.pad(self._layers, ((0, 0), (0, 0), (p, p), (p, p)), mode="edge")
            self._layers = self._padded[..., p : p + height, p : p + width]  # shares memory

    def _render_tiles(
        self, tiles: IntArray, blurs: list[WindowBlur], superseded: Callable[[], bool]
    ) -> FloatArray:
        """Composite of some tiles (n, V, C, h, w), from front to back."""
        shape = (len(tiles), blurs[0].views, self._layers.shape[1] - 1, *self._tiles.size)
        out = np.zeros(shape, np.float32)
        free = np.ones((*shape[:2], 1, *shape[3:]), np.float32)
        is_open = np.ones(len(tiles), bool)
        finished = PREVIEW_FINISHED if self._is_quick else FINISHED
        for layer in reversed(range(self._layer_of[-1] + 1)):
            planes = np.flatnonzero(self._layer_of == layer)
            if not is_open.any():
                break
            chosen = np.flatnonzero(is_open)
            # planes of one layer do not cover each other
            cover = free if len(planes) == 1 else np.zeros_like(free)
            for number in planes:
                if superseded():
                    raise Superseded
                self._lay_behind(int(number), blurs[number], tiles, chosen, free, out, cover)
            if cover is not free:
                free *= 1 - cover
            is_open[chosen] = free[chosen].max(axis=(1, 2, 3, 4)) >= finished
        return out

    def _lay_behind(
        self,
        number: int,
        blur: WindowBlur,
        tiles: IntArray,
        chosen: IntArray,
        free: FloatArray,
        out: FloatArray,
        cover: FloatArray,
    ) -> None:
        """Composite a blurred plane behind the chosen tiles.

        ``cover`` is ``free``, which is reduced, or where to add the alpha of the plane.
        """
        lows, highs = self._alpha_limits(number, blur.margin)
        is_opaque = lows[tiles[chosen]] >= 1.0  # such a window stays opaque when blurred
        is_soft = ~is_opaque & (highs[tiles[chosen]] > 0.0)
        layer = self._padded[number]
        for kept, planes in ((chosen[is_opaque], layer[1:]), (chosen[is_soft], layer)):
            if not len(kept):
                continue
            windows = self._tiles.windows(planes, tiles[kept], blur.margin, self._padding_px)
            blurred = blur(windows, self._tiles.kernel_of[tiles[kept]])
            colors = blurred.shape[2] - out.shape[2]  # number of alpha planes
            part = slice(None) if len(kept) == len(free) else kept  # avoids a copy if possible
            out[part] += free[part] * blurred[:, :, colors:]
            opacity = blurred[:, :, :1] if colors else np.float32(1)
            if cover is free:
                free[part] *= 1 - opacity
            else:
                cover[part] += opacity

    def _alpha_limits(self, number: int, margin: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest alpha of a layer in every tile, cached for each margin."""
        limits = self._limits.get((number, margin))
        if limits is None:
            limits = self._tiles.limits(self._padded[number, 0], margin, self._padding_px)
            self._limits[number, margin] = limits
        return limits


def _planes(
    scene: MultiplaneImage, step: float
) -> tuple[FloatArray, npt.NDArray[np.floating], IntArray]:
    """Planes (P, 1 + C, H, W): alpha and premultiplied colours; their scales and layers (P,)."""
    planes = scene.planes(step)
    layer_of = np.repeat(np.arange(len(planes)), [len(part) for part in planes])
    flat = [plane for part in planes for plane in part]
    out = np.empty((len(flat), 1 + scene.color.shape[1], *scene.alpha.shape[-2:]), np.float32)
    for target, plane, layer in zip(out, flat, layer_of, strict=True):
        target[:1] = plane.weight
        np.multiply(scene.color[layer], plane.weight, out=target[1:])
    return out, np.array([plane.scale for plane in flat]), layer_of


def _reduced(layers: FloatArray, factor: int) -> FloatArray:
    """Means of blocks of pixels (L, C, h, w); edges are replicated to fill the last block."""
    height, width = (-(-side // factor) for side in layers.shape[-2:])
    missing = height * factor - layers.shape[-2], width * factor - layers.shape[-1]
    out = np.empty((*layers.shape[:2], height, width), np.float32)
    for target, layer in zip(out, layers, strict=True):
        for small, plane in zip(target, layer, strict=True):
            whole = cv2.copyMakeBorder(plane, 0, missing[0], 0, missing[1], cv2.BORDER_REPLICATE)
            cv2.resize(whole, (width, height), dst=small, interpolation=cv2.INTER_AREA)
    return out


def _check(
    color: FloatArray,
    alpha: FloatArray,
    scales: Sequence[float] | npt.NDArray[np.floating],
    aperture: Aperture,
) -> None:
    layers, _, height, width = color.shape
    belongs = alpha.shape == (layers, 1, height, width) and len(scales) == layers
    if not belongs or aperture.layout.shape != (height, width):
        raise ResultError(
            f"Colours of shape {color.shape}, alphas of shape {alpha.shape}, {len(scales)} defocus "
            f"scales and an aperture for images of shape {aperture.layout.shape} do not match; use "
            "the data of one run."
        )
