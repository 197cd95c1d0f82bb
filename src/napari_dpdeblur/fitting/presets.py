"""The presets of the fit: everything that differs between them, one record each.

Loads neither torch nor pydantic, so that a command line starts quickly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Preset = Literal["standard", "preview", "paper"]
Sides = Literal["both", "behind"]

COMMON_SETTINGS = frozenset(
    {
        "preset",
        "layers",
        "sides",
        "front_scale",
        "back_scale",
        "swap_views",
        "weights",
        "weights.auxiliary",
        "weights.intensity",
        "weights.alpha",
        "bias_correction",
        "guided_filter",
        "smooth_image",
        "device",
        "threads",
        "memory_gb",
        "parameters",
    }
)


class SettingNames(frozenset[str]):
    """Names of settings, such as "weights.entropy" in a group; "weights.*" matches all of it."""

    def __contains__(self, name: object) -> bool:
        if super().__contains__(name):
            return True
        group, dot, _ = str(name).rpartition(".")
        return bool(dot) and super().__contains__(f"{group}.*")


@dataclass(frozen=True)
class MemoryModel:
    """Arrays of the size of one view that a fit holds at once.

    Measured with `benchmarks/robustness_memory.py` and rounded up. ``planes`` are kept for each
    channel; ``working_planes`` are those of the largest stage for each channel that is computed at
    once. While layers are solved, ``layer_planes`` are needed for each layer and channel and
    ``renderer_planes`` for each layer, on the grid of the map if ``is_reduced``. With
    ``has_lazy_layers``, the layers of a large result are computed when they are used.
    """

    planes: int
    working_planes: int
    layer_planes: int = 0
    renderer_planes: int = 0
    is_reduced: bool = True
    has_lazy_layers: bool = True


@dataclass(frozen=True)
class TimeModel:
    """Seconds on one core of a desktop computer for one million pixels.

    For ``steps`` of the setting `steps`, where the time is proportional to it.
    """

    fixed_s: float
    layer_s: float
    steps: int | None = None


@dataclass(frozen=True)
class PresetRecord:
    """One preset: its solver, its stages, its needs, and which settings it uses.

    ``solver`` is "module:function", a generator of events that follows the defocus search.
    ``stages`` are their shares of the run time, in order, the search included.
    """

    name: Preset
    description: str
    solver: str
    stages: Mapping[str, float]
    memory: MemoryModel
    time: TimeModel
    uses: SettingNames
    centres_kernels: bool = True
    sharpens_kernels: bool = True
    stretches_exactly: bool = True
    keeps_interpolated_rows: bool = False


STANDARD = PresetRecord(
    name="standard",
    description="closed form, then layers that explain both views",
    solver="napari_dpdeblur.fitting.stages:standard",
    stages={
        "cost volume": 12.0,
        "defocus map": 4.0,
        "draft image": 5.0,
        "map edges": 4.0,
        "deblur": 11.0,
        "detail": 12.0,
        "refine": 6.0,
        "surfaces": 14.0,
        "layers": 32.0,
    },
    memory=MemoryModel(planes=10, working_planes=12, layer_planes=11, renderer_planes=24),
    time=TimeModel(fixed_s=9.0, layer_s=1.0),
    uses=SettingNames(COMMON_SETTINGS | {"weights.data", "centre_kernels", "blend_px"}),
)

PREVIEW = PresetRecord(
    name="preview",
    description="closed form alone",
    solver="napari_dpdeblur.fitting.stages:preview",
    stages={"cost volume": 50.0, "defocus map": 18.0, "image": 32.0},
    memory=MemoryModel(planes=10, working_planes=12),
    time=TimeModel(fixed_s=5.0, layer_s=0.1),
    uses=SettingNames(COMMON_SETTINGS | {"centre_kernels"}),
)

# Works as published: with interpolated rows, and with the kernels as they were calibrated.
PAPER = PresetRecord(
    name="paper",
    description="the published optimisation",
    solver="napari_dpdeblur.fitting.paper.preset:optimised",
    stages={"cost volume": 0.5, "defocus map": 0.5, "optimise": 99.0},
    memory=MemoryModel(
        planes=40,
        working_planes=0,
        layer_planes=2,
        renderer_planes=17,
        is_reduced=False,
        has_lazy_layers=False,
    ),
    time=TimeModel(fixed_s=2000.0, layer_s=4200.0, steps=10_000),
    uses=SettingNames(COMMON_SETTINGS | {"weights.*", "steps"}),
    centres_kernels=False,
    sharpens_kernels=False,
    stretches_exactly=False,
    keeps_interpolated_rows=True,
)

PRESETS: dict[str, PresetRecord] = {record.name: record for record in (STANDARD, PREVIEW, PAPER)}
