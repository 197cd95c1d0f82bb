"""Layers that are made in a thread and then added to a viewer one by one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from napari.qt.threading import create_worker
from napari.utils.notifications import show_error

from napari_dpdeblur.errors import DpDeblurError
from napari_dpdeblur.viewer.layers.add import put_steps
from napari_dpdeblur.viewer.layers.hygiene import remove_layer
from napari_dpdeblur.viewer.layers.metadata import LayerData
from napari_dpdeblur.viewer.shared.task_queue import GuiTaskQueue

Step = tuple[int, int, str]  # done, total, what
Loading = Generator[Step, None, list[LayerData]]
NOTICE = "dpdeblur notice"  # key in the metadata of a layer that announces others

_running: set[Arrival] = set()
_waiting: deque[Arrival] = deque()  # files are opened one after the other
_queues: WeakKeyDictionary[Any, GuiTaskQueue] = WeakKeyDictionary()


class Arrival:
    """Layers on their way into a viewer.

    ``load`` is a generator function that returns the layers; it runs in a thread. An error is shown
    as one sentence. With ``notice``, a layer with this title in its metadata announces the layers:
    it shows the progress, and removing it cancels. ``then`` is called when all layers are there,
    with whether there are any.
    """

    def __init__(
        self,
        viewer: Any,
        title: str,
        load: Callable[[], Loading],
        has_notice: bool = False,
        then: Callable[[bool], None] = lambda has_arrived: None,
    ) -> None:
        self._viewer, self._title, self._then = viewer, title, then
        self._has_notice, self._has_returned = has_notice, False
        self._worker = create_worker(_guarded, load, title, _progress={"desc": title, "total": 0})
        self._worker.yielded.connect(self._show_progress)
        self._worker.returned.connect(self._add)
        self._worker.finished.connect(self._end_if_cancelled)

    def start(self) -> None:
        """Begin now."""
        _running.add(self)
        self._viewer.status = f"{self._title}..."
        self._worker.start()

    def _show_progress(self, step: Step) -> None:
        done, total, what = step
        notice = self._notice()
        if notice is not None:
            notice.name = f"{self._title}: {done} of {total} {what}"
        elif self._has_notice:
            self._worker.quit()

    def _add(self, result: tuple[list[LayerData], DpDeblurError | None]) -> None:
        layers, error = result
        self._has_returned = True
        notice = self._notice()
        if self._has_notice and notice is None:
            self._end(False)
            return
        is_first = all(layer is notice for layer in self._viewer.layers)
        if error is not None:
            show_error(str(error))
        steps = self._steps(layers, notice, is_first)
        queue = gui_queue(self._viewer)
        if queue is None:
            for step in steps:
                step()
        else:
            queue.add(steps)

    def _steps(
        self, layers: list[LayerData], notice: Any, is_first: bool
    ) -> list[Callable[[], object]]:
        """Short tasks; the notice goes last, because an empty window takes long to draw."""
        remove = [] if notice is None else [partial(remove_layer, self._viewer, notice)]
        if not layers:
            return [*remove, partial(self._end, False)]
        show = partial(self._select, is_first or self._has_notice)
        return [*put_steps(self._viewer, layers), *remove, show, partial(self._end, True)]

    def _select(self, is_first: bool) -> None:
        """Select what lies on top, as napari does with layers of its own."""
        visible = [layer for layer in self._viewer.layers if layer.visible]
        if visible:
            self._viewer.layers.selection.active = visible[-1]
        if is_first:
            self._viewer.reset_view()

    def _end_if_cancelled(self) -> None:
        """A worker that was told to quit returns nothing."""
        if not self._has_returned:
            self._end(False)

    def _end(self, has_arrived: bool) -> None:
        _running.discard(self)
        self._viewer.status = "Ready"
        self._then(has_arrived)

    def _notice(self) -> Any | None:
        layers = self._viewer.layers
        return next((la for la in layers if la.metadata.get(NOTICE) == self._title), None)


def open_later(
    viewer: Any,
    title: str,
    load: Callable[[], Loading],
    then: Callable[[bool], None] = lambda has_arrived: None,
) -> None:
    """Open files in the background, after those that are being opened.

    napari opens files that were dropped together one by one; the second view of a capture must
    find the first one in the viewer.
    """

    def ended(has_arrived: bool) -> None:
        _waiting.popleft()
        then(has_arrived)
        if _waiting:
            _waiting[0].start()

    _waiting.append(Arrival(viewer, title, load, then=ended))
    if len(_waiting) == 1:
        _waiting[0].start()


def running() -> int:
    """Number of arrivals whose layers are not all there."""
    return len(_running) + sum(arrival not in _running for arrival in _waiting)


def gui_queue(viewer: Any) -> GuiTaskQueue | None:
    """The queue of layer changes of a window; None without a window."""
    window = getattr(getattr(viewer, "window", None), "_qt_window", None)
    if window is None:
        return None
    if viewer not in _queues:
        _queues[viewer] = GuiTaskQueue(window)
    return _queues[viewer]


def _guarded(
    load: Callable[[], Loading], title: str
) -> Generator[Step, None, tuple[list[LayerData], DpDeblurError | None]]:
    """The layers, and the error or None: napari silently drops a RuntimeError of a worker."""
    try:
        return (yield from load()), None
    except DpDeblurError as error:
        return [], error
    except MemoryError:
        return [], DpDeblurError(f"{title}: not enough memory; close other results.")
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return [], DpDeblurError(f"{title} failed unexpectedly ({text}); please report it.")
