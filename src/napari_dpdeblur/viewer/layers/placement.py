"""Where layers lie: world coordinates are square pixels of the whole frame.

A capture with pixels twice as high as wide has ``scale`` (2, 1); a result lies where the calibrated
field lies in the frame. napari's origin is the centre of the first pixel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from napari_dpdeblur.array_types import Crop
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.jobs.fit_job import placement_in
from napari_dpdeblur.results.result import PLACEMENT

Placement = dict[str, Any]  # options of a layer: scale, translate, units, axis_labels


def placement(scale: Sequence[float], translate: Sequence[float]) -> Placement:
    """Size of a pixel and centre of the first one, rows before columns."""
    return {
        "scale": tuple(scale),
        "translate": tuple(translate),
        "units": ("pixel", "pixel"),
        "axis_labels": ("y", "x"),
    }


def stacked(placed: Placement) -> Placement:
    """The same place with an axis for the layers of a multiplane image in front."""
    return {
        "scale": (1.0, *placed["scale"]),
        "translate": (0.0, *placed["translate"]),
        "units": ("pixel", *placed["units"]),
        "axis_labels": ("layer", *placed["axis_labels"]),
    }


def reduced(placed: Placement, reduction: int) -> Placement:
    """The place of an image whose pixels are blocks of the placed pixels."""
    shift = (reduction - 1) / 2
    corner = zip(placed["translate"], placed["scale"], strict=True)
    return {
        **placed,
        "scale": tuple(reduction * side for side in placed["scale"]),
        "translate": tuple(first + shift * side for first, side in corner),
    }


def box_placement(box: Crop, shape: Sequence[int]) -> Placement:
    """The place of an image of this shape that fills a box of the frame."""
    return placement(**placement_in(box, shape))


def frame_placement(frame_shape: tuple[int, int], shape: Sequence[int]) -> Placement:
    """The place of an image of this shape that fills the frame."""
    return box_placement((0, 0, *frame_shape), shape)


def capture_placement(capture: DualPixelCapture) -> Placement:
    """The place of a capture, whose pixels need not be square."""
    aspect = float(capture.pixel_aspect)
    return placement((aspect, 1.0), ((aspect - 1) / 2, 0.0))


def run_placement(provenance: Mapping[str, Any]) -> Placement:
    """The place of a result in the frame of its capture: the calibrated field and its crop.

    A result that was saved from layers elsewhere, such as a preview at low resolution, returns
    to where they were.
    """
    kept = _kept_placement(provenance)
    if kept is not None:
        return kept
    top, left = _field_origin(provenance)
    crop = provenance.get("crop")
    if isinstance(crop, list | tuple) and len(crop) == 4:
        top, left = top + crop[0], left + crop[1]
    return placement((1.0, 1.0), (float(top), float(left)))


def _kept_placement(provenance: Mapping[str, Any]) -> Placement | None:
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
    """Top and left of the calibrated field; (0, 0) if the capture is the field alone."""
    try:
        capture, calibration = provenance["capture"], provenance["calibration"]
        field = calibration["field"]
        size = (capture["height_px"] * capture["pixel_aspect"], capture["width_px"])
        if tuple(calibration["frame_shape"]) == size:
            return float(field["top"]), float(field["left"])
    except (KeyError, TypeError, ValueError):
        pass
    return 0.0, 0.0
