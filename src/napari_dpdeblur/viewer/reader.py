"""Reader of captures, calibrations and run folders; leaves other files to other readers.

`get_reader` looks at names and a few header bytes, loads no torch and never raises. A user at the
window does not wait for what is read: it is read in a thread, and added when it is there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import napari
from napari.utils.notifications import show_info, show_warning
from superqt.utils import ensure_main_thread

from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.capture import (
    DualPixelCapture,
    looks_like_capture,
    open_capture,
)
from napari_dpdeblur.capture.image_file import MAX_BYTES
from napari_dpdeblur.capture.pairing import capture_name, looks_like_pair
from napari_dpdeblur.capture.picture_pair import PICTURE_PAIR, locate_by_name
from napari_dpdeblur.errors import CaptureError, DpDeblurError
from napari_dpdeblur.files import digest
from napari_dpdeblur.results import Result, read_run
from napari_dpdeblur.results.run_folder import LENS_FILE
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.add import watch
from napari_dpdeblur.viewer.layers.calibration import calibration_layers
from napari_dpdeblur.viewer.layers.convert import capture_layers, hidden, run_layers, truth_layers
from napari_dpdeblur.viewer.layers.metadata import (
    LEFT,
    RIGHT,
    LayerData,
    LayerInfo,
    kind_of,
    layer_info,
    set_layer_info,
)
from napari_dpdeblur.viewer.open.arrival import Loading, open_later
from napari_dpdeblur.viewer.open.folder import (
    CALIBRATION_SUFFIX,
    RUN_FILE,
    Files,
    FolderContents,
    contents_of,
    has_contents,
    is_run,
)
from napari_dpdeblur.viewer.open.listing import listing_of
from napari_dpdeblur.viewer.open.ordinary import is_picture, read_ordinary
from napari_dpdeblur.viewer.open.reader_choice import narrow_remembered_choice
from napari_dpdeblur.viewer.reading_dialog import PATIENCE_MS, confirmed, for_user, user_is_waiting
from napari_dpdeblur.viewer.shared.timers import call_later

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Reader = Callable[[Paths], list[Any]]

MAX_FILES = 2  # of a capture
NOTHING: list[Any] = [(None,)]  # napari's sign for "read, but there is no layer to add"


def get_reader(path: Paths) -> Reader | None:
    """A function that reads ``path``, or None if it is not ours.

    A picture that is only named like one of ours is read as napari does: whoever remembers this
    reader for such names gets all of them.
    """
    try:
        paths = _as_list(path)
        if len(paths) > 2:
            return None
        found = _pair_reader(paths) if len(paths) == 2 else _reader_of(paths[0])
    except (OSError, ValueError, TypeError, IndexError):
        return None
    return None if found is None else partial(_read, found)


def _read(read: Reader, paths: Paths) -> list[Any]:
    """Read now; for a user at the window, in a thread."""
    viewer = napari.current_viewer()
    if viewer is None or not user_is_waiting():
        return read(paths)
    call_later(narrow_remembered_choice)  # which napari remembers when this returns
    open_paths(viewer, paths, read)
    return NOTHING


def open_paths(
    viewer: Any,
    paths: Paths,
    read: Reader | None = None,
    then: Callable[[bool], None] = lambda has_arrived: None,
) -> None:
    """Open something for a user, in the background; errors are shown as one sentence."""
    given = _as_list(paths)

    def load() -> Loading:
        yield 0, 1, "files"
        with for_user():
            layers = (read or _reader_for_user(given))(paths)
        return [] if layers == NOTHING else layers

    open_later(viewer, f"Opening {given[0].name or given[0]}", load, then)


def _reader_for_user(paths: list[Path]) -> Reader:
    """The reader of what a user has chosen; what is not ours is refused with its reason."""
    return read_folder if paths[0].is_dir() else _reader_of(paths[0]) or read_pair


def _pair_reader(paths: list[Path]) -> Reader | None:
    return read_pair if looks_like_pair(*paths) else None


def _reader_of(path: Path) -> Reader | None:
    if path.is_dir():
        return read_folder if has_contents(path) else None
    if path.suffix.lower() == CALIBRATION_SUFFIX:
        return read_calibration
    if path.name == RUN_FILE and is_run(path.parent):
        return lambda paths: read_folder(_as_list(paths)[0].parent)
    if looks_like_capture(path):
        return _read_view
    return _read_ordinary if locate_by_name(path) and is_picture(path) else None


def _read_view(paths: Paths) -> list[Any]:
    """The capture of one file; if its content is not that of a view, the picture alone."""
    try:
        return read_pair(paths)
    except CaptureError as error:
        path = _as_list(paths)[0]
        if not is_picture(path):
            raise
        show_warning(f"{error} It is shown as an ordinary picture.")
        return read_ordinary(path)


def _read_ordinary(paths: Paths) -> list[Any]:
    return read_ordinary(_as_list(paths)[0])


def read_pair(paths: Paths) -> list[Any]:
    """Both views of a capture from either file or both, except for views that are open.

    A user at the window is asked how to read files that do not say it. napari opens two files that
    were dropped together one by one: the second one adds nothing.
    """
    _watch_viewer()
    given = [str(path) for path in _as_list(paths)]
    capture = open_capture(*given)
    views = _open_views(capture)
    if set(views) == {LEFT, RIGHT}:
        if any(set(given) & set(view.opened_from) for view in views.values()):
            show_info(f"{capture.name} is already open.")
        return NOTHING
    read = confirmed(capture)
    if read is None:
        return NOTHING
    _show_notes(read)
    layers = capture_layers(read)
    for view in views.values():  # the view that was left has to belong to the same record
        layers = capture_layers(view.capture or read, view.group)
    missing = [layer for layer in layers if kind_of(layer) not in views]
    for layer in missing:
        _note_files(layer, given)
    return missing


def read_calibration(paths: Paths) -> list[Any]:
    """A calibration file as layers; they are hidden if they would cover a picture."""
    path = _as_list(paths)[0]
    calibration = load_calibration(path)
    layers = calibration_layers(calibration, _calibration_name(calibration, path), path)
    viewer = napari.current_viewer()
    is_covering = viewer is not None and any(queries.captures(viewer))
    return [hidden(layer) for layer in layers] if is_covering else layers


def read_folder(paths: Paths) -> list[Any]:
    """The capture, calibrations and result in a folder, the result on top.

    Several captures are listed in the Open tab to choose from. A script gets the first one.
    """
    _watch_viewer()
    folder = _as_list(paths)[0]
    contents = contents_of(folder)
    captures = () if contents.is_run and len(contents.captures) > 1 else contents.captures
    if len(captures) > 1:
        if napari.current_viewer() is not None and _list_captures(captures, user_is_waiting()):
            return NOTHING
        first = capture_name(captures[0])
        show_info(f"{folder} contains {len(captures)} captures; {first} is opened.")
    layers = _layers_of(folder, contents, captures[:1])
    if not layers and not captures:  # nothing was found, or a user has cancelled
        open_capture(folder)  # says what is wrong
    return layers or NOTHING


def _layers_of(folder: Path, contents: FolderContents, captures: tuple[Files, ...]) -> list[Any]:
    result = read_run(folder) if contents.is_run else None
    has_lens = result is not None and result.calibration is not None
    layers: list[LayerData] = []
    for calibration_path in contents.calibrations:
        if not (has_lens and calibration_path.name == LENS_FILE):  # the layers of the run hold it
            layers += read_calibration(calibration_path)
    if captures or result is not None:
        layers = [hidden(layer) for layer in layers]
    for files in captures:
        layers += _read_capture(list(files))
    if result is not None:
        layers += _result_layers(result, with_capture=not captures)
    return layers


@ensure_main_thread(await_return=True, timeout=PATIENCE_MS)
def _list_captures(captures: tuple[Files, ...], is_shown: bool) -> bool:
    """List captures in the Open tab of the current viewer; ``is_shown``: and show it."""
    listing = listing_of(napari.current_viewer())
    listing.add(captures)
    if is_shown:
        listing.show_tab()
    return is_shown


def _read_capture(files: list[Path]) -> list[LayerData]:
    capture = confirmed(open_capture(*files))
    if capture is None:
        return []
    _show_notes(capture)
    return capture_layers(capture)


def _show_notes(capture: DualPixelCapture) -> None:
    for note in capture.notes:
        show_info(note)


def _result_layers(result: Result, with_capture: bool) -> list[LayerData]:
    """The layers of a run, above the views it was made from if their files are still there."""
    capture = (result.capture or _original_capture(result)) if with_capture else None
    views = [] if capture is None else capture_layers(capture)
    return [*truth_layers(result), *views, *run_layers(result)]


def _original_capture(result: Result) -> DualPixelCapture | None:
    """The capture of a run, if its files are unchanged.

    A run folder could name any file of this computer: nothing is decoded before the check.
    """
    try:
        described = result.provenance["capture"]
        files, sums = list(described["files"]), list(described["sha256"])
        is_pair = 0 < len(files) == len(sums) <= MAX_FILES
        if not is_pair or not all(map(_is_unchanged, files, sums)):
            return None
        capture = open_capture(*files, **_stored_reading(described))
    except (DpDeblurError, AttributeError, KeyError, TypeError, ValueError, OSError):
        return None
    return capture if list(capture.source.sha256) == sums else None


def _stored_reading(described: dict[str, Any]) -> dict[str, Any]:
    """How pictures that do not say it themselves were read for the run."""
    if described.get("format") != PICTURE_PAIR.id:
        return {}
    return {name: described.get(name) for name in ("black", "white", "encoding", "orientation")}


def _is_unchanged(file: str, sha256: str) -> bool:
    # A shared run must not make anybody's computer talk to a file server.
    if file.startswith(("\\\\", "//")):
        return False
    path = Path(file)
    return path.is_file() and path.stat().st_size <= MAX_BYTES and digest(path) == sha256


def _calibration_name(calibration: Calibration, path: Path) -> str:
    """The file's name, which tells calibrations of one camera apart; else the camera."""
    return path.stem if path.suffix else calibration.camera


def _note_files(layer: LayerData, given: list[str]) -> None:
    info = layer_info(layer)
    if info is not None:
        set_layer_info(layer, replace(info, opened_from=tuple(given)))


def _open_views(capture: DualPixelCapture) -> dict[str, LayerInfo]:
    """What is known about the views of this capture in the current viewer, by their kind."""
    viewer = napari.current_viewer()
    known = [] if viewer is None else [info for _, info in queries.described_layers(viewer)]
    return {
        info.kind: info
        for info in known
        if info.kind in (LEFT, RIGHT)
        and info.capture is not None
        and info.capture.source == capture.source
    }


def _watch_viewer() -> None:
    viewer = napari.current_viewer()
    if viewer is not None:
        watch(viewer)


def _as_list(paths: Paths) -> list[Path]:
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    return [Path(path) for path in given]
