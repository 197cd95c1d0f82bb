"""A picture of how a photo overlaps a capture, to check a registration by eye."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from napari_dpdeblur.array_types import FloatArray, Picture
from napari_dpdeblur.capture.photo import Photo
from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.files import atomic_file
from napari_dpdeblur.fitting.photo.alignment import Warp, sampled
from napari_dpdeblur.results.preview import labelled_panels, tone_curve, white_point

PANEL_PX = 640  # longer side of a panel
SQUARES = 8  # of the checkerboard along the longer side
UNSEEN = (40, 40, 48)  # colour of what the photo does not show


def overlap_picture(
    reference: FloatArray, photo: Photo, warp: Warp | None, is_transposed: bool = False
) -> Picture:
    """Capture and photo side by side, and in squares of a checkerboard if they were aligned."""
    capture = tone_curve(reference[None], white_point(reference))
    if warp is None:
        other = tone_curve(photo.pixels, white_point(photo.pixels))
        panels = {"capture": capture, f"photo {photo.name}": other}
    else:
        box = (0, 0, *reference.shape)
        planes = np.stack([sampled(plane, warp, box) for plane in photo.pixels])
        warped = tone_curve(planes, float(np.nanpercentile(planes, 99.7)))
        warped[np.isnan(planes).any(0)] = UNSEEN
        panels = {
            "capture": capture,
            "photo, aligned": warped,
            "squares of both": _checkerboard(capture, warped),
        }
    upright = {n: p.swapaxes(0, 1) if is_transposed else p for n, p in panels.items()}
    return labelled_panels({name: _fitted(picture) for name, picture in upright.items()})


def write_overlap(path: Path, picture: Picture) -> Path:
    """Write the picture as PNG."""
    try:
        with atomic_file(path, follows_link=False) as beside:
            Image.fromarray(picture).save(beside, format="PNG")
    except OSError as error:
        raise ResultError(
            f"{path} cannot be written ({error.strerror or error}); choose another location."
        ) from error
    return path


def _checkerboard(first: Picture, second: Picture) -> Picture:
    height, width = first.shape[:2]
    side = max(max(height, width) // SQUARES, 1)
    rows, cols = np.mgrid[:height, :width] // side
    return np.where(((rows + cols) % 2 == 0)[..., None], first, second)


def _fitted(picture: Picture) -> Picture:
    factor = PANEL_PX / max(picture.shape[:2])
    size = [max(round(side * factor), 1) for side in picture.shape[1::-1]]
    smooth = cv2.INTER_AREA if factor < 1 else cv2.INTER_LINEAR
    resized = cv2.resize(np.ascontiguousarray(picture), size, interpolation=smooth)
    return np.asarray(resized, np.uint8)
