"""The captures of a calibration, by side of the focus plane, and how bursts are merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from napari_dpdeblur.calibration.sides import BEHIND, FRONT, IN_FRONT
from napari_dpdeblur.capture import DualPixelCapture, merge_captures
from napari_dpdeblur.errors import CalibrationError

DISCS = "discs"
# Names of the kinds of captures on the command line, in the window and in the provenance.
CAPTURE_GROUPS = (DISCS, "white", "black", "sheets", "front_discs", "front_white", "front_black")
STILL_PX = 0.15  # smaller shifts are averaged without alignment
# A shift between the views smaller than this, or a weaker correlation, does not tell the side.
MIN_SHIFT_PX = 0.3
MIN_CORRELATION = 0.3
BACKGROUND_SHARE = 0.1  # of the width: brightness that varies more slowly is not the pattern


@dataclass(frozen=True, eq=False)
class TargetSet:
    """Captures of the discs (one or a burst), the white and the black screen, at one distance."""

    discs: Sequence[DualPixelCapture]
    white: Sequence[DualPixelCapture]
    black: Sequence[DualPixelCapture]


@dataclass(frozen=True, eq=False)
class Captures:
    """Captures of the target behind the focus plane, white sheets, and the target in front of it.

    One set alone may be from either side and serves both; ``side`` says which one it is from.
    ``front`` is an optional second set.
    """

    discs: Sequence[DualPixelCapture]
    white: Sequence[DualPixelCapture]
    black: Sequence[DualPixelCapture]
    sheets: Sequence[DualPixelCapture] = ()
    front: TargetSet | None = None
    side: str = BEHIND

    @property
    def sets(self) -> dict[str, TargetSet]:
        """The sets by the side that they were given for."""
        sets = {BEHIND: TargetSet(self.discs, self.white, self.black)}
        return sets if self.front is None else {**sets, IN_FRONT: self.front}

    @classmethod
    def of(cls, groups: Mapping[str, Sequence[DualPixelCapture]]) -> Captures:
        """The captures by the names of ``CAPTURE_GROUPS``.

        Those of the front may be empty; if they are the only ones, they serve both sides.
        """
        discs, white, black, sheets, *in_front = (groups[name] for name in CAPTURE_GROUPS)
        if any(in_front) and not any((discs, white, black)):
            return cls(in_front[0], in_front[1], in_front[2], sheets, side=IN_FRONT)
        front = TargetSet(*in_front) if any(in_front) else None
        return cls(discs, white, black, sheets, front)

    @property
    def groups(self) -> dict[str, Sequence[DualPixelCapture]]:
        """The captures by the names of ``CAPTURE_GROUPS``, without a front that is missing."""
        groups = {"discs": self.discs, "white": self.white, "black": self.black}
        front = {} if self.front is None else vars(self.front)
        return groups | {"sheets": self.sheets} | {FRONT + name: g for name, g in front.items()}


@dataclass(frozen=True, eq=False)
class MergedSet:
    """One merged capture of each kind, of one side of the focus plane."""

    discs: DualPixelCapture
    white: DualPixelCapture
    black: DualPixelCapture
    notes: tuple[str, ...] = ()


def merge_burst(captures: Sequence[DualPixelCapture], what: str) -> DualPixelCapture:
    """Merge several captures of the same thing; discs are aligned if the camera moved."""
    if not captures:
        raise CalibrationError(f"No capture of the {what} was given; at least one is required.")
    return merge_captures(captures, align=what.startswith(DISCS) and _moved(captures))


def _moved(captures: Sequence[DualPixelCapture]) -> bool:
    """Whether any capture is shifted against the first one, by phase correlation."""
    first, *others = (c.raw.mean(axis=(0, 1)).astype(np.float32) for c in captures)
    if any(other.shape != first.shape for other in others):
        return False  # merging reports the one that differs
    window = cv2.createHanningWindow(first.shape[::-1], cv2.CV_32F)
    shifts = np.array([cv2.phaseCorrelate(first, other, window)[0] for other in others])
    return bool((np.abs(shifts) > STILL_PX).any())


def check_same_camera(merged: Mapping[str, MergedSet]) -> None:
    """Raise CalibrationError if the sets differ in the size or orientation of their captures."""
    first, *others = (kinds.discs for kinds in merged.values())
    for other in others:
        if (other.shape, other.orientation) != (first.shape, first.orientation):
            raise CalibrationError(
                f"The discs {first.name} ({first.shape[3]} x {first.shape[2]} px, "
                f"{first.orientation}) behind the focus plane and {other.name} ({other.shape[3]} x "
                f"{other.shape[2]} px, {other.orientation}) in front of it differ in size or "
                "orientation; use the same camera and settings for both sets."
            )


def check_one_side(discs: Sequence[DualPixelCapture]) -> None:
    """Raise CalibrationError if captures of the discs lie on different sides of the focus plane."""
    shifts = [view_shift_px(capture) for capture in discs] if len(discs) > 1 else []
    known = [(shift, c.name) for shift, c in zip(shifts, discs, strict=False) if shift is not None]
    behind = [name for shift, name in known if shift < 0]
    in_front = [name for shift, name in known if shift > 0]
    if behind and in_front:
        few, side, other = (behind, BEHIND, IN_FRONT)
        if len(in_front) <= len(behind):
            few, side, other = (in_front, IN_FRONT, BEHIND)
        raise CalibrationError(
            f"The capture {few[0]} of the discs was made with the target {side} the focus plane, "
            f"but others of the same set {other} it; give the captures of each side as a set of "
            "their own."
        )


def check_two_sides(disparities_px: Mapping[str, float | None]) -> None:
    """Raise CalibrationError if the disparities of two sets contradict the sides given for them."""
    behind, in_front = disparities_px.get(BEHIND), disparities_px.get(IN_FRONT)
    if behind is None or in_front is None or (behind < 0 < in_front):
        return
    if in_front < 0 < behind:
        raise CalibrationError(
            "The two sets of captures are exchanged: the views show that the target of the first "
            "one was in front of the focus plane and that of the front set behind it; exchange "
            "them, or left and right in all captures if those are swapped."
        )
    side = BEHIND if behind < 0 else IN_FRONT
    raise CalibrationError(
        f"Both sets of captures were made with the target {side} the focus plane (disparities of "
        f"{behind:.1f} and {in_front:.1f} px); capture one set on each side, with the same focus."
    )


def view_shift_px(capture: DualPixelCapture) -> float | None:
    """Shift of the left view against the right one along x; None if it is not clear.

    Negative behind the focus plane, as the disparity of the kernels. The peak of the correlation
    along the rows, summed over all rows.
    """
    left, right = (_details(view) for view in capture.raw.mean(axis=1))
    width = left.shape[1]
    spectra = [np.fft.rfft(view, 2 * width, axis=1) for view in (left, right)]
    correlation = np.fft.irfft((spectra[0] * spectra[1].conj()).sum(axis=0), 2 * width)
    reach = width // 4
    near = np.roll(correlation, reach)[: 2 * reach + 1]
    peak = int(near[1:-1].argmax()) + 1
    energy = float(np.sqrt((left**2).sum() * (right**2).sum()))
    if near[peak] <= MIN_CORRELATION * energy:
        return None
    before, here, after = near[peak - 1 : peak + 2]
    shift = peak - reach + 0.5 * (before - after) / min(before - 2 * here + after, -1e-12)
    return float(shift) if abs(shift) >= MIN_SHIFT_PX else None


def _details(view: np.ndarray) -> np.ndarray:
    """A view (H, W) without slow variations along the rows, such as vignetting."""
    values = np.asarray(view, np.float32)
    box = (max(3, round(BACKGROUND_SHARE * values.shape[1])) | 1, 1)
    return np.asarray(values - cv2.blur(values, box, borderType=cv2.BORDER_REPLICATE))
