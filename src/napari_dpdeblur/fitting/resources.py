"""Memory and time that a fit will need, estimated before it runs. Loads no torch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting.presets import PRESETS, Preset

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.fitting.settings import FitSettings

PROGRAM_BYTES = 500_000_000  # Python, torch, NumPy, OpenCV
MARGIN = 1.1
SPARE_SHARE = 0.9  # of the available memory that a fit may use
FLOAT_BYTES = 4
# Arrays of the size of the result while colours are added: for each layer and besides.
PHOTO_LAYER_PLANES, PHOTO_PLANES = 9, 40
START_S = 3.0
THREAD_GAIN = 0.8  # speed-up of each further thread


def estimate_memory(
    height: int,
    width: int,
    channels: int = 1,
    layers: int = 12,
    preset: Preset = "standard",
    row_upsampling: int = 1,
) -> int:
    """Peak memory in bytes of a fit of height x width px, saving included.

    ``height`` and ``width`` are of the calibrated field or the crop, in square pixels;
    ``row_upsampling`` as in the capture: interpolated rows are left out.
    """
    computed, memory = _computed_rows(preset, row_upsampling), PRESETS[preset].memory
    pixels = height * width / computed
    kept = memory.planes * channels + layers * (channels + memory.layer_planes)
    result = layers * (2 * channels + 1 if computed > 1 else channels)  # enlarged to square pixels
    floats = pixels * kept + pixels * layers * memory.renderer_planes + height * width * result
    return int(MARGIN * (PROGRAM_BYTES + FLOAT_BYTES * floats))


def estimate_time_s(
    height: int,
    width: int,
    channels: int = 1,
    layers: int = 12,
    preset: Preset = "standard",
    row_upsampling: int = 1,
    threads: int | None = None,
    steps: int | None = None,
) -> float:
    """Rough time of a fit on the CPU, right within a factor of about two."""
    computed, time = _computed_rows(preset, row_upsampling), PRESETS[preset].time
    megapixels = height * width * channels / computed / 1e6
    speed = 1 + THREAD_GAIN * ((threads or usable_threads()) - 1)
    seconds = START_S + megapixels * (time.fixed_s + time.layer_s * layers) / speed
    return seconds * steps / time.steps if steps and time.steps else seconds


def _computed_rows(preset: Preset, row_upsampling: int) -> int:
    """Rows of the result for each row of the fit."""
    return 1 if PRESETS[preset].keeps_interpolated_rows else row_upsampling


def usable_threads() -> int:
    """Threads that torch will use: OMP_NUM_THREADS, else the cores available to this process."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_memory() -> int:
    """Bytes that can be used without swapping, within the limit of a container or batch job."""
    available = int(psutil.virtual_memory().available)
    limit = _group_limit()
    if limit is None:
        return available
    return max(min(available, limit - int(psutil.Process().memory_info().rss)), 0)


def require_memory(need_bytes: int, name: str) -> None:
    """Raise FitError, with figures and remedy, if there is not enough memory for a fit."""
    free = available_memory()
    if need_bytes > SPARE_SHARE * free:
        raise FitError(
            f"The fit of {name} needs about {need_bytes / 1e9:.1f} GB of memory, but only "
            f"{free / 1e9:.1f} GB are free; fit a crop, use fewer layers or close other programs."
        )


def memory_of(
    capture: DualPixelCapture,
    calibration: Calibration,
    settings: FitSettings,
    crop: tuple[int, int, int, int] | None = None,
    has_photo: bool = False,
) -> int:
    """:func:`estimate_memory` of a fit that is about to start."""
    height, width = crop[2:] if crop else (calibration.field.height, calibration.field.width)
    rows = capture.row_upsampling * max(round(capture.pixel_aspect), 1)
    channels = capture.shape[1]
    need = estimate_memory(height, width, channels, settings.planes, settings.preset, rows)
    # While colours are added, what the fit itself needed is free again, but for its result.
    return max(need, photo_memory(height, width, settings.planes)) if has_photo else need


def photo_memory(height: int, width: int, layers: int) -> int:
    """Peak memory in bytes of colouring a result of height x width px."""
    planes = layers * PHOTO_LAYER_PLANES + PHOTO_PLANES
    return int(MARGIN * (PROGRAM_BYTES + FLOAT_BYTES * height * width * planes))


def _group_limit(
    groups: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> int | None:
    """The memory limit of the control group on Linux (containers, Slurm), None without one."""
    try:
        inside = groups.read_text().strip().rpartition("::")[2].lstrip("/")
        folders = [root / inside, *(root / inside).parents]
        found = [(folder / "memory.max") for folder in folders if folder.is_relative_to(root)]
        limits = [path.read_text().strip() for path in found if path.exists()]
    except OSError:
        return None
    return min((int(limit) for limit in limits if limit.isdigit()), default=None)
