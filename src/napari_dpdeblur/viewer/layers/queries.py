"""Queries: captures, calibrations, results and layers in a viewer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.results import Result
from napari_dpdeblur.viewer.layers.convert import result_of_layers
from napari_dpdeblur.viewer.layers.metadata import LayerInfo, kind_of, layer_info

Record = TypeVar("Record")


def unwrapped_viewer(viewer: Any) -> Any:
    """The viewer itself; napari passes a wrapped one to plugin widgets.

    Objects from the wrapped viewer are wrapped, too, and differ each time, so that layers could
    not be compared by identity.
    """
    return getattr(viewer, "__wrapped__", viewer)


def captures(viewer: Any) -> dict[str, DualPixelCapture]:
    """Captures by name, in the order of the layer list.

    Of two captures with one name, the second is called ``name [1]`` as napari does with layers.
    """
    return _named((info.group, info.capture) for _, info in described_layers(viewer))


def calibrations(viewer: Any) -> dict[str, Calibration]:
    """Calibrations by name, in the order of the layer list."""
    kernels = (info for _, info in described_layers(viewer) if info.kind.startswith("kernels"))
    return _named((info.group, info.calibration) for info in kernels)


def results(viewer: Any) -> dict[str, Result]:
    """Complete results by the name of their capture."""
    found = {}
    for group in groups(viewer):
        try:
            found[group] = result_of_layers(group_layers(viewer, group))
        except ResultError:
            continue
    return found


def groups(viewer: Any) -> list[str]:
    """Names of all groups, in the order of the layer list."""
    return list(dict.fromkeys(info.group for _, info in described_layers(viewer)))


def own_layers(viewer: Any) -> list[Any]:
    """Layers that this plugin made."""
    return [layer for layer, _ in described_layers(viewer)]


def described_layers(viewer: Any) -> list[tuple[Any, LayerInfo]]:
    """Layers that this plugin made, each with what is known about it."""
    pairs = ((layer, layer_info(layer)) for layer in viewer.layers)
    return [(layer, info) for layer, info in pairs if info is not None]


def group_layers(viewer: Any, group: str) -> list[Any]:
    """All layers of a group."""
    return [layer for layer, info in described_layers(viewer) if info.group == group]


def layer_of(viewer: Any, group: str, kind: str) -> Any | None:
    """The topmost layer of this kind in a group, or None."""
    matching = [layer for layer in group_layers(viewer, group) if kind_of(layer) == kind]
    return matching[-1] if matching else None


def _named(pairs: Iterable[tuple[str, Record | None]]) -> dict[str, Record]:
    """Each record once, under a unique name; None is passed over."""
    found: dict[str, Record] = {}
    for group, record in pairs:
        if record is None or any(record is known for known in found.values()):
            continue
        name, number = group, 0
        while name in found:
            number += 1
            name = f"{group} [{number}]"
        found[name] = record
    return found
