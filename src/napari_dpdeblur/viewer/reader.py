"""Reader of captures, calibrations and run folders; leaves other files to other readers.

`get_reader` looks at names and a few header bytes, loads no torch and never raises.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import napari
from napari.utils.notifications import show_info

from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.capture import (
    DualPixelCapture,
    looks_like_capture,
    open_capture,
)
from napari_dpdeblur.capture.image_file import MAX_BYTES
from napari_dpdeblur.capture.pairing import looks_like_pair, sole_capture
from napari_dpdeblur.capture.picture_pair import PICTURE_PAIR
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
from napari_dpdeblur.viewer.reading_dialog import confirmed

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Reader = Callable[[Paths], list[Any]]

RUN_FILE, MPI_FILE = "run.yaml", "mpi.tif"
CALIBRATION_SUFFIX = ".dpcal"
KERNEL_FILE = "blur_kernels_left.npy"
MAX_FILES = 2  # of a capture
NOTHING: list[Any] = [(None,)]  # napari's sign for "read, but there is no layer to add"


def get_reader(path: Paths) -> Reader | None:
    """A function that reads ``path``, or None if it is not ours."""
    try:
        paths = _as_list(path)
        if len(paths) == 2:
            return read_pair if looks_like_pair(*paths) else None
        if len(paths) > 2:
            return None
        return _reader_of(paths[0])
    except (OSError, ValueError, TypeError, IndexError):
        return None


def _reader_of(path: Path) -> Reader | None:
    if path.is_dir():
        return read_folder if _parts_of(path) else None
    if path.suffix.lower() == CALIBRATION_SUFFIX:
        return read_calibration
    if path.name == RUN_FILE and is_run(path.parent):
        return lambda paths: read_folder(_as_list(paths)[0].parent)
    return read_pair if looks_like_capture(path) else None


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
    """A calibration file as layers."""
    path = _as_list(paths)[0]
    calibration = load_calibration(path)
    return calibration_layers(calibration, _calibration_name(calibration, path), path)


def read_folder(paths: Paths) -> list[Any]:
    """The capture, calibrations and result in a folder, the result on top."""
    _watch_viewer()
    folder = _as_list(paths)[0]
    parts = _parts_of(folder)
    result = read_run(folder) if "run" in parts else None
    has_lens = result is not None and result.calibration is not None
    layers: list[LayerData] = []
    for calibration_path in parts.get("calibration", []):
        if not (has_lens and calibration_path.name == LENS_FILE):  # the layers of the run hold it
            layers += read_calibration(calibration_path)
    if len(parts) > 1:
        layers = [hidden(layer) for layer in layers]
    if "capture" in parts:
        layers += _read_capture(parts["capture"])
    if result is not None:
        layers += _result_layers(result, with_capture="capture" not in parts)
    return layers or NOTHING


def _read_capture(files: list[Path]) -> list[LayerData]:
    capture = confirmed(open_capture(*files))
    if capture is None:
        return []
    _show_notes(capture)
    return capture_layers(capture)


def _show_notes(capture: DualPixelCapture) -> None:
    for note in capture.notes:
        show_info(note)


def is_run(folder: Path) -> bool:
    """Whether a folder has the files of a run."""
    return (folder / RUN_FILE).is_file() and (folder / MPI_FILE).is_file()


def _parts_of(folder: Path) -> dict[str, list[Path]]:
    """Paths of the capture (if there is just one), calibrations and the run in a folder."""
    parts = {
        "calibration": _calibrations_in(folder),
        "capture": _capture_in(folder),
        "run": [folder] if is_run(folder) else [],
    }
    return {kind: paths for kind, paths in parts.items() if paths}


def _capture_in(folder: Path) -> list[Path]:
    try:
        return list(sole_capture(folder) or [])
    except CaptureError:
        return []


def _calibrations_in(folder: Path) -> list[Path]:
    is_published = any((base / KERNEL_FILE).is_file() for base in (folder, folder / "calibration"))
    files = sorted(folder.glob(f"*{CALIBRATION_SUFFIX}"))
    return [*([folder] if is_published else []), *files]


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
