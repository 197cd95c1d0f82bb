"""Live refocusing in a thread: small previews while a slider moves, then full size."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from qtpy.compat import isalive
from qtpy.QtCore import QObject, QTimer, Signal

from napari_dpdeblur.results.refocus.aperture import (
    Aperture,
    equivalent_radius_px,
    round_aperture,
)
from napari_dpdeblur.results.refocus.movie_frames import swing
from napari_dpdeblur.results.refocus.renderer import (
    Refocuser,
    Shot,
    Superseded,
    preview_reduction,
)
from napari_dpdeblur.results.refocus.viewpoint import SharpViews
from napari_dpdeblur.viewer.inspect.canvas_state import REFOCUSED
from napari_dpdeblur.viewer.inspect.preview_size import PreviewSizer
from napari_dpdeblur.viewer.inspect.source import MpiSource
from napari_dpdeblur.viewer.layers.add import block_layer_list, put_layers, renew
from napari_dpdeblur.viewer.layers.convert import image_layer
from napari_dpdeblur.viewer.layers.metadata import LayerData, LayerInfo, layer_info
from napari_dpdeblur.viewer.layers.placement import reduced
from napari_dpdeblur.viewer.layers.queries import layer_of
from napari_dpdeblur.viewer.shared.latest_task import IsSuperseded, LatestTask
from napari_dpdeblur.viewer.shared.timers import call_after_draw

SWING_MS, SWAY_MS = 180, 90  # between frames: of the views, and of a sharp parallax
SWAY_FRAMES = 9
REST_MS = 250  # without a change for so long, the picture is rendered in full
FOCUS_MARGIN = 0.25  # of the range of the focus, beyond the nearest and the farthest layer
LEAST_FOCUS_SPAN = 0.04  # of that range, for a scene that is all in focus
SMALLER = 2  # factor between the two sizes of previews


@dataclass(frozen=True)
class Lens:
    """Calibrated kernels, or a disc of ``radius_px`` at defocus scale 1."""

    is_calibrated: bool
    radius_px: float

    def aperture(self, source: MpiSource) -> Aperture:
        """The kernels for a multiplane image; CalibrationError when they do not fit."""
        if self.is_calibrated and source.calibration is not None:
            return source.calibrated_aperture()
        return round_aperture(source.shape, self.radius_px, _left_side(source))


@dataclass(frozen=True, eq=False)
class RefocusedImage:
    """A rendered shot, linear (C, h, w), reduced by a factor of ``reduction``."""

    shot: Shot
    image: np.ndarray
    reduction: int
    seconds: float
    is_full: bool  # or a preview

    @property
    def rendered_px(self) -> tuple[int, int]:
        """Height and width."""
        return self.image.shape[-2], self.image.shape[-1]


class RefocusRenderers:
    """Renderers of one source and one lens, created on demand; not thread-safe."""

    def __init__(self, source: MpiSource, lens: Lens) -> None:
        self.source, self.lens = source, lens
        self._aperture: Aperture | None = None
        self._exact: Refocuser | None = None
        self._quick: dict[int, Refocuser] = {}
        self._sharp: dict[int, SharpViews] = {}

    @property
    def aperture(self) -> Aperture:
        """The kernels of the lens for this source."""
        if self._aperture is None:
            self._aperture = self.lens.aperture(self.source)
        return self._aperture

    def exact(self) -> Refocuser:
        """The renderer for full size."""
        if self._exact is None:
            self._exact = self._make(1, is_quick=False)
        return self._exact

    def quick(self, reduction: int) -> Refocuser:
        """The renderer for previews reduced by this factor."""
        if reduction not in self._quick:
            larger = self._quick.get(reduction // SMALLER)
            if larger is None or reduction % SMALLER:
                self._quick[reduction] = self._make(reduction, is_quick=True)
            else:
                self._quick[reduction] = larger.smaller(SMALLER)
        return self._quick[reduction]

    def _make(self, reduction: int, is_quick: bool) -> Refocuser:
        stack = self.source.stack
        return Refocuser(
            stack.color,
            stack.alpha,
            stack.defocus_scales,
            self.aperture,
            reduction,
            is_quick=is_quick,
            defocus=stack.defocus,
        )

    def picture(
        self, shot: Shot, reduction: int | None, superseded: IsSuperseded
    ) -> RefocusedImage:
        """Render a shot; at full size without a reduction."""
        start = time.perf_counter()
        if shot.sway:
            image = self._sharp_view(shot, reduction or 1, superseded)
        else:
            renderer = self.exact() if reduction is None else self.quick(reduction)
            start = time.perf_counter()
            image = renderer.render(shot, superseded)
        seconds = time.perf_counter() - start
        return RefocusedImage(shot, image, reduction or 1, seconds, is_full=reduction is None)

    def _sharp_view(self, shot: Shot, reduction: int, superseded: IsSuperseded) -> np.ndarray:
        if superseded():
            raise Superseded
        if reduction not in self._sharp:
            self._sharp[reduction] = SharpViews(self.source.stack, reduction)
        sway_px = shot.sway * self.aperture.sway_px()
        return self._sharp[reduction].parallax((sway_px, 0.0), shot.focus)


def sway_shots(focus: float) -> list[Shot]:
    """Sharp shots from one side to the other, with what is in focus in place."""
    return [Shot(focus, 0.0, sway=place) for place in swing(SWAY_FRAMES)]


class RefocusView(QObject):
    """Keeps the layer "refocused" up to date with the requested shot."""

    shown = Signal(object)
    failed = Signal(str)

    def __init__(self, viewer: Any, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._viewer = viewer
        self._worker = LatestTask(self)
        self._worker.done.connect(self._show)
        self._worker.failed.connect(lambda _, text: self.failed.emit(text))
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(REST_MS)
        self._rest.timeout.connect(self._render_full)
        self._swing = QTimer(self)
        self._swing.setInterval(SWING_MS)
        self._swing.timeout.connect(self._swing_on)
        self._pace = PreviewSizer()
        self._shown_source: MpiSource | None = None
        self._shots: tuple[Shot, ...] = ()
        self._frames: list[LayerData] = []
        self._step = 0
        self.renderers: RefocusRenderers | None = None
        self.picture: RefocusedImage | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a newer image is being rendered."""
        return self._worker.is_busy or self._rest.isActive()

    def set_scene(self, source: MpiSource | None, lens: Lens) -> None:
        """Use another multiplane image or lens from the next request on."""
        now = self.renderers
        if source is None:
            self.cancel()
            self.renderers, self.picture, self._frames = None, None, []
            self._shown_source = None
        elif now is None or now.source is not source or now.lens != lens:
            self.cancel()
            self.renderers = RefocusRenderers(source, lens)

    def request(self, *shots: Shot) -> None:
        """Show a preview of a shot, then the full size if no other request follows.

        Several shots are shown in turn, back and forth.
        """
        if self.renderers is None:
            return
        self._shots = shots
        self._submit(self.renderers, self._preview_reduction(self.renderers), gives_way=False)
        self._rest.start()

    def cancel(self) -> None:
        """Drop all requests; the displayed image is kept."""
        self._rest.stop()
        self._swing.stop()
        self._worker.drop()

    def stop(self) -> None:
        """End the thread."""
        self._rest.stop()
        self._worker.stop()

    def _preview_reduction(self, renderers: RefocusRenderers) -> int:
        usual = preview_reduction(renderers.source.shape)
        return SMALLER * usual if self._pace.wants_small else usual

    def _render_full(self) -> None:
        if self._worker.is_busy:  # the last preview is still to come
            self._rest.start()
        elif self.renderers is not None:
            self._submit(self.renderers, None, gives_way=True)

    def _submit(self, renderers: RefocusRenderers, reduction: int | None, gives_way: bool) -> None:
        shots = self._shots

        def work(superseded: IsSuperseded) -> list[tuple[RefocusedImage, LayerData]]:
            pictures = [renderers.picture(shot, reduction, superseded) for shot in shots]
            return [(picture, refocused_layer(renderers.source, picture)) for picture in pictures]

        self._worker.submit(work, renderers, gives_way)

    def _show(
        self, renderers: RefocusRenderers, results: list[tuple[RefocusedImage, LayerData]]
    ) -> None:
        if renderers is not self.renderers or renderers.source.layer not in self._viewer.layers:
            return
        self.picture = results[0][0]
        self._frames = [data for _, data in results]
        self._step = self._step if len(results) > 1 else 0
        self._show_frame(renderers.source, self._frames[min(self._step, len(self._frames) - 1)])
        if len(results) > 1:
            self._swing.setInterval(SWAY_MS if len(results) == SWAY_FRAMES else SWING_MS)
            if not self._swing.isActive():
                self._swing.start()
        elif len(results) == 1:
            self._swing.stop()
        self.shown.emit(self.picture)
        call_after_draw(lambda _: self._adapt(results[-1][0]))

    def _swing_on(self) -> None:
        """The next frame back and forth: 0, 1, 2, 1, 0, ..."""
        period = max(2 * len(self._frames) - 2, 1)
        self._step = (self._step + 1) % period
        source = None if self.renderers is None else self.renderers.source
        if source and self._frames and layer_of(self._viewer, source.group, REFOCUSED) is not None:
            self._show_frame(source, self._frames[min(self._step, period - self._step)])
        else:
            self._swing.stop()

    def _show_frame(self, source: MpiSource, data: LayerData) -> None:
        """Update the layer, or add it if it is missing."""
        layer = layer_of(self._viewer, source.group, REFOCUSED)
        if layer is None or self._shown_source is not source:
            self._shown_source = source
            put_layers(self._viewer, [data])
            return
        info = layer_info(data)
        is_last = info is not None and info.is_full_size and len(self._frames) == 1
        with nullcontext() if is_last else block_layer_list(self._viewer):
            renew(layer, data)

    def _adapt(self, picture: RefocusedImage) -> None:
        """Adapt the size of previews to their frame rate."""
        if not isalive(self):
            return
        if picture.is_full or len(self._frames) > 1:
            self._pace.rest()
        else:
            self._pace.note(time.perf_counter(), picture.seconds, self._worker.is_busy)


def refocused_layer(source: MpiSource, picture: RefocusedImage) -> LayerData:
    """The image as a layer over the multiplane image."""
    info = LayerInfo(REFOCUSED, source.group, shot=picture.shot, is_full_size=picture.is_full)
    placed = reduced(source.placed(), picture.reduction)
    return image_layer(picture.image, info, placed, source.white)


def default_radius_px(source: MpiSource) -> float | None:
    """Radius of the disc equivalent to the calibrated kernels; None without a calibration."""
    return None if source.calibration is None else equivalent_radius_px(source.calibration)


def focus_range(source: MpiSource) -> tuple[float, float]:
    """Useful range of the focus: the layers and the captured focus, with a margin on both sides."""
    scales = source.stack.defocus_scales
    nearest, farthest = min(float(np.min(scales)), 0.0), max(float(np.max(scales)), 0.0)
    margin = FOCUS_MARGIN * max(farthest - nearest, LEAST_FOCUS_SPAN)
    return nearest - margin, farthest + margin


def _left_side(source: MpiSource) -> int:
    """Side of the aperture that the left view uses: -1 left, 1 right."""
    if source.calibration is None:
        return -1
    kernels = source.calibration.kernels
    offset = np.arange(kernels.shape[-1]) - kernels.shape[-1] // 2
    left, right = (kernels.mean(axis=0).sum(axis=1) * offset).sum(axis=-1)
    return -1 if left <= right else 1
