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

from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.results import export
from napari_dpdeblur.results import write_run as write_run_folder
from napari_dpdeblur.results.result import PLACEMENT
from napari_dpdeblur.viewer.layers.convert import linear_image, result_of_layers
from napari_dpdeblur.viewer.layers.metadata import ALL_IN_FOCUS, LayerData, kind_of, layer_info
from napari_dpdeblur.viewer.layers.placement import run_placement

PALETTE_COLORS = 257  # odd, so that there is a colour for the centre of a diverging colormap


def write_run(path: str, layers: Iterable[LayerData]) -> list[str]:
    """Write the layers of one result as a run folder; other layers are ignored."""
    chosen = [_layer(*layer[:2]) for layer in layers]
    known = [(layer, layer_info(layer)) for layer in chosen]
    results = [layer for layer, info in known if info is not None and info.defocus_scales]
    groups = list(dict.fromkeys(info.group for _, info in known if info and info.defocus_scales))
    if len(groups) > 1:
        raise ResultError(
            f"The selected layers belong to {len(groups)} results ({', '.join(groups)}); "
            "select the layers of one of them and save again."
        )
    result = result_of_layers(results)
    result = replace(result, provenance=_placed_provenance(result.provenance, results))
    return [str(write_run_folder(result, Path(path)))]


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
    return SimpleNamespace(data=data, metadata=attributes.get("metadata", {}), **known)


def _placed_provenance(provenance: dict[str, Any], layers: list[Any]) -> dict[str, Any]:
    """The provenance, with the placement of the layers if it differs from the fitted one."""
    image = next(layer for layer in layers if kind_of(layer) == ALL_IN_FOCUS)
    here = {key: tuple(float(v) for v in getattr(image, key)) for key in ("scale", "translate")}
    known = run_placement(provenance)
    if all(np.allclose(here[key], known[key]) for key in here):
        return provenance
    return {**provenance, PLACEMENT: {key: list(values) for key, values in here.items()}}
