"""Writers: the run folder from its layers, and single layers for other programs.

napari passes layer data, not layers; what we know about a layer is in its metadata.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.results import export
from napari_dpdeblur.results import write_run as write_run_folder
from napari_dpdeblur.viewer.layers import (
    ALL_IN_FOCUS,
    DEFOCUS_MAP,
    PLACEMENT,
    LayerData,
    info,
    linear_image,
    record_of_layers,
    run_placement,
)


def write_run(path: str, layers: Iterable[LayerData]) -> list[str]:
    """Write the layers of one result as a run folder; layers of other kinds are passed over."""
    chosen = [_layer(*layer[:2]) for layer in layers]
    results = [layer for layer in chosen if "provenance" in info(layer) and _is_result(layer)]
    groups = list(dict.fromkeys(str(info(layer)["group"]) for layer in results))
    if len(groups) > 1:
        raise ResultError(
            f"The chosen layers belong to {len(groups)} results ({', '.join(groups)}); "
            "select the layers of one of them and save again."
        )
    record = record_of_layers(results)
    record = replace(record, provenance=_placed_provenance(record.provenance, results))
    return [str(write_run_folder(record, Path(path)))]


def write_image(path: str, data: Any, attributes: dict[str, Any]) -> list[str]:
    """Write a picture with the sRGB curve as 16-bit PNG or TIFF.

    The upper contrast limit becomes white.
    """
    layer = _ours(data, attributes)
    is_picture = info(layer).get("linear") is not None or np.ndim(data) == 2
    if not is_picture or "unit" in info(layer):
        raise _wrong_writer(attributes, "an image", "the writer for its kind")
    image = linear_image(layer)
    white = float(attributes["contrast_limits"][1]) if image.shape[0] == 1 else None
    return [str(export.write_picture(Path(path), image, white))]


def write_defocus(path: str, data: Any, attributes: dict[str, Any]) -> list[str]:
    """Write a defocus map: its values as TIFF, or the colours of the contrast limits as PNG."""
    if "unit" not in info(_ours(data, attributes)):
        raise _wrong_writer(attributes, f"a {DEFOCUS_MAP}", "the one for images")
    low, high = (float(limit) for limit in attributes["contrast_limits"])
    return [str(export.write_defocus(Path(path), np.asarray(data), (low, high)))]


def write_mpi(path: str, data: Any, attributes: dict[str, Any]) -> list[str]:
    """Write a multiplane image: linear RGBA pages, back to front."""
    stack = info(_ours(data, attributes)).get("mpi")
    if stack is None:
        raise _wrong_writer(attributes, "a multiplane image", "the one for images")
    written = export.write_layer_stack(Path(path), stack.color, stack.alpha, stack.defocus_scales)
    return [str(written)]


def _layer(data: Any, attributes: dict[str, Any]) -> Any:
    known = {key: attributes.get(key) for key in ("scale", "translate")}
    return SimpleNamespace(data=data, metadata=attributes.get("metadata", {}), **known)


def _placed_provenance(provenance: dict[str, Any], layers: list[Any]) -> dict[str, Any]:
    """The provenance, with the place of the layers if it does not follow from the rest."""
    image = next(layer for layer in layers if info(layer)["kind"] == ALL_IN_FOCUS)
    here = {key: tuple(float(v) for v in getattr(image, key)) for key in ("scale", "translate")}
    known = run_placement(provenance)
    if all(np.allclose(here[key], known[key]) for key in here):
        return provenance
    return {**provenance, PLACEMENT: {key: list(values) for key, values in here.items()}}


def _is_result(layer: Any) -> bool:
    return "defocus_scales" in info(layer)


def _ours(data: Any, attributes: dict[str, Any]) -> Any:
    layer = _layer(data, attributes)
    if not info(layer):
        raise ResultError(
            f"The layer {attributes.get('name')} was not made by this plugin; "
            "save it with napari's own writer."
        )
    return layer


def _wrong_writer(attributes: dict[str, Any], wanted: str, remedy: str) -> ResultError:
    name = attributes.get("name")
    return ResultError(f"The layer {name} is not {wanted}; choose {remedy} in the save dialog.")
