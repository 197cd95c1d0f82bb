"""What this plugin knows about a layer: a LayerInfo in ``layer.metadata["dpdeblur"]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from napari_dpdeblur.array_types import AnyFloatArray, FloatArray
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.optics.mpi import MultiplaneImage
    from napari_dpdeblur.results.refocus.renderer import Shot

LayerData = tuple[Any, dict[str, Any], str]  # data, options and type, as napari defines it

KEY = "dpdeblur"
LEFT, RIGHT = "left view", "right view"
ALL_IN_FOCUS, DEFOCUS_MAP, CONFIDENCE, MPI = "all-in-focus", "defocus map", "confidence", "mpi"
COLOR_FILLED, OVERLAP = "filled colours", "photo overlap"
TRUE_IMAGE, TRUE_DEFOCUS = "true all-in-focus", "true defocus map"
BEFORE = "before"  # the capture over its result, while both are compared


@dataclass(frozen=True, eq=False)
class LayerInfo:
    """Kind and group of a layer, and what else it carries.

    All layers of a capture, its result and its truth share a ``group``: the capture's name.
    """

    kind: str
    group: str
    capture: DualPixelCapture | None = None
    calibration: Calibration | None = None
    calibration_path: str | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    run_folder: str | None = None
    opened_from: tuple[str, ...] = ()  # files that were given to the reader
    linear: FloatArray | None = None  # (C, H, W), where the layer shows bytes
    mpi: MultiplaneImage | None = None
    defocus_scales: tuple[float, ...] = ()
    unit: str | None = None  # of a defocus map; asks for a colour bar
    channel: str | None = None  # of the multiplane image that the layer shows
    shot: Shot | None = None  # of a refocused image
    is_full_size: bool = True  # or a preview
    centres: AnyFloatArray | None = None  # (N, 2): row, column of the detected discs
    deviations_px: AnyFloatArray | None = None  # (N, 2): row, column
    compared: tuple[str, ...] = ()  # names of the two layers behind an error map
    scores: dict[str, float] = field(default_factory=dict)


def layer_info(layer: Any) -> LayerInfo | None:
    """What we know about a layer, or about layer data; None if the layer is not ours."""
    metadata = layer[1].get("metadata") if isinstance(layer, tuple) else layer.metadata
    known = metadata.get(KEY) if isinstance(metadata, Mapping) else None
    return known if isinstance(known, LayerInfo) else None


def set_layer_info(layer: Any, info: LayerInfo) -> None:
    """Attach ``info`` to a layer or to layer data; metadata of other plugins stay."""
    if isinstance(layer, tuple):
        layer[1]["metadata"] = {**layer[1].get("metadata", {}), KEY: info}
    else:
        layer.metadata = {**layer.metadata, KEY: info}


def kind_of(layer: Any) -> str:
    """The kind of a layer; empty if the layer is not ours."""
    info = layer_info(layer)
    return "" if info is None else info.kind


def group_of(layer: Any) -> str:
    """The group of a layer; empty if the layer is not ours."""
    info = layer_info(layer)
    return "" if info is None else info.group
