"""Plan a batch: captures, keys, run folders, and what is already finished."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from napari_dpdeblur.batch.index import Entry, read_index
from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.capture import capture_name, find_captures, open_capture
from napari_dpdeblur.capture.pairing import absolute_path, check_exists, rejected_view
from napari_dpdeblur.capture.photo import find_photo
from napari_dpdeblur.errors import CaptureError, DpDeblurError, ResultError, shortened
from napari_dpdeblur.files import digest
from napari_dpdeblur.files.destination import place_problem
from napari_dpdeblur.files.reading import accessing
from napari_dpdeblur.fitting.resources import estimate_memory, memory_budget, photo_memory
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.results.provenance import read_provenance
from napari_dpdeblur.results.run_folder import RUN_FILES

KEY = "batch_key"  # its name in run.yaml
CHECKPOINTS = ".checkpoints"


@dataclass(frozen=True)
class Conditions:
    """Calibration, settings and levels common to all captures of a batch."""

    calibration: str
    calibration_hash: str
    settings: dict[str, Any]
    black: float | None = None
    white: float | None = None

    def key(self, file_digests: Sequence[str]) -> str:
        """SHA-256 of everything that affects a result: content, not names."""
        settings = {
            n: v for n, v in self.settings.items() if n not in ("device", "threads", "memory_gb")
        }
        levels = (self.black, self.white)
        parts = [list(file_digests), levels, self.calibration_hash, settings]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Plan:
    """A batch: entries in the order of the index, earlier ones first."""

    output: Path
    conditions: Conditions
    entries: tuple[Entry, ...]
    asked: tuple[str, ...]  # keys of the captures of this batch
    memory_bytes: int  # of one fit

    @property
    def pending(self) -> list[Entry]:
        """Captures to fit, without duplicates."""
        unfinished = [e for e in self.entries if e.key in self.asked and e.status == "waiting"]
        return list({entry.key: entry for entry in unfinished}.values())


def make_plan(
    given: Iterable[Path],
    calibration_path: Path,
    output: Path,
    settings: FitSettings,
    black: float | None = None,
    white: float | None = None,
    photos: Path | None = None,
) -> Plan:
    """Find the captures, assign their folders and look up finished runs.

    ``photos`` is a folder with colour photos that are named after their captures.
    """
    calibration = load_calibration(calibration_path)
    conditions = Conditions(
        str(Path(calibration_path).absolute()),
        calibration.content_hash(),
        settings.model_dump(),
        black,
        white,
    )
    output = Path(output).absolute()
    check_batch_output(output)
    if photos is not None and not photos.is_dir():
        raise CaptureError(f"The folder of photos {shortened(photos)} does not exist.")
    found = [_entry(files, conditions, photos) for files in captures_in(given)]
    known = {(e.key, e.files): e for e in read_index(output).captures}
    finished = _finished_folders(output, known.values())
    named: dict[tuple[str, tuple[str, ...]], Entry] = dict(known)
    for entry in found:
        named[entry.key, entry.files] = _with_folder(entry, output, finished, named.values())
    asked = tuple(dict.fromkeys(entry.key for entry in found))
    waiting = [e for e in named.values() if e.key in asked and e.status == "waiting"]
    need = _memory(calibration, settings, _channels(waiting, conditions))
    if any(entry.photo is not None for entry in waiting):
        area = calibration.field
        need = max(need, photo_memory(area.height, area.width, settings.planes))
    return Plan(output, conditions, tuple(named.values()), asked, need)


def check_batch_output(output: Path) -> None:
    """Refuse an output folder that cannot be created or written, before anything is fitted."""
    problem = place_problem(output)
    if problem is None and output.is_file():
        raise ResultError(f"The output {output} is a file; choose the name of a folder.")
    if problem is None and output.exists():
        problem = place_problem(output / CHECKPOINTS)
    if problem is not None:
        raise ResultError(
            f"The output folder {shortened(output)} cannot be used because {problem}; choose "
            "another location."
        )


def captures_in(given: Iterable[Path]) -> list[tuple[Path, ...]]:
    """Files of every capture in the given folders; a file stands for its pair."""
    found: dict[tuple[Path, ...], None] = {}
    for path in given:
        path = absolute_path(path)
        with accessing(path, CaptureError):
            check_exists(path)
            inside = find_captures(path if path.is_dir() else path.parent)
            wanted = [files for files in inside if path.is_dir() or path in files]
            rejected = rejected_view(path) if path.is_dir() and not wanted else None
        if not wanted:
            raise rejected or CaptureError(
                f"{path} contains no complete dual-pixel capture; specify folders with both files "
                "of each capture."
            )
        found.update(dict.fromkeys(wanted))
    return list(found)


def _entry(files: tuple[Path, ...], conditions: Conditions, photos: Path | None) -> Entry:
    names = tuple(str(path) for path in files)
    name = capture_name(files)
    photo = None if photos is None else find_photo(photos.absolute(), name)
    try:
        key = conditions.key([digest(path) for path in (*files, *([photo] if photo else []))])
    except OSError as error:
        unreadable = hashlib.sha256("\n".join(names).encode()).hexdigest()
        message = f"{files[0]} cannot be read: {error.strerror or error}."
        return Entry(
            key=unreadable, name=name, files=names, folder=name, status="failed", message=message
        )
    given = None if photo is None else str(photo)
    return Entry(key=key, name=name, files=names, folder=name, photo=given)


def _finished_folders(output: Path, known: Iterable[Entry]) -> dict[str, str]:
    """Key to folder of every complete run, from the index or from its `run.yaml`."""
    finished = {}
    listed = {e.folder: e.key for e in known if e.status == "done"}
    for folder in sorted(output.iterdir()) if output.is_dir() else []:
        if folder.name.startswith(".") or not all((folder / n).is_file() for n in RUN_FILES):
            continue
        key = listed.get(folder.name) or _key_of(folder)
        if key is not None:
            finished[key] = folder.name
    return finished


def _key_of(folder: Path) -> str | None:
    try:
        key = read_provenance(folder / "run.yaml").get(KEY)
    except ResultError:
        return None
    return key if isinstance(key, str) else None


def _with_folder(
    entry: Entry, output: Path, finished: dict[str, str], named: Iterable[Entry]
) -> Entry:
    """The entry with a new folder, or with the folder of a finished run of equal content."""
    if entry.status == "failed":
        return entry
    if entry.key in finished:
        return entry.after("done").model_copy(update={"folder": finished[entry.key]})
    taken = {other.folder: other.key for other in named if other.status != "failed"}
    same = [folder for folder, key in taken.items() if key == entry.key]
    for folder in (*same, entry.name, f"{entry.name}-{entry.key[:8]}"):
        if taken.get(folder, entry.key) == entry.key and not (output / folder).exists():
            return entry.model_copy(update={"folder": folder})
    raise ResultError(
        f"The folder {output / entry.name}-{entry.key[:8]} exists, but is not a run of this "
        "batch; move it."
    )


def _channels(waiting: Iterable[Entry], conditions: Conditions) -> int:
    """Channels of the first readable capture; all captures of a batch have the same camera."""
    for entry in waiting:
        try:
            capture = open_capture(*entry.files, black=conditions.black, white=conditions.white)
        except DpDeblurError:
            continue  # its worker will report why
        return capture.shape[1]
    return 1


def _memory(calibration: Calibration, settings: FitSettings, channels: int) -> int:
    area = calibration.field
    # Interpolated rows need less, but that is only known when the worker opens the capture.
    size = (area.height, area.width, channels, settings.planes, settings.preset)
    return estimate_memory(*size, budget_bytes=memory_budget(settings.memory_gb))
