"""Records to napari layers and back.

Every layer of ours carries ``layer.metadata["dpdeblur"]``: a dict with ``kind`` (below), ``group``
(the capture's name, shared by everything that belongs together) and, where it applies,
``capture``, ``calibration``, ``provenance``, ``defocus_scales``, ``run_folder``, ``linear`` and
``mpi``.

What a layer holds:

- one channel: the linear values themselves, float32 in the capture's unit, with contrast limits
  and gamma for a natural look, so that the cursor reads measured values;
- three channels: bytes with the sRGB curve, because napari shows colours as they are; the linear
  values (C, H, W) are ``metadata["dpdeblur"]["linear"]``;
- the multiplane image: RGBA bytes (L, H, W, 4) with the sRGB curve, straight alpha, back to
  front; the linear layers are ``metadata["dpdeblur"]["mpi"]``, a :class:`MultiplaneImage`.

World coordinates are square pixels of the whole frame: a capture with pixels twice as high as
wide has ``scale`` (2, 1), and a result lies where the calibrated field lies in the frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results import Result
from napari_dpdeblur.results.export import display_values, srgb_bytes
from napari_dpdeblur.results.preview import white_point
from napari_dpdeblur.results.result import PLACEMENT
from napari_dpdeblur.viewer.shared.preferences import preference

LayerData = tuple[Any, dict[str, Any], str]

KEY = "dpdeblur"
LEFT, RIGHT = "left view", "right view"
ALL_IN_FOCUS, DEFOCUS_MAP, CONFIDENCE, MPI = "all-in-focus", "defocus map", "confidence", "mpi"
TRUE_IMAGE, TRUE_DEFOCUS = "true all-in-focus", "true defocus map"
# How the kinds appear in the names of layers, where they differ.
_WORDS = {LEFT: "left", RIGHT: "right", MPI: "MPI"}

GAMMA = 1 / 2.2
DEFOCUS_UNIT = "1 = calibrated blur"
UNITS = ("pixel", "pixel")


def info(layer: Any) -> dict[str, Any]:
    """What this plugin knows about a layer; empty for layers of others."""
    known = layer.metadata.get(KEY)
    return known if isinstance(known, dict) else {}


def layer_name(group: str, kind: str) -> str:
    """The name of the layer of this kind."""
    return f"{group} {_WORDS.get(kind, kind)}"


def capture_layers(capture: DualPixelCapture, group: str | None = None) -> list[LayerData]:
    """Both views, right below left."""
    group = group or capture.name
    white = white_point(capture.views)
    placed = capture_placement(capture)
    known = {"capture": capture, "provenance": {"capture": _described(capture)}}
    return [
        picture_layer(capture.views[side], group, kind, placed, white, known)
        for side, kind in ((1, RIGHT), (0, LEFT))
    ]


def run_layers(result: Result, group: str | None = None) -> list[LayerData]:
    """All layers of a result, bottom to top: all-in-focus image, defocus map, confidence, MPI.

    Only the first is visible, so that one click on the eye of another shows that one. Place and
    name come from the provenance: a result looks the same after it was written and read.
    """
    group = group or result.name
    known = {
        "provenance": result.provenance,
        "defocus_scales": [float(scale) for scale in result.defocus_scales],
        "run_folder": None if result.run_folder is None else str(result.run_folder),
        "calibration": result.calibration,
    }
    known = {key: value for key, value in known.items() if value is not None}
    placed = run_placement(result.provenance)
    white = white_point(result.all_in_focus)
    return [
        picture_layer(result.all_in_focus, group, ALL_IN_FOCUS, placed, white, known),
        hidden(defocus_layer(result.defocus_map, group, placed, known, limits=_range(result.mpi))),
        hidden(confidence_layer(result.confidence, group, placed, known)),
        hidden(mpi_layer(result.mpi, group, placed, white, known)),
    ]


def hidden(layer: LayerData) -> LayerData:
    """The same layer, not visible."""
    data, options, layer_type = layer
    return data, {**options, "visible": False}, layer_type


def picture_layer(
    image: np.ndarray,
    group: str,
    kind: str,
    placed: Mapping[str, Any],
    white: float | None = None,
    known: Mapping[str, Any] | None = None,
) -> LayerData:
    """A linear image (C, H, W); ``white`` is the value that is shown as white."""
    white = white_point(image) if white is None else white
    if image.shape[0] == 3:
        known = {**(known or {}), "linear": image}
        return make_layer(
            display_values(image, white, np.uint8), group, kind, placed, known, rgb=True
        )
    limits = (0.0, max(white, 1e-6))
    return make_layer(image[0], group, kind, placed, known, contrast_limits=limits, gamma=GAMMA)


def defocus_layer(
    defocus_map: np.ndarray,
    group: str,
    placed: Mapping[str, Any],
    known: Mapping[str, Any] | None = None,
    limits: tuple[float, float] | None = None,
    kind: str = DEFOCUS_MAP,
) -> LayerData:
    """A defocus map (H, W) in perceptually even colours."""
    if limits is None:
        limits = (float(np.nanmin(defocus_map)), float(np.nanmax(defocus_map)))
    limits = (limits[0], max(limits[1], limits[0] + 1e-6))
    known = {**(known or {}), "unit": DEFOCUS_UNIT}
    look = {"colormap": preference("defocus_colormap"), "contrast_limits": limits}
    return make_layer(defocus_map, group, kind, placed, known, **look)


def confidence_layer(
    confidence: np.ndarray,
    group: str,
    placed: Mapping[str, Any],
    known: Mapping[str, Any] | None = None,
) -> LayerData:
    """Confidence (H, W), 0 to 1."""
    look = {"colormap": "magma", "contrast_limits": (0.0, 1.0)}
    return make_layer(confidence, group, CONFIDENCE, placed, known, **look)


def mpi_layer(
    stack: MultiplaneImage,
    group: str,
    placed: Mapping[str, Any],
    white: float,
    known: Mapping[str, Any] | None = None,
) -> LayerData:
    """The multiplane image as one RGBA stack whose slider walks from back to front."""
    known = {
        **(known or {}),
        "mpi": stack,
        "defocus_scales": [float(scale) for scale in stack.defocus_scales],
    }
    deep = {
        "scale": (1.0, *placed["scale"]),
        "translate": (0.0, *placed["translate"]),
        "units": ("pixel", *UNITS),
        "axis_labels": ("layer", *placed["axis_labels"]),
    }
    return make_layer(display_stack(stack, white), group, MPI, deep, known, rgb=True)


def display_stack(stack: MultiplaneImage, white: float) -> np.ndarray:
    """Layers as RGBA bytes (L, H, W, 4), straight alpha, with the sRGB curve."""
    layers, _, height, width = stack.color.shape
    pixels = np.empty((layers, height, width, 4), np.uint8)
    for page, color, alpha in zip(pixels, stack.color, stack.alpha, strict=True):
        page[..., :3] = np.moveaxis(srgb_bytes(color / max(white, 1e-12)), 0, -1)
        page[..., 3] = np.round(255 * np.clip(alpha[0], 0.0, 1.0))
    return pixels


def capture_placement(capture: DualPixelCapture) -> dict[str, Any]:
    """Where a capture lies in the world: square pixels of its own frame."""
    aspect = float(capture.pixel_aspect)
    # The edge of the frame stays where it is; napari's origin is the centre of the first pixel.
    return placement((aspect, 1.0), ((aspect - 1) / 2, 0.0))


def run_placement(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Where a result lies in the frame of its capture: at the calibrated field and its crop.

    One that was saved from layers which lay elsewhere, such as a quick look at low resolution,
    goes back to where they were.
    """
    kept = _kept_placement(provenance)
    if kept is not None:
        return kept
    top, left = _field_origin(provenance)
    crop = provenance.get("crop")
    if isinstance(crop, list | tuple) and len(crop) == 4:
        top, left = top + crop[0], left + crop[1]
    return placement((1.0, 1.0), (float(top), float(left)))


def result_of_layers(layers: Iterable[Any]) -> Result:
    """The result that these napari layers show, with any layer of the four kinds in any order."""
    found = {info(layer).get("kind"): layer for layer in layers}
    missing = [kind for kind in (ALL_IN_FOCUS, DEFOCUS_MAP, CONFIDENCE, MPI) if kind not in found]
    if missing:
        raise ResultError(
            f"The chosen layers are no complete result, {' and '.join(missing)} missing; "
            "select all layers of one fit."
        )
    image = found[ALL_IN_FOCUS]
    return Result(
        all_in_focus=linear_image(image),
        defocus_map=np.asarray(found[DEFOCUS_MAP].data, np.float32),
        confidence=np.asarray(found[CONFIDENCE].data, np.float32),
        mpi=info(found[MPI])["mpi"],
        provenance=dict(info(image).get("provenance", {})),
    )


def linear_image(layer: Any) -> np.ndarray:
    """The linear values (C, H, W) of a picture of ours."""
    kept = info(layer).get("linear")
    return np.asarray(layer.data, np.float32)[None] if kept is None else kept


def make_layer(
    data: np.ndarray,
    group: str,
    kind: str,
    placed: Mapping[str, Any],
    known: Mapping[str, Any] | None = None,
    layer_type: str = "image",
    **look: Any,
) -> LayerData:
    """One layer of ours; ``placed`` comes from a function of placement, ``known`` is kept."""
    metadata = {KEY: {"kind": kind, "group": group, **(known or {})}}
    return (
        data,
        {"name": layer_name(group, kind), "metadata": metadata, **placed, **look},
        layer_type,
    )


def placement(scale: tuple[float, float], translate: tuple[float, float]) -> dict[str, Any]:
    """Size of a pixel and centre of the first one, rows before columns."""
    return {"scale": scale, "translate": translate, "units": UNITS, "axis_labels": ("y", "x")}


def _range(stack: MultiplaneImage) -> tuple[float, float]:
    return float(np.min(stack.defocus_scales)), float(np.max(stack.defocus_scales))


def _kept_placement(provenance: Mapping[str, Any]) -> dict[str, Any] | None:
    try:
        scale, translate = (
            tuple(float(value) for value in provenance[PLACEMENT][key])
            for key in ("scale", "translate")
        )
    except (KeyError, TypeError, ValueError):
        return None
    is_usable = len(scale) == len(translate) == 2 and np.isfinite([*scale, *translate]).all()
    return placement(scale, translate) if is_usable and min(scale) > 0 else None


def _field_origin(provenance: Mapping[str, Any]) -> tuple[float, float]:
    """Top and left of the calibrated field; (0, 0) when the capture was the field alone."""
    try:
        capture, calibration = provenance["capture"], provenance["calibration"]
        field = calibration["field"]
        size = (capture["height_px"] * capture["pixel_aspect"], capture["width_px"])
        if tuple(calibration["frame_shape"]) == size:
            return float(field["top"]), float(field["left"])
    except (KeyError, TypeError, ValueError):
        pass
    return 0.0, 0.0


def _described(capture: DualPixelCapture) -> dict[str, Any]:
    """The parts of the description that need no look at every pixel."""
    _, channels, height, width = capture.shape
    return {
        "name": capture.name,
        "format": capture.source.format,
        "files": list(capture.source.files),
        "sha256": list(capture.source.sha256),
        "channels": channels,
        "height_px": height,
        "width_px": width,
        "unit": capture.unit,
        "encoding": capture.encoding,
        "black": float(capture.black),
        "white": float(capture.white),
        "pixel_aspect": float(capture.pixel_aspect),
        "row_upsampling": capture.row_upsampling,
        "orientation": capture.orientation,
    }
