"""Write refocus movies and focus stacks atomically."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
import tifffile
from PIL import Image

from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.files.atomic import atomic_file
from napari_dpdeblur.results.tiff_files import SOFTWARE

MOVIES = (".mp4", ".gif")
STACKS = (".tif", ".tiff")
CODEC = "mp4v"  # MPEG-4 part 2: in every build of OpenCV, unlike H.264


def write_movie(path: Path, frames: Iterable[np.ndarray], fps: float, overwrite: bool) -> Path:
    """Write uint8 frames (H, W) or (H, W, 3) of equal size as .mp4 or .gif."""
    path = _checked(path, MOVIES, "a movie")
    writer = _write_gif if path.suffix.lower() == ".gif" else _write_mp4
    with _appearing(path, overwrite) as beside:
        writer(beside, frames, fps)
    return path


def write_focus_stack(
    path: Path,
    pictures: Iterable[tuple[float, np.ndarray]],
    overwrite: bool,
    **description: object,
) -> Path:
    """Write (focus, linear image (C, H, W)) pairs as float32 pages with their focus."""
    path = _checked(path, STACKS, "a focus stack")
    with _appearing(path, overwrite) as beside, tifffile.TiffWriter(beside, bigtiff=True) as tiff:
        for focus, picture in pictures:
            page = picture[0] if picture.shape[0] == 1 else np.moveaxis(picture, 0, -1)
            text = {"content": "refocused picture", "focus": float(focus), **description}
            tiff.write(
                np.ascontiguousarray(page, np.float32),
                photometric="minisblack" if page.ndim == 2 else "rgb",
                description=json.dumps(text),
                software=SOFTWARE,
                metadata=None,
            )
    return path


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Refuse an existing file before a long computation."""
    if path.exists() and not overwrite:
        raise _already_exists(path)


def _already_exists(path: Path) -> ResultError:
    return ResultError(f"{path} already exists; choose another name.")


def _checked(path: Path, suffixes: tuple[str, ...], what: str) -> Path:
    path = Path(path)
    if path.suffix.lower() not in suffixes:
        known = " or ".join(suffixes)
        raise ResultError(f"{path.name} has the wrong suffix for {what}; use {known}.")
    return path


@contextmanager
def _appearing(path: Path, overwrite: bool) -> Iterator[Path]:
    refuse_existing(path, overwrite)
    try:
        with atomic_file(path, overwrite) as beside:
            yield beside
    except FileExistsError as error:
        raise _already_exists(path) from error
    except OSError as error:
        reason = error.strerror or f"{error}; is the disk full?"
        raise ResultError(
            f"{path} cannot be written ({reason}); free disk space or choose another location."
        ) from error


def _write_gif(path: Path, frames: Iterable[np.ndarray], fps: float) -> None:
    pictures = (Image.fromarray(frame) for frame in frames)
    first = next(pictures)
    duration_ms = round(1000 / fps)
    first.save(
        path, format="GIF", save_all=True, append_images=pictures, duration=duration_ms, loop=0
    )


def _write_mp4(path: Path, frames: Iterable[np.ndarray], fps: float) -> None:
    writer, count = None, 0
    try:
        for frame in frames:
            bgr = _even(frame)
            if writer is None:
                size = (bgr.shape[1], bgr.shape[0])
                writer = _open_writer(path, fps, size)
            writer.write(bgr)
            count += 1
    finally:
        if writer is not None:
            writer.release()
    _check_mp4(path, count)


def _check_mp4(path: Path, count: int) -> None:
    """Read the movie back, because OpenCV does not report a full disk."""
    movie, found = cv2.VideoCapture(str(path)), 0
    while movie.grab():
        found += 1
    movie.release()
    if found != count:
        raise ResultError(
            f"Only {found} of {count} frames of the movie could be written to {path.parent}; "
            "free disk space or choose another location."
        )


def _open_writer(path: Path, fps: float, size: tuple[int, int]) -> cv2.VideoWriter:
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*CODEC), fps, size)
    if not writer.isOpened():
        raise ResultError(
            f"A movie cannot be written to {path.parent} (no space, no permission or no codec); "
            "choose another location or the suffix .gif."
        )
    return writer


def _even(frame: np.ndarray) -> np.ndarray:
    """BGR with even sides, as the codec requires."""
    color = frame[..., ::-1] if frame.ndim == 3 else np.repeat(frame[..., None], 3, axis=-1)
    height, width = (side // 2 * 2 for side in color.shape[:2])
    return np.ascontiguousarray(color[:height, :width])
