"""Captures and results as napari layers, and back.

What a layer holds, besides its :class:`~napari_dpdeblur.viewer.layers.metadata.LayerInfo`:

- one channel: the linear values themselves, float32 in the capture's unit, with contrast limits
  and gamma for a natural look, so that the cursor reads measured values;
- three channels: bytes with the sRGB curve, because napari shows colours as they are; the linear
  values (C, H, W) are ``LayerInfo.linear``;
- the multiplane image: RGBA bytes (L, H, W, 4) with the sRGB curve, straight alpha, back to
  front; the linear layers are ``LayerInfo.mpi``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from napari_dpdeblur.array_types import FloatArray, Picture
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results import Result
from napari_dpdeblur.results.defocus_colors import DIVERGING, color_scale, diverging_palette
from napari_dpdeblur.results.export import display_values, srgb_bytes
from napari_dpdeblur.results.preview import white_point
from napari_dpdeblur.viewer.layers.metadata import (
    ALL_IN_FOCUS,
    COLOR_FILLED,
    CONFIDENCE,
    DEFOCUS_MAP,
    LEFT,
    MPI,
    OVERLAP,
    RIGHT,
    TRUE_DEFOCUS,
    TRUE_IMAGE,
    LayerData,
    LayerInfo,
    kind_of,
    layer_info,
    set_layer_info,
)
from napari_dpdeblur.viewer.layers.placement import (
    Placement,
    capture_placement,
    placement,
    run_placement,
    stacked,
)
from napari_dpdeblur.viewer.shared.preferences import preference

# How the kinds appear in the names of layers, where they differ.
_WORDS = {LEFT: "left", RIGHT: "right", MPI: "MPI"}

GAMMA = 1 / 2.2
DEFOCUS_UNIT = "1 = calibrated blur"
SIGNED_UNIT = f"{DEFOCUS_UNIT}, negative in front"


def layer_name(group: str, kind: str) -> str:
    """The name of the layer of this kind."""
    return f"{group} {_WORDS.get(kind, kind)}"


def capture_layers(capture: DualPixelCapture, group: str | None = None) -> list[LayerData]:
    """Both views, right below left."""
    white = white_point(capture.views)
    placed = capture_placement(capture)
    described = {"capture": _described(capture)}
    shared = LayerInfo("", group or capture.name, capture=capture, provenance=described)
    return [
        image_layer(capture.views[side], replace(shared, kind=kind), placed, white)
        for side, kind in ((1, RIGHT), (0, LEFT))
    ]


def run_layers(result: Result, group: str | None = None) -> list[LayerData]:
    """All layers of a result, bottom to top: all-in-focus image, defocus map, confidence, MPI.

    Only the first is visible, so that one click on the eye of another shows that one. Place and
    name come from the provenance: a result looks the same after it was written and read.
    """
    image = LayerInfo(
        ALL_IN_FOCUS,
        group or result.name,
        calibration=result.calibration,
        provenance=result.provenance,
        defocus_scales=_scales(result.mpi),
        run_folder=None if result.run_folder is None else str(result.run_folder),
    )
    defocus, confidence, mpi = (
        replace(image, kind=kind) for kind in (DEFOCUS_MAP, CONFIDENCE, MPI)
    )
    placed = run_placement(result.provenance)
    white = white_point(result.all_in_focus)
    limits = min(image.defocus_scales), max(image.defocus_scales)
    layers = [
        image_layer(result.all_in_focus, image, placed, white),
        hidden(defocus_layer(result.defocus_map, defocus, placed, limits)),
        hidden(confidence_layer(result.confidence, confidence, placed)),
        hidden(mpi_layer(result.mpi, mpi, placed, white)),
    ]
    if result.color_filled is not None:
        filled = replace(image, kind=COLOR_FILLED)
        layers.append(hidden(confidence_layer(result.color_filled, filled, placed)))
    return layers


def overlap_layer(picture: Picture, group: str) -> LayerData:
    """A picture of a photo that does not match its capture."""
    return make_layer(picture, LayerInfo(OVERLAP, group), placement((1, 1), (0, 0)), rgb=True)


def truth_layers(result: Result, group: str | None = None) -> list[LayerData]:
    """The ground truth that is stored with a result, hidden; empty if there is none."""
    name, placed = group or result.name, run_placement(result.provenance)
    found = []
    if result.true_defocus is not None:
        info = LayerInfo(TRUE_DEFOCUS, name)
        found.append(hidden(defocus_layer(result.true_defocus, info, placed)))
    if result.true_image is not None:
        info = LayerInfo(TRUE_IMAGE, name)
        found.append(hidden(image_layer(result.true_image, info, placed)))
    return found


def hidden(layer: LayerData) -> LayerData:
    """The same layer, not visible."""
    data, options, layer_type = layer
    return data, {**options, "visible": False}, layer_type


def image_layer(
    image: FloatArray, info: LayerInfo, placed: Placement, white: float | None = None
) -> LayerData:
    """A linear image (C, H, W); ``white`` is the value that is shown as white."""
    white = white_point(image) if white is None else white
    if image.shape[0] == 3:
        shown = display_values(image, white, np.uint8)
        return make_layer(shown, replace(info, linear=image), placed, rgb=True)
    limits = (0.0, max(white, 1e-6))
    return make_layer(image[0], info, placed, contrast_limits=limits, gamma=GAMMA)


def defocus_layer(
    defocus_map: FloatArray,
    info: LayerInfo,
    placed: Placement,
    limits: tuple[float, float] | None = None,
) -> LayerData:
    """A defocus map (H, W): the preferred colormap, or a diverging one if it has both signs."""
    scale = color_scale(defocus_map, limits)
    low, high = scale.limits
    return make_layer(
        defocus_map,
        replace(info, unit=SIGNED_UNIT if scale.is_diverging else DEFOCUS_UNIT),
        placed,
        colormap=_diverging() if scale.is_diverging else preference("defocus_colormap"),
        contrast_limits=(low, max(high, low + 1e-6)),
    )


def is_diverging(colormap: Any) -> bool:
    """Whether a colormap, or its name, is that of maps on both sides of the focus plane."""
    return str(getattr(colormap, "name", colormap)) == DIVERGING


def _diverging() -> Any:
    # Deferred: only a viewer needs napari, and it has loaded it.
    from napari.utils.colormaps import Colormap

    return Colormap(diverging_palette() / 255, name=DIVERGING)


def confidence_layer(confidence: FloatArray, info: LayerInfo, placed: Placement) -> LayerData:
    """Confidence (H, W), 0 to 1."""
    return make_layer(confidence, info, placed, colormap="magma", contrast_limits=(0.0, 1.0))


def mpi_layer(mpi: MultiplaneImage, info: LayerInfo, placed: Placement, white: float) -> LayerData:
    """The multiplane image as one RGBA stack whose slider moves from back to front."""
    info = replace(info, mpi=mpi, defocus_scales=_scales(mpi))
    return make_layer(display_stack(mpi, white), info, stacked(placed), rgb=True)


def display_stack(stack: MultiplaneImage, white: float) -> Picture:
    """Layers as RGBA bytes (L, H, W, 4), straight alpha, with the sRGB curve."""
    layers, _, height, width = stack.color.shape
    pixels = np.empty((layers, height, width, 4), np.uint8)
    for page, color, alpha in zip(pixels, stack.color, stack.alpha, strict=True):
        page[..., :3] = np.moveaxis(srgb_bytes(color / max(white, 1e-12)), 0, -1)
        page[..., 3] = np.round(255 * np.clip(alpha[0], 0.0, 1.0))
    return pixels


def result_of_layers(layers: Iterable[Any]) -> Result:
    """The result that these layers show; order and layers of other kinds do not matter."""
    found = {kind_of(layer): layer for layer in layers}
    missing = [kind for kind in (ALL_IN_FOCUS, DEFOCUS_MAP, CONFIDENCE, MPI) if kind not in found]
    if missing:
        raise ResultError(
            f"The selected layers are not a complete result, {' and '.join(missing)} missing; "
            "select all layers of one fit."
        )
    image, mpi = (layer_info(found[kind]) for kind in (ALL_IN_FOCUS, MPI))
    if image is None or mpi is None or mpi.mpi is None:
        raise ResultError("The multiplane image has lost its linear values; open it again.")
    return Result(
        all_in_focus=linear_image(found[ALL_IN_FOCUS]),
        defocus_map=np.asarray(found[DEFOCUS_MAP].data, np.float32),
        confidence=np.asarray(found[CONFIDENCE].data, np.float32),
        mpi=mpi.mpi,
        provenance=dict(image.provenance),
        calibration=image.calibration,
        color_filled=_filled(found.get(COLOR_FILLED)),
    )


def _filled(layer: Any) -> FloatArray | None:
    return None if layer is None else np.asarray(layer.data, np.float32)


def linear_image(layer: Any) -> FloatArray:
    """The linear values (C, H, W) of an image of ours."""
    info = layer_info(layer)
    if info is not None and info.linear is not None:
        return info.linear
    return np.asarray(layer.data, np.float32)[None]


def make_layer(
    data: Any, info: LayerInfo, placed: Placement, layer_type: str = "image", **look: Any
) -> LayerData:
    """Layer data of ours: what is shown, what is known, where it lies and how it looks."""
    options = {"name": layer_name(info.group, info.kind), **placed, **look}
    layer = data, options, layer_type
    set_layer_info(layer, info)
    return layer


def _scales(mpi: MultiplaneImage) -> tuple[float, ...]:
    return tuple(float(scale) for scale in mpi.defocus_scales)


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
