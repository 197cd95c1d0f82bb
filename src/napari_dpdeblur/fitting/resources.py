"""What a fit will need, before it runs: memory and time. Loads no torch.

The figures were measured with `benchmarks/robustness_memory.py`; they are rounded up.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting.presets import Preset

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.fitting.settings import FitSettings

PROGRAM_BYTES = 500_000_000  # Python, torch, NumPy, OpenCV
MARGIN = 1.1
SPARE_SHARE = 0.9  # of the available memory that a fit may plan with
FLOAT_BYTES = 4
# Arrays of the size of one view that are alive at once, apart from the layers.
PLANES = {"preview": 20, "standard": 36, "paper": 40}
# Arrays of the size of one view for each layer on the grid of the fit: those that are kept, apart
# from the colours, and those of the renderer, of which `standard` needs one band of rows at a time.
KEPT_PLANES = {"preview": 3, "standard": 2, "paper": 0}
RENDERED_PLANES = {"preview": 0, "standard": 3, "paper": 16}
BAND_PIXELS = 2_600_000  # of a band and its overlap with others
# Seconds on one core of a desktop computer for one million pixels: fixed part, part per layer.
SECONDS = {"preview": (5.0, 0.1), "standard": (9.0, 1.0), "paper": (2000.0, 4200.0)}
START_S = 3.0
THREAD_GAIN = 0.8  # of what another thread could bring


def estimate_memory(
    height: int,
    width: int,
    channels: int = 1,
    layers: int = 12,
    preset: Preset = "standard",
    row_upsampling: int = 1,
) -> int:
    """Largest memory in bytes that a process needs to fit height x width px and save the result.

    ``height`` and ``width`` are of the calibrated field or the crop, in square pixels;
    ``row_upsampling`` as in the capture: interpolated rows are not computed with.
    """
    computed = 1 if preset == "paper" else row_upsampling
    pixels = height * width / computed
    at_once = min(pixels, BAND_PIXELS) if preset == "standard" else pixels
    kept = PLANES[preset] * channels + layers * (channels + KEPT_PLANES[preset])
    result = layers * (2 * channels + 1 if computed > 1 else channels)  # enlarged to square pixels
    floats = pixels * kept + at_once * layers * RENDERED_PLANES[preset] + height * width * result
    return int(MARGIN * (PROGRAM_BYTES + FLOAT_BYTES * floats))


def estimate_time_s(
    height: int,
    width: int,
    channels: int = 1,
    layers: int = 12,
    preset: Preset = "standard",
    row_upsampling: int = 1,
    threads: int | None = None,
) -> float:
    """Rough time of a fit on the CPU, for people to plan with: within a factor of about two."""
    computed = 1 if preset == "paper" else row_upsampling
    megapixels = height * width * channels / computed / 1e6
    fixed, per_layer = SECONDS[preset]
    speed = 1 + THREAD_GAIN * ((threads or usable_threads()) - 1)
    return START_S + megapixels * (fixed + per_layer * layers) / speed


def usable_threads() -> int:
    """Threads that torch will take: OMP_NUM_THREADS, else the cores that this process may use."""
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
    """FitError with the figures and the remedy when a fit of ``name`` would not have enough."""
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
) -> int:
    """:func:`estimate_memory` of a fit that is about to begin."""
    height, width = crop[2:] if crop else (calibration.field.height, calibration.field.width)
    rows = capture.row_upsampling * max(round(capture.pixel_aspect), 1)
    channels = capture.shape[1]
    return estimate_memory(height, width, channels, settings.layers, settings.preset, rows)


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
