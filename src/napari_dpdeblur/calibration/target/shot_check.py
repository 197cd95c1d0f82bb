"""Quick checks of the captures for a calibration: their number, sizes and what they show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from napari_dpdeblur.calibration.captures import DISCS
from napari_dpdeblur.calibration.sides import FRONT
from napari_dpdeblur.capture import DualPixelCapture, list_captures, open_capture
from napari_dpdeblur.capture.opening import read_capture_header
from napari_dpdeblur.errors import DpDeblurError

# Contrast of a capture: standard deviation of its details relative to the mean light. Discs reach
# 0.3 and more even when they are blurred; a plain screen stays below 0.05.
MIN_DISC_CONTRAST = 0.12
MAX_PLAIN_CONTRAST = 0.12
MAX_BLACK_SHARE = 0.5  # of the light of the white screen; usual are a few percent
DETAIL_SHARE = 0.1  # of the width: what varies more slowly is shading
NOISE_SIGMA_PX = 2.0
WHITE, BLACK, SHEETS = "white", "black", "sheets"


@dataclass(frozen=True)
class ShotCheck:
    """What is known about the captures of one kind, as a short text."""

    text: str
    is_good: bool = True


@dataclass(frozen=True)
class _Look:
    """Number, size in pixels (width, height), mean light and contrast of the captures of a kind."""

    count: int
    size: tuple[int, int]
    light: float
    contrast: float


def check_shots(groups: Mapping[str, Sequence[Path]]) -> dict[str, ShotCheck]:
    """Check files and folders by the names of ``CAPTURE_GROUPS``; groups without any are left out.

    Only headers are read, and the pixels of the first capture of each kind.
    """
    looks: dict[str, _Look] = {}
    checks: dict[str, ShotCheck] = {}
    for name, paths in groups.items():
        if not paths:
            continue
        try:
            looks[name] = _look(paths)
        except DpDeblurError as error:
            checks[name] = ShotCheck(str(error), is_good=False)
    return checks | {name: _check(name, looks) for name in looks}


def _look(paths: Sequence[Path]) -> _Look:
    files = list_captures(paths)
    first = open_capture(*files[0])
    size = _size(first)
    for others in files[1:]:
        header = read_capture_header(*others)
        if (header.shape[-1], header.shape[-2]) != size:
            width, height = header.shape[-1], header.shape[-2]
            raise DpDeblurError(
                f"{header.name} has {width} x {height} px, but {first.name} has {size[0]} x "
                f"{size[1]}; use one camera and one setting."
            )
    return _Look(len(files), size, *_light(first))


def _check(name: str, looks: Mapping[str, _Look]) -> ShotCheck:
    look = looks[name]
    width, height = look.size
    problem = _problem(name, look, looks)
    if problem is not None:
        return ShotCheck(problem, is_good=False)
    plural = "s" * (look.count > 1)
    return ShotCheck(f"{look.count} capture{plural}, {width} x {height} px")


def _problem(name: str, look: _Look, looks: Mapping[str, _Look]) -> str | None:
    """Why captures cannot be of this kind; None if they may be."""
    side, kind = (FRONT, name.removeprefix(FRONT)) if name.startswith(FRONT) else ("", name)
    discs, white, black = (looks.get(side + kind) for kind in (DISCS, WHITE, BLACK))
    if discs is not None and look.size != discs.size:
        return f"{_text(look.size)} px, but the discs have {_text(discs.size)}"
    if kind == DISCS and look.contrast < MIN_DISC_CONTRAST:
        return "show no discs: is this another screen?"
    if kind in (WHITE, SHEETS) and look.contrast > MAX_PLAIN_CONTRAST:
        return "not plain: are these the discs?"
    if kind not in (WHITE, BLACK) or white is None or black is None:
        return None
    if black.light > MAX_BLACK_SHARE * white.light:
        return "black is nearly as bright as white: exchanged?"
    return None


def _size(capture: DualPixelCapture) -> tuple[int, int]:
    return int(capture.shape[-1]), int(capture.shape[-2])


def _light(capture: DualPixelCapture) -> tuple[float, float]:
    """Mean light above black, and the contrast of details in it."""
    light = capture.raw.mean(axis=(0, 1)).astype(np.float32) - np.float32(capture.black)
    mean = float(light.mean())
    box = max(3, round(DETAIL_SHARE * light.shape[1])) | 1
    smooth = cv2.GaussianBlur(light, (0, 0), NOISE_SIGMA_PX)
    shading = cv2.blur(smooth, (box, box), borderType=cv2.BORDER_REPLICATE)
    ratio = smooth / np.maximum(shading, 1e-6 * max(abs(mean), 1.0))
    inside = ratio[box // 2 : -box // 2 or None, box // 2 : -box // 2 or None]
    return mean, float(np.std(inside if inside.size else ratio))


def _text(size: tuple[int, int]) -> str:
    return f"{size[0]} x {size[1]}"
