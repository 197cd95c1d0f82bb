"""Scenes of a data folder: captures in it, or one folder for each capture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.errors import CaptureError, EvaluationError
from napari_dpdeblur.evaluation.depth_truth import DEPTH_FOLDER, DEPTH_NAMES, find_depth
from napari_dpdeblur.evaluation.ground_truth import (
    DEFOCUS_FOLDER,
    MAP_SUFFIXES,
    SHARP_FOLDER,
    TRUTH_SUFFIX,
)
from napari_dpdeblur.evaluation.scoring import Truth

if TYPE_CHECKING:
    from napari_dpdeblur.array_types import Crop
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture


def find_scenes(data: Path) -> list[str]:
    """Names of all captures and ground truths in a folder."""
    maps = (DEFOCUS_FOLDER, MAP_SUFFIXES), (DEPTH_FOLDER, MAP_SUFFIXES)
    truths = [
        path.name.removesuffix(suffix)
        for folder, suffixes in ((SHARP_FOLDER, (TRUTH_SUFFIX,)), *maps)
        for suffix in suffixes
        for path in (data / folder).glob(f"*{suffix}")
    ]
    scenes = sorted({*_capture_files(data), *truths})
    if not scenes:
        raise EvaluationError(
            f"The data folder {data} contains no captures or ground truth; expected files such as "
            f"001_left.png, 001_right.png and {SHARP_FOLDER}/001{TRUTH_SUFFIX}, or folders with "
            f"l.png, r.png and {DEPTH_NAMES[0]}."
        )
    return scenes


def scene_depth(data: Path, scene: str) -> Path | None:
    """The measured depth of a scene; None if there is none."""
    files = _capture_files(data).get(scene)
    return find_depth(data, scene, files[0] if files else None)


def opened_scene(data: Path, scene: str) -> DualPixelCapture:
    """The capture of a scene; CaptureError if it cannot be opened."""
    from napari_dpdeblur.capture import open_capture

    files = _capture_files(data).get(scene, (data / f"{scene}_left.png",))
    return replace(open_capture(*files), name=scene)


def opened_or_reason(data: Path, scene: str) -> DualPixelCapture | str:
    """The capture of a scene, or why it cannot be opened."""
    try:
        return opened_scene(data, scene)
    except CaptureError as error:
        return str(error)


def central_crop(data: Path, scenes: Sequence[str], calibration: Calibration) -> Crop | None:
    """The part of the calibrated field that the truth shows, if that is only its centre.

    The published scenes come with the truth of a central part of the frame; None: the whole field.
    """
    field = calibration.field
    shape = next(filter(None, (_truth_shape(data, scene) for scene in scenes)), None)
    if shape is None:
        return None
    spare = field.height - shape[0], field.width - shape[1]
    is_centre = min(spare) > 0 and not any(side % 2 for side in spare)
    return (spare[0] // 2, spare[1] // 2, *shape) if is_centre else None


def _truth_shape(data: Path, scene: str) -> tuple[int, int] | None:
    """Height and width of the true image or map of a scene, whichever there is."""
    truth = Truth.read(data, scene)
    if not isinstance(truth.sharp, str):
        return truth.sharp.shape[1], truth.sharp.shape[2]
    if not isinstance(truth.defocus, str):
        return truth.defocus.defocus.shape[0], truth.defocus.defocus.shape[1]
    return None


def _capture_files(data: Path) -> dict[str, tuple[Path, ...]]:
    """Files of each capture by scene name.

    Where the folder itself has no captures, those of its subfolders that have a measured depth,
    named by their folders: `box_001` for `box/001/l.png`.
    """
    from napari_dpdeblur.capture import capture_name, find_captures

    if not data.is_dir():
        raise EvaluationError(f"The data folder {data} does not exist; check the path.")
    found = {capture_name(files): files for files in find_captures(data)}
    if found:
        return found
    with_depth = {path.parent for name in DEPTH_NAMES for path in data.rglob(name)}
    return {
        _folder_name(folder, data): files
        for folder in sorted(with_depth)
        for files in find_captures(folder)[:1]
    }


def _folder_name(folder: Path, data: Path) -> str:
    """The folder below the data, without outer folders that all say the same: `iphone_001`."""
    parts = folder.relative_to(data).parts
    own = parts[-1:] if not parts[-1].isdigit() else parts[-2:]
    return "_".join(own)
