"""Writers of run folders and of single layers.

napari passes layer data, not layers; the LayerInfo is in its metadata.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from napari.utils.colormaps import ensure_colormap
from napari.utils.notifications import show_info

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.results import Result, export
from napari_dpdeblur.results import write_run as write_run_folder
from napari_dpdeblur.results.result import PLACEMENT
from napari_dpdeblur.viewer.layers.convert import linear_image, result_of_layers
from napari_dpdeblur.viewer.layers.field import FIELD
from napari_dpdeblur.viewer.layers.hygiene import is_preview
from napari_dpdeblur.viewer.layers.metadata import (
    ALL_IN_FOCUS,
    BEFORE,
    TRUE_DEFOCUS,
    TRUE_IMAGE,
    LayerData,
    group_of,
    kind_of,
    layer_info,
)
from napari_dpdeblur.viewer.layers.placement import run_placement

SUFFIX = ".dprun"
TRUTHS = (TRUE_IMAGE, TRUE_DEFOCUS)
PASSING = (BEFORE, FIELD)  # kinds that are made again when they are needed
PALETTE_COLORS = 257  # odd, so that there is a colour for the centre of a diverging colormap


def write_run(path: str, layers: Iterable[LayerData]) -> list[str]:
    """Write the layers of one result as a run folder, with its views and its ground truth.

    Layers that do not belong to it are named in a message.
    """
    chosen = [_layer(*layer[:2]) for layer in layers]
    group = _sole_group(chosen)
    own = [layer for layer in chosen if group_of(layer) == group]
    results = [layer for layer in own if _is_result(layer)]
    result = result_of_layers(results)
    truth = _truth(own)
    result = replace(
        result,
        provenance=_placed_provenance(result.provenance, results),
        capture=_capture(own),
        true_image=truth.get(TRUE_IMAGE),
        true_defocus=truth.get(TRUE_DEFOCUS),
    )
    has_suffix = Path(path).suffix.lower() == SUFFIX  # some dialogs leave it to us
    folder = write_run_folder(result, Path(path if has_suffix else f"{path}{SUFFIX}"))
    kept = [*results, *(layer for layer in own if kind_of(layer) in truth)]
    dropped = [layer.name for layer in chosen if not _is_kept(layer, kept, result)]
    show_info(f"Saved {group} as {folder}.{_named(dropped)}")
    return [str(folder)]


def _is_result(layer: Any) -> bool:
    info = layer_info(layer)
    return info is not None and bool(info.defocus_scales)


def _sole_group(layers: list[Any]) -> str:
    """The group whose result is among the layers; quick looks count only if there is no other."""
    groups = list(dict.fromkeys(group_of(layer) for layer in layers if _is_result(layer)))
    groups = [group for group in groups if not is_preview(group)] or groups
    if len(groups) > 1:
        raise ResultError(
            f"The selected layers belong to {len(groups)} results ({', '.join(groups)}); "
            "select the layers of one of them and save again."
        )
    return groups[0] if groups else ""


def _capture(layers: list[Any]) -> DualPixelCapture | None:
    known = (layer_info(layer) for layer in layers)
    return next((info.capture for info in known if info is not None and info.capture), None)


def _truth(layers: list[Any]) -> dict[str, FloatArray]:
    """Values of the ground truth where the result lies, by the kinds of their layers."""
    image = next(layer for layer in layers if kind_of(layer) == ALL_IN_FOCUS)
    truths = {kind_of(layer): layer for layer in layers if kind_of(layer) in TRUTHS}
    parts = {k: _part_of(linear_image(layer), layer, image) for k, layer in truths.items()}
    known = {kind: part for kind, part in parts.items() if part is not None}
    return {k: part[0] if k == TRUE_DEFOCUS else part for k, part in known.items()}


def _part_of(values: FloatArray, layer: Any, image: Any) -> FloatArray | None:
    """The part (C, H, W) of a layer that lies where the image lies; None if it has other pixels."""
    height, width = np.shape(image.data)[:2]
    if not np.allclose(layer.scale, image.scale):
        return None
    first = (np.asarray(image.translate) - layer.translate) / layer.scale
    top, left = (round(float(value)) for value in first)
    part = values[:, max(top, 0) : top + height, max(left, 0) : left + width]
    return part if part.shape[-2:] == (height, width) else None


def _is_kept(layer: Any, kept: list[Any], result: Result) -> bool:
    """Whether nothing is lost: stored, read from other files again, or made for the screen only."""
    info = layer_info(layer)
    if any(layer is other for other in kept):
        return True
    if info is None:
        return False
    is_view = info.capture is not None and info.capture is result.capture
    is_lens = info.calibration is not None and info.calibration is result.calibration
    return is_view or is_lens or info.kind in PASSING


def _named(dropped: list[str]) -> str:
    if not dropped:
        return ""
    return f" Not part of the result and not saved: {', '.join(dropped)}."


def write_layer(path: str, data: Any, attributes: dict[str, Any]) -> list[str]:
    """Write one layer by its kind: image, defocus map or multiplane image.

    Whatever the dialog offered, a layer is written by its kind, and other layers as napari would:
    several versions of napari choose a writer by the suffix alone.
    """
    layer = _layer(data, attributes)
    info = layer_info(layer)
    if info is None:
        return _written_by_napari(path, data, attributes)
    if info.mpi is not None:
        mpi = info.mpi
        arrays = (mpi.color, mpi.alpha, mpi.defocus_scales, mpi.defocus)
        return [str(export.write_layer_stack(Path(path), *arrays))]
    if info.unit is not None:
        low, high = (float(limit) for limit in attributes["contrast_limits"])
        colors = _palette(attributes["colormap"])
        return [str(export.write_defocus(Path(path), np.asarray(data), (low, high), colors))]
    return [str(_write_picture(path, layer, attributes))]


def _palette(colormap: Any) -> tuple[str, np.ndarray]:
    """Name and colours of a colormap, as napari passes it on: a dict or its name."""
    known = ensure_colormap(colormap)
    colors = known.map(np.linspace(0.0, 1.0, PALETTE_COLORS, dtype=np.float32))
    return str(known.name), np.round(255 * colors[:, :3]).astype(np.uint8)


def _write_picture(path: str, layer: Any, attributes: dict[str, Any]) -> Path:
    """The upper contrast limit becomes white; colour images have none."""
    info = layer_info(layer)
    if np.ndim(layer.data) != 2 and (info is None or info.linear is None):
        raise ResultError(
            f"The layer {attributes.get('name')} has no linear values; "
            "save it with napari's own writer."
        )
    image = linear_image(layer)
    white = float(attributes["contrast_limits"][1]) if image.shape[0] == 1 else None
    return export.write_picture(Path(path), image, white)


def _written_by_napari(path: str, data: Any, attributes: dict[str, Any]) -> list[str]:
    from napari_builtins.io import napari_write_image

    written = napari_write_image(path, data, attributes)
    return [] if written is None else [written]


def _layer(data: Any, attributes: dict[str, Any]) -> Any:
    known = {key: attributes.get(key) for key in ("scale", "translate")}
    name = str(attributes.get("name", ""))
    return SimpleNamespace(data=data, name=name, metadata=attributes.get("metadata", {}), **known)


def _placed_provenance(provenance: dict[str, Any], layers: list[Any]) -> dict[str, Any]:
    """The provenance, with the placement of the layers if it differs from the fitted one."""
    image = next(layer for layer in layers if kind_of(layer) == ALL_IN_FOCUS)
    here = {key: tuple(float(v) for v in getattr(image, key)) for key in ("scale", "translate")}
    known = run_placement(provenance)
    if all(np.allclose(here[key], known[key]) for key in here):
        return provenance
    return {**provenance, PLACEMENT: {key: list(values) for key, values in here.items()}}
