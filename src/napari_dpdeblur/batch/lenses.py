"""Lenses of a batch without a calibration: one for each camera and size, in the output folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from napari_dpdeblur.batch.plan import captures_in
from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.capture import DualPixelCapture, open_capture
from napari_dpdeblur.errors import CalibrationError, CaptureError, DpDeblurError, ResultError

if TYPE_CHECKING:
    from collections.abc import Callable

    from napari_dpdeblur.calibration import Calibration

    # Captures and the file that keeps their lens -> lens
    Estimate = Callable[[list[DualPixelCapture], Path], Calibration]

MAX_CAPTURES = 8  # for one lens: more take longer and add little


@dataclass(frozen=True)
class LensGroup:
    """Captures of one camera and size; ``usable`` are those that the lens can be estimated from."""

    name: str
    captures: tuple[tuple[Path, ...], ...]
    usable: tuple[tuple[Path, ...], ...]

    @property
    def chosen(self) -> list[tuple[Path, ...]]:
        """At most MAX_CAPTURES usable captures, evenly spread."""
        count = min(len(self.usable), MAX_CAPTURES)
        picks = np.linspace(0, len(self.usable) - 1, count).round().astype(int)
        return [self.usable[pick] for pick in picks]

    def lens_file(self, output: Path) -> Path:
        """Where the lens is stored."""
        return output / f"lens_{self.name}.dpcal"


def group_captures(
    given: Iterable[Path], black: float | None = None, white: float | None = None
) -> list[LensGroup]:
    """The captures in the given folders by camera (else format), size and orientation.

    A capture that cannot be opened joins the first group, whose batch reports it.
    """
    found: dict[str, list[tuple[Path, ...]]] = {}
    usable: dict[str, list[tuple[Path, ...]]] = {}
    unreadable: list[tuple[Path, ...]] = []
    problem = "no capture can be opened"
    for files in captures_in(given):
        try:
            capture = open_capture(*files, black=black, white=white)
        except DpDeblurError as error:
            unreadable.append(files)
            problem = str(error)
            continue
        name = _group_name(capture)
        found.setdefault(name, []).append(files)
        if not np.array_equal(capture.raw[0], capture.raw[1]):
            usable.setdefault(name, []).append(files)
    if not found:
        raise CaptureError(problem)
    next(iter(found.values())).extend(unreadable)
    return [LensGroup(n, tuple(files), tuple(usable.get(n, ()))) for n, files in found.items()]


def _group_name(capture: DualPixelCapture) -> str:
    camera = None if capture.optics is None else capture.optics.camera
    words = re.sub(r"[^a-z0-9]+", "_", (camera or capture.source.format).lower()).strip("_")
    _, _, height, width = capture.shape
    turned = "" if capture.orientation == "landscape" else f"_{capture.orientation}"
    return f"{words}_{width}x{round(height * capture.pixel_aspect)}{turned}"


def group_lens(
    group: LensGroup,
    output: Path,
    estimate: Estimate,
    black: float | None = None,
    white: float | None = None,
) -> Path:
    """File of the lens of a group: that of an earlier batch, or estimated now.

    A stored lens is kept when captures are added, so that finished runs stay valid.
    """
    path = group.lens_file(output)
    if path.exists():
        load_calibration(path)  # a damaged file is reported here
        return path
    if path.is_symlink():
        raise CalibrationError(f"{path} is a link to a file that does not exist; delete it.")
    if not group.usable:
        raise CalibrationError(
            f"No lens can be estimated for {group.name}: the two views of each capture are "
            "identical."
        )
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(
            f"The output folder {output} cannot be created: {error.strerror or error}."
        ) from error
    captures = [open_capture(*files, black=black, white=white) for files in group.chosen]
    estimate(captures, path)
    return path


def first_files(captures: Sequence[tuple[Path, ...]]) -> list[Path]:
    """One file of each capture, which stands for its pair."""
    return [files[0] for files in captures]
