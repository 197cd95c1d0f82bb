"""A grey result in the colours of a photo."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import torch

from napari_dpdeblur.array_types import Crop, FloatArray
from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.image.layers import inpaint
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.fitting.parameters.photo import ColorParameters
from napari_dpdeblur.fitting.photo.alignment import sampled
from napari_dpdeblur.fitting.photo.ratios import Seen, compare, surface_ratios
from napari_dpdeblur.fitting.photo.registration import Registration
from napari_dpdeblur.optics.mpi import MultiplaneImage, transmittance
from napari_dpdeblur.results.result import Result

FILL_PX = 4  # grid on which colours are continued: they are smooth there
TINY = 1e-6
CORE_SHARE = 0.5  # of a pixel that belongs to the layer that is seen there


def colored(
    result: Result, registration: Registration, place: Crop, parameters: Parameters
) -> Result:
    """The result with red and blue from the photo; ``place`` is where it lies in the frame.

    Green stays that of the fit: it has all the detail.
    """
    sharp = np.maximum(result.all_in_focus[0], 0)
    registration = registration.refined(
        sharp, result.defocus_map, place, parameters.photo_registration
    )
    photo, is_clipped = _photo_in(registration, result.defocus_map, place)
    check_cancelled()
    color = parameters.photo_colors
    shares = np.asarray(transmittance(result.mpi_alpha))[:, 0]
    labels = shares.argmax(0).astype(np.int16)
    seen_photo = compare(sharp, photo, is_clipped, color)
    check_cancelled()
    layers, is_filled = _layer_ratios(sharp, seen_photo, shares, labels, color)
    seen = _composite(layers, shares, result.mpi_color[:, 0])
    mpi = MultiplaneImage(
        np.stack([_in_color(c, r) for c, r in zip(result.mpi_color, layers, strict=True)]),
        result.mpi.alpha,
        result.mpi.defocus_scales,
        result.mpi.defocus,
    )
    described = {
        **registration.photo.describe(),
        "registration": registration.describe(),
        "filled_share": round(float(is_filled.mean()), 4),
    }
    captured = result.captured
    return replace(
        result,
        mpi=mpi,
        all_in_focus=_in_color(result.all_in_focus, seen),
        captured=None if captured is None else _in_color(captured, seen),
        color_filled=is_filled.astype(np.float32),
        provenance={**result.provenance, "photo": described},
    )


def _photo_in(
    registration: Registration, defocus_map: FloatArray, place: Crop
) -> tuple[FloatArray, np.ndarray]:
    """The photo (3, H, W) as seen from the capture, NaN outside it, and where it is clipped."""
    photo, warp = registration.photo, registration.warp
    planes = [*photo.pixels, photo.is_clipped.astype(np.float32)]
    *colors, clipped = (sampled(plane, warp, place, defocus_map) for plane in planes)
    return np.stack(colors), np.nan_to_num(clipped) > 0


def _layer_ratios(
    sharp: FloatArray,
    seen: Seen,
    shares: FloatArray,
    labels: np.ndarray,
    parameters: ColorParameters,
) -> tuple[list[FloatArray], np.ndarray]:
    """Ratios (2, H, W) of each layer, and where those of what is seen were filled in (H, W)."""
    layers, is_filled = [], np.zeros(labels.shape, bool)
    for layer, share in enumerate(shares):
        own = ((labels == layer) & (share > CORE_SHARE)).astype(np.float32)
        window = _window(own, 2 * max(parameters.windows_px))
        ratios = np.ones((2, *own.shape), np.float32)
        known = np.zeros_like(own)
        if own.any():
            inside = _eroded(own[window], parameters.outline_px)
            part, support = surface_ratios(sharp[window], seen.within(window), inside, parameters)
            ratios[(slice(None), *window)] = part
            known[window] = own[window] * (support > parameters.filled_trust)
        is_filled |= (labels == layer) & (known == 0)
        layers.append(_continued(ratios, known))
        check_cancelled()
    return layers, is_filled


def _window(own: FloatArray, margin_px: int) -> tuple[slice, slice]:
    """The part of an image (H, W) around what is not 0."""
    height, width = own.shape
    rows, cols = (np.flatnonzero(own.any(axis)) for axis in (1, 0))
    if not len(rows):
        return slice(0, height), slice(0, width)
    return (
        slice(max(rows[0] - margin_px, 0), min(rows[-1] + 1 + margin_px, height)),
        slice(max(cols[0] - margin_px, 0), min(cols[-1] + 1 + margin_px, width)),
    )


def _eroded(own: FloatArray, radius: int) -> FloatArray:
    """What lies inside the outline by more than ``radius``; all of it if nothing does."""
    kernel = np.ones((2 * radius + 1,) * 2, np.uint8)
    inner = cv2.erode(own, kernel, borderType=cv2.BORDER_REPLICATE)
    return np.asarray(inner if inner.any() else own)


def _continued(ratios: FloatArray, known: FloatArray) -> FloatArray:
    """Ratios (2, H, W) where they are known, elsewhere those from around; grey if none are."""
    if not known.any():
        return np.ones_like(ratios)
    height, width = known.shape
    size = (-(-width // FILL_PX), -(-height // FILL_PX))
    share = cv2.resize(known, size, interpolation=cv2.INTER_AREA)
    small = np.stack(
        [cv2.resize(ratio * known, size, interpolation=cv2.INTER_AREA) for ratio in ratios]
    )
    small /= np.maximum(share, TINY)
    filled = inpaint(
        torch.from_numpy(small), torch.from_numpy((share > 0).astype(np.float32))[None]
    )
    for ratio, fill in zip(ratios, filled.numpy(), strict=True):
        around = cv2.resize(fill, (width, height), interpolation=cv2.INTER_LINEAR)
        ratio += (1 - known) * (around - ratio)
    return ratios


def _composite(layers: list[FloatArray], shares: FloatArray, green: FloatArray) -> FloatArray:
    """Ratios (2, H, W) of what is seen: those of the layers by their share of the light."""
    total = np.zeros_like(layers[0])
    light = np.full(shares.shape[1:], 1e-6, np.float32)
    for ratio, share, own in zip(layers, shares, green, strict=True):
        part = share * (own + 1e-3)
        total += part * ratio
        light += part
    return total / light


def _in_color(green: FloatArray, ratios: FloatArray) -> FloatArray:
    """Red, green and blue (3, H, W) of green (1, H, W) and ratios (2, H, W)."""
    return np.stack([green[0] * ratios[0], green[0], green[0] * ratios[1]])
