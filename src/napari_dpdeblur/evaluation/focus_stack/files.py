"""Read the slices of a focus stack, and write ground truth in the published layout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from napari_dpdeblur.errors import EvaluationError, shortened
from napari_dpdeblur.evaluation.baselines.external import SUFFIXES
from napari_dpdeblur.evaluation.focus_stack.fusion import StackTruth
from napari_dpdeblur.evaluation.ground_truth import defocus_path, load_picture, sharp_path
from napari_dpdeblur.files.atomic import write_atomically
from napari_dpdeblur.files.destination import place_problem

LOWEST_CONFIDENT = 1  # of 255: 0 means no confidence


def find_slices(paths: Sequence[Path]) -> list[Path]:
    """The given files, or those of a folder sorted by name."""
    if len(paths) == 1 and paths[0].is_dir():
        return sorted(p for p in paths[0].iterdir() if p.suffix.lower() in SUFFIXES)
    return list(paths)


def read_slices(paths: Sequence[Path]) -> npt.NDArray[np.float32]:
    """Read all slices: (S, C, H, W), linear."""
    slices: list[npt.NDArray[np.float32]] = []
    for path in paths:
        image = load_picture(path, "slice")
        if slices and image.shape != slices[0].shape:
            raise EvaluationError(
                f"The slice {path} has shape {image.shape}, but the first one has "
                f"{slices[0].shape}; all slices of a stack must have the same size."
            )
        slices.append(image)
    if not slices:
        raise EvaluationError("No slices were given; specify the images from near to far.")
    return np.stack(slices)


def check_truth(folder: Path, name: str, overwrite: bool = False) -> None:
    """Refuse ground truth that :func:`write_truth` could not write, before it is computed."""
    if not name or Path(name).name != name:
        raise EvaluationError(f"{name!r} is not a valid scene name; use a name such as 001.")
    for path in (sharp_path(folder, name), defocus_path(folder, name)):
        problem = place_problem(path)
        if problem is not None:
            raise EvaluationError(
                f"The ground truth {shortened(path)} cannot be written because {problem}; choose "
                "another folder or name."
            )
        if path.exists() and not overwrite:
            raise EvaluationError(
                f"The ground truth {path} already exists; choose another name or enable "
                "overwriting."
            )


def write_truth(truth: StackTruth, folder: Path, name: str, overwrite: bool = False) -> list[Path]:
    """Write the sharp image (16 bits) and the defocus map (8 bits); returns their paths."""
    check_truth(folder, name, overwrite)
    sharp = np.round(np.clip(np.moveaxis(truth.all_in_focus, 0, -1), 0, 1) * 65535)
    shown = LOWEST_CONFIDENT + np.round(truth.defocus * (255 - LOWEST_CONFIDENT))
    contents: dict[Path, npt.NDArray[np.integer]] = {
        sharp_path(folder, name): sharp[..., ::-1].astype(np.uint16),
        defocus_path(folder, name): np.where(truth.confidence > 0, shown, 0).astype(np.uint8),
    }
    try:
        for path, pixels in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, cv2.imencode(".png", pixels)[1].tobytes(), overwrite)
    except FileExistsError as error:
        raise EvaluationError(
            f"The ground truth {error.filename} already exists; choose another name or enable "
            "overwriting."
        ) from error
    except OSError as error:
        raise EvaluationError(
            f"The ground truth in {folder} cannot be written: {error.strerror or error}."
        ) from error
    return list(contents)
