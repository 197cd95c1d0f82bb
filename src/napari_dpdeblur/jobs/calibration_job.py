"""Calibration jobs: compute one from captures, estimate, read or download one."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.calibration.estimate.settings import EstimateSettings
from napari_dpdeblur.calibration.events import CalibrationEvent
from napari_dpdeblur.calibration.solve.settings import SolveSettings
from napari_dpdeblur.calibration.target.pattern import Target, load_target
from napari_dpdeblur.capture import DualPixelCapture, list_captures, open_capture
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.generators import translated
from napari_dpdeblur.jobs.messages import Message, Progress

MAKE = f"{__name__}:make"
READ = f"{__name__}:read"
FETCH = f"{__name__}:fetch_published"
ESTIMATE = f"{__name__}:estimate"


@dataclass(frozen=True)
class CalibrationRequest:
    """Files or folders of the captures, the target (or its file), settings and metadata.

    The captures in front of the focus plane are optional.
    """

    discs: Sequence[Path]
    white: Sequence[Path]
    black: Sequence[Path]
    sheets: Sequence[Path]
    target: Target | Path
    settings: SolveSettings = field(default_factory=SolveSettings)
    camera: str = "unknown camera"
    focus_distance_m: float | None = None
    front_discs: Sequence[Path] = ()
    front_white: Sequence[Path] = ()
    front_black: Sequence[Path] = ()


@dataclass(frozen=True)
class EstimateRequest:
    """Files or folders of ordinary captures of one camera, settings and metadata.

    ``optics`` are arguments of `DualPixelCapture.with_optics`. ``start`` is a calibration to adapt.
    """

    captures: Sequence[Path]
    settings: EstimateSettings = field(default_factory=EstimateSettings)
    camera: str | None = None
    optics: Mapping[str, float | None] = field(default_factory=dict)
    start: Calibration | None = None


def estimate(request: EstimateRequest) -> Generator[Message, None, Calibration]:
    """Open the captures and estimate the lens; an interrupted estimate is resumed."""
    yield Progress("loading", 0, 1, 0.0)
    from napari_dpdeblur.calibration.kept_estimate import forget_lens
    from napari_dpdeblur.jobs.lens_job import cached_lens, lens_steps

    opened = yield from _opened(request.captures)
    captures = [c.with_optics(**request.optics, camera=request.camera) for c in opened]
    kept = cached_lens(captures, request.settings, request.start)
    lens = yield from lens_steps(captures, request.settings, request.start, kept)
    forget_lens(kept)
    return replace(lens, camera=request.camera or lens.camera)


def make(request: CalibrationRequest) -> Generator[Message, None, Calibration]:
    """Open the captures and calibrate."""
    yield Progress("loading", 0, 1, 0.0)
    from napari_dpdeblur.calibration.captures import CAPTURE_GROUPS, Captures
    from napari_dpdeblur.calibration.run import Camera, calibration_events

    target = request.target
    if not isinstance(target, Target):
        target = load_target(target)
    groups = {}
    for name in CAPTURE_GROUPS:
        groups[name] = yield from _opened(getattr(request, name))
    frame = _square_size(groups["discs"])
    events = calibration_events(
        Captures.of(groups),
        target,
        request.settings,
        Camera(request.camera, request.focus_distance_m),
    )

    def told(event: CalibrationEvent) -> Progress:
        found: dict[str, Any] = {}
        if event.thumbnail is not None and event.discs is not None:
            found = {"thumbnail": event.thumbnail, "discs": event.discs, "frame_shape": frame}
        return Progress(event.stage, event.step, event.total, event.fraction, found=found)

    return (yield from translated(events, told))


def _square_size(captures: Sequence[DualPixelCapture]) -> tuple[int, int]:
    """Height and width of the frame in square pixels."""
    if not captures:
        return 1, 1  # the calibration itself reports what is missing
    height, width = captures[0].shape[-2:]
    return round(height * captures[0].pixel_aspect), width


def _opened(paths: Sequence[Path]) -> Generator[Message, None, list[DualPixelCapture]]:
    """Open every capture in the files and folders, without duplicates."""
    for path in paths:
        if not path.exists():
            raise CalibrationError(f"{path} no longer exists; remove it from the list.")
    opened = []
    for files in list_captures(paths):
        yield Progress(f"loading {files[0].name}", 0, 1, 0.0)
        opened.append(open_capture(*files))
    return opened


def read(path: Path) -> Generator[Message, None, Calibration]:
    """Read a calibration file or the published folder."""
    yield Progress("loading", 0, 1, 0.0)
    return load_calibration(path)


def fetch_published(request: None) -> Generator[Message, None, Calibration]:
    """Download the published Pixel 4 calibration, if necessary, and read it."""
    from napari_dpdeblur.datasets.pixel4 import calibration_folder, fetch_steps

    for done, total, name in fetch_steps(scenes=[]):
        yield Progress(f"fetching {name}", done + 1, total, done / (total + 1))
    return load_calibration(calibration_folder())
