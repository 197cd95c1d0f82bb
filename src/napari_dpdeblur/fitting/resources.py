"""Memory and time that a fit will need, estimated before it runs. Loads no torch."""

from __future__ import annotations

import math
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

PROGRAM_BYTES = 550_000_000  # Python, torch, NumPy, OpenCV
MARGIN = 1.1
SPARE_SHARE = 0.9  # of the available memory that a fit may use
LARGEST_BUDGET_BYTES = 6_000_000_000  # of a fit that was not given more
LAYER_SHARE = 0.2  # of the budget: layers of a result that need more are computed when used
WRITTEN_LAYERS = 2  # such layers that are in memory while they are written
DECONVOLUTION_SHARE = 0.25  # of the budget that a deconvolution of all channels may take
DECONVOLUTION_VIEWS = 4  # its memory, in that of both views
MAP_PITCH_PX, MAX_MAP_PIXELS = 2, 1_500_000  # defaults of the parameters of the map's edges
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
    budget_bytes: int = LARGEST_BUDGET_BYTES,
) -> int:
    """Peak memory in bytes of a fit of height x width px, saving included.

    ``height`` and ``width`` are of the calibrated field or the crop, in square pixels;
    ``row_upsampling`` as in the capture: interpolated rows are left out. With a smaller budget a
    fit works in smaller parts.
    """
    memory, size = PRESETS[preset].memory, height * width
    pixels = size / _computed_rows(preset, row_upsampling)
    at_once = channels if all_channels_fit(int(2 * channels * pixels), budget_bytes) else 1
    grid = map_pixels(size) if memory.is_reduced else pixels
    layer_planes = memory.renderer_planes + memory.layer_planes * channels
    solving = max(pixels * memory.working_planes * at_once, grid * layers * layer_planes)
    result = layers * size * (channels + 2)
    if FLOAT_BYTES * result > LAYER_SHARE * budget_bytes and memory.has_lazy_layers:
        result = WRITTEN_LAYERS * size * (channels + 2)
    floats = pixels * memory.planes * channels + max(solving, result)
    return int(MARGIN * (PROGRAM_BYTES + FLOAT_BYTES * floats))


def all_channels_fit(view_values: int, budget_bytes: int) -> bool:
    """Whether views of this many values may be deconvolved at once, not channel by channel."""
    return DECONVOLUTION_VIEWS * FLOAT_BYTES * view_values <= DECONVOLUTION_SHARE * budget_bytes


def map_pixels(pixels: float) -> float:
    """Pixels of the map and of the layers that are solved, for a frame of so many pixels."""
    grid = pixels / MAP_PITCH_PX**2
    while grid > MAX_MAP_PIXELS:
        grid /= 4
    return grid


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


def memory_budget(memory_gb: float | None) -> int:
    """Bytes that a fit may use: as given, else what is free, at most 6 GB."""
    if memory_gb is not None:
        return int(memory_gb * 1e9)
    return min(int(SPARE_SHARE * available_memory()), LARGEST_BUDGET_BYTES)


def require_memory(need_bytes: int, name: str, memory_gb: float | None = None) -> None:
    """Raise FitError, with figures and remedy, if there is not enough memory for a fit.

    ``memory_gb`` is the setting of that name.
    """
    if memory_gb is not None and need_bytes > memory_gb * 1e9:
        enough = math.ceil(need_bytes / 1e8) / 10
        raise FitError(
            f"The fit of {name} needs {enough:.1f} GB of memory, but memory_gb is {memory_gb:g}; "
            f"set it to {enough:.1f} or fit a crop."
        )
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
    """:func:`estimate_memory` of a fit that is about to start.

    If it exceeds the setting `memory_gb`, it is the smallest that would do.
    """
    height, width = crop[2:] if crop else (calibration.field.height, calibration.field.width)
    rows = capture.row_upsampling * max(round(capture.pixel_aspect), 1)
    sizes = (height, width, capture.shape[1], settings.planes, settings.preset, rows)
    budget_bytes = memory_budget(settings.memory_gb)
    need_bytes = estimate_memory(*sizes, budget_bytes)
    while budget_bytes < need_bytes:
        budget_bytes, need_bytes = need_bytes, estimate_memory(*sizes, need_bytes)
    # While colours are added, what the fit itself needed is free again, but for its result.
    photo_bytes = photo_memory(height, width, settings.planes) if has_photo else 0
    return max(need_bytes, photo_bytes)


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
