"""What can be shown of the layers of a multiplane image, as stacks for napari's slider."""

from __future__ import annotations

from typing import Any

import numpy as np

from napari_dpdeblur.optics.mpi import MultiplaneImage, transmittance
from napari_dpdeblur.results.defocus_colors import ColorScale
from napari_dpdeblur.results.export import display_values
from napari_dpdeblur.viewer.layers.convert import GAMMA, display_stack

TRANSPARENT, DIMMED, BY_DEPTH = "Layer (RGBA)", "Rest dimmed", "All, coloured by depth"
MARKED = "Hidden part marked"
COLOR, ALPHA = "Colour", "Alpha"
TRANSMITTANCE, PREMULTIPLIED = "Transmittance", "Colour x alpha"
CHANNELS = {
    TRANSPARENT: "The layer itself, transparent where it is empty.",
    DIMMED: "What is visible of the layer, with the rest of the image dimmed.",
    BY_DEPTH: "All layers at once, each in the colour of its defocus.",
    MARKED: "The layer, with what was filled in behind nearer layers in another colour.",
    COLOR: "Colour of the layer, also where it is transparent or occluded.",
    ALPHA: "Opacity of the layer: 0 is black, 1 is white.",
    TRANSMITTANCE: "Fraction of the layer that reaches the camera past all nearer layers; "
    "sums to 1 over all layers.",
    PREMULTIPLIED: "Colour times alpha: the light from the layer itself.",
}
MARK, MARK_SHARE = np.array([230, 60, 200]), 0.5  # colour, and how much of it a hidden part gets
DIM = 0.08  # of the light of what is dimmed: about a third of the grey level
LEAST_LIGHT = 0.25  # of the colour of a layer that stays where the image is black

Look = dict[str, Any]  # options of a napari layer


def channel_data(
    stack: MultiplaneImage, channel: str, white: float, colors: ColorScale
) -> tuple[np.ndarray, Look]:
    """Pixels (L, H, W), (L, H, W, 3 or 4), of all at once (H, W, 3), and how they look."""
    if channel == MARKED:
        return _marked(stack, white), {"rgb": True}
    if channel == BY_DEPTH:
        return by_depth(stack, white, colors), {"rgb": True}
    if channel in (ALPHA, TRANSMITTANCE):
        values = stack.alpha if channel == ALPHA else transmittance(stack.alpha)
        return values[:, 0], {"contrast_limits": (0.0, 1.0)}
    return _shown_colors(_colors(stack, channel), white)


def _colors(stack: MultiplaneImage, channel: str) -> np.ndarray:
    if channel == DIMMED:
        light = transmittance(stack.alpha) * stack.color
        return np.asarray(light + DIM * (light.sum(axis=0) - light))
    return np.asarray(stack.color if channel == COLOR else stack.color * stack.alpha)


def by_depth(stack: MultiplaneImage, white: float, colors: ColorScale) -> np.ndarray:
    """The image with each layer in the colour of its defocus (H, W, 3), bytes."""
    shown = np.zeros((*stack.alpha.shape[-2:], 3), np.float32)
    grey = display_values(stack.all_in_focus().mean(axis=0, keepdims=True), white, np.uint8)
    grey = grey.reshape(*grey.shape[:2], -1)[..., :1]
    weights = transmittance(stack.alpha)[:, 0]
    for number, weight in enumerate(weights):
        own = stack.defocus_scales[number] if stack.defocus is None else stack.defocus[number, 0]
        shown += weight[..., None] * colors.paint(np.broadcast_to(own, weight.shape))
    light = LEAST_LIGHT + (1 - LEAST_LIGHT) * grey / np.float32(255)
    return np.asarray(np.round(shown * light).clip(0, 255), np.uint8)


def _marked(stack: MultiplaneImage, white: float) -> np.ndarray:
    """Layers as RGBA bytes (L, H, W, 4), with their hidden parts coloured."""
    pixels = display_stack(stack, white)
    hidden = MARK_SHARE * (1 - stack.visibility()[:, 0, ..., None])
    pixels[..., :3] = np.round(pixels[..., :3] * (1 - hidden) + MARK * hidden)
    return pixels


def _shown_colors(color: np.ndarray, white: float) -> tuple[np.ndarray, Look]:
    """Linear colours (L, C, H, W) as grey values with a gamma or as bytes."""
    if color.shape[1] == 1:
        return color[:, 0], {"contrast_limits": (0.0, max(white, 1e-6)), "gamma": GAMMA}
    pages = [display_values(layer, white, np.uint8) for layer in color]
    return np.stack(pages), {"rgb": True}
