"""The lens of a command: a given calibration, or one that is estimated from the capture."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from napari_dpdeblur.cli.arguments import tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from napari_dpdeblur.array_types import Crop
    from napari_dpdeblur.calibration import Calibration, Field
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.results.known_distances import KnownDistance


def add_lens_argument(parser: argparse.ArgumentParser, otherwise: str) -> None:
    """Add the calibration, which may be left out; ``otherwise`` says what happens then."""
    parser.add_argument(
        "--calibration",
        type=Path,
        metavar="CAL",
        help=f"calibration file or folder (default: {otherwise})",
    )


def add_known_distance_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--known-distance`, at least twice."""
    parser.add_argument(
        "--known-distance",
        action="append",
        default=[],
        type=known_distance_argument,
        metavar="Y,X,METRES",
        help="distance of what is shown at row Y and column X of the result; two or more at "
        "different distances convert the defocus map to metres",
    )


def known_distance_argument(text: str) -> KnownDistance:
    """Parse Y,X,METRES."""
    from napari_dpdeblur.results.known_distances import KnownDistance

    words = text.split(",")
    try:
        row, col, metres = int(words[0]), int(words[1]), float(words[2])
    except (ValueError, IndexError):
        row, col, metres = 0, 0, 0.0
    if len(words) != 3 or not metres > 0:
        raise argparse.ArgumentTypeError(
            f"must be Y,X,METRES: two whole numbers and a distance above 0, not {text!r}"
        )
    return KnownDistance(row, col, metres)


def check_given_distances(
    known: Sequence[KnownDistance],
    capture: DualPixelCapture,
    calibration: Calibration | None,
    crop: Crop | None,
) -> None:
    """Refuse known distances that cannot be used before the long fit, not after it."""
    from napari_dpdeblur.results.known_distances import check_known_distances

    if known:
        field = frame_of(capture) if calibration is None else calibration.field
        check_known_distances(known, crop[2:] if crop else (field.height, field.width))


def frame_of(capture: DualPixelCapture) -> Field:
    """The field of a lens that is estimated from a capture: its whole frame."""
    from napari_dpdeblur.calibration import Field

    height, width = capture.shape[-2:]
    return Field(0, 0, round(height * capture.pixel_aspect), width)


def check_crop(crop: Crop | None, capture: DualPixelCapture) -> None:
    """Refuse a crop outside of the capture before the lens is estimated, not after it."""
    from napari_dpdeblur.errors import CalibrationError

    frame = frame_of(capture)
    if crop is not None and not frame.holds(*crop):
        top, left, height, width = crop
        raise CalibrationError(
            f"The crop of {height} x {width} px at ({top}, {left}) does not lie inside the "
            f"capture of {frame.height} x {frame.width} px."
        )


def given_calibration(path: Path | None) -> Calibration | None:
    """The calibration in a file or folder; None if no path was given."""
    from napari_dpdeblur.calibration import load_calibration

    return None if path is None else load_calibration(path)


def lens_of(
    capture: DualPixelCapture, *, is_quiet: bool, kept: Path | None = None, resume: bool = False
) -> Calibration:
    """The lens estimated from a capture, with notes on stderr."""
    from napari_dpdeblur.fitting.notes import lens_notes

    tell("no calibration was given: estimating the lens from this capture.")
    lens = estimated_lens([capture], is_quiet=is_quiet, kept=kept, resume=resume)
    for note in lens_notes(lens, capture):
        tell(note)
    return lens


def estimated_lens(
    captures: Sequence[DualPixelCapture],
    *,
    is_quiet: bool,
    kept: Path | None = None,
    resume: bool = False,
) -> Calibration:
    """Estimate a lens with a progress bar; ``kept`` as in `lens_events`."""
    from napari_dpdeblur.calibration.kept_estimate import lens_events
    from napari_dpdeblur.generators import finish
    from napari_dpdeblur.progress_bar import progress_bar

    events = lens_events(captures, kept=kept, resume=resume)
    with progress_bar(is_quiet=is_quiet, note="lens") as show:
        return finish(events, show)
