"""Add layers to a viewer, with colour bars for defocus maps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from weakref import WeakSet

import numpy as np
from napari.layers import Layer

from napari_dpdeblur.viewer.layers.browse import follow_slider
from napari_dpdeblur.viewer.layers.camera import delete_in_canvas, keep_view
from napari_dpdeblur.viewer.layers.convert import DEFOCUS_UNIT, hidden, is_diverging
from napari_dpdeblur.viewer.layers.hygiene import remove_layer
from napari_dpdeblur.viewer.layers.metadata import LayerData, LayerInfo, layer_info
from napari_dpdeblur.viewer.layers.queries import (
    described_layers,
    layer_of,
    own_layers,
    unwrapped_viewer,
)
from napari_dpdeblur.viewer.layers.units import blur_width_px

BAR_TEXT = "defocus ({unit})"
_PLACE, _LOOK = ("scale", "translate", "metadata"), ("contrast_limits", "gamma")
_watched: WeakSet[Any] = WeakSet()
_with_bar: WeakSet[Layer] = WeakSet()  # whoever switches the bar off does not get it again


def put_layers(viewer: Any, layers: Iterable[LayerData]) -> list[Layer]:
    """Add layers, or update those of the same group and kind."""
    viewer = unwrapped_viewer(viewer)
    watch(viewer)
    return [_put(viewer, layer) for layer in layers]


def put_steps(viewer: Any, layers: Iterable[LayerData]) -> list[Callable[[], object]]:
    """put_layers as short tasks; new layers are not selected.

    A new layer is added hidden and shown in a separate task.
    """
    return [step for layer in layers for step in _steps_of(viewer, layer)]


def _steps_of(viewer: Any, layer: LayerData) -> list[Callable[[], object]]:
    made: list[Layer] = []

    def add() -> None:
        before = list(unwrapped_viewer(viewer).layers)
        put = put_unselected(viewer, hidden(layer))
        if not any(put is other for other in before):
            made.append(put)

    def show() -> None:
        for new in made:
            new.visible = True

    return [add, show] if layer[1].get("visible", True) else [add]


def put_unselected(viewer: Any, layer: LayerData) -> Layer:
    """Add or update one layer without selecting it or moving the camera."""
    viewer = unwrapped_viewer(viewer)
    with keep_selection(viewer.layers), keep_view(viewer):
        return put_layers(viewer, [layer])[0]


@contextmanager
def keep_selection(layers: Any) -> Iterator[None]:
    """Keep the selection while layers are added.

    napari selects each new layer and shows its controls, which blocks the window nearly as long
    as the layer itself. Versions of napari without this switch still do so.
    """
    is_known = isinstance(getattr(layers, "_activate_on_insert", None), bool)
    before = is_known and layers._activate_on_insert
    if is_known:
        layers._activate_on_insert = False
    try:
        yield
    finally:
        if is_known:
            layers._activate_on_insert = before


def block_layer_list(viewer: Any) -> AbstractContextManager[Any]:
    """Change layers without redrawing the layer list, which takes as long as the canvas.

    For previews that another one follows soon; other listeners are notified by the layers.
    """
    blocker: AbstractContextManager[Any] = unwrapped_viewer(viewer).layers.events.blocker()
    return blocker


def _put(viewer: Any, new: LayerData) -> Layer:
    _, options, layer_type = new
    info = layer_info(new)
    layer = None if info is None else layer_of(viewer, info.group, info.kind)
    if layer is None or not _accepts(layer, options, layer_type):
        if layer is not None:  # grey, where the new one is in colour
            remove_layer(viewer, layer)
        layer = Layer.create(*new)
        viewer.add_layer(layer)
        return layer
    renew(layer, new)
    set_look(layer, options)
    return layer


def set_look(layer: Layer, options: dict[str, Any]) -> None:
    """Update contrast and gamma, and the colormap if a map has got or lost its second side.

    Any other colormap is the user's choice and is kept.
    """
    _set(layer, options, _LOOK)
    colormap = options.get("colormap")
    if colormap is not None and is_diverging(colormap) != is_diverging(layer.colormap):
        layer.colormap = colormap


def renew(layer: Layer, new: LayerData) -> None:
    """Update data and place of a layer; its look is kept."""
    data, options, _ = new
    layer.data = data
    _set(layer, options, _PLACE)


def _set(layer: Layer, options: dict[str, Any], names: Iterable[str]) -> None:
    """Set attributes that differ: napari redraws even if nothing changed."""
    for name in names:
        if name in options and not _equals(getattr(layer, name), options[name]):
            setattr(layer, name, options[name])


def _equals(now: Any, wanted: Any) -> bool:
    """Whether numbers are equal; False for anything else."""
    return not isinstance(wanted, dict) and np.array_equal(now, wanted)


def _accepts(layer: Layer, options: dict[str, Any], layer_type: str) -> bool:
    """Whether a layer can be updated with this data."""
    is_same_type = type(layer).__name__.lower() == layer_type
    is_same_colour = getattr(layer, "rgb", False) == options.get("rgb", False)
    return is_same_type and is_same_colour and layer.ndim == len(options["scale"])


def watch(viewer: Any) -> None:
    """Add a colour bar to every defocus map in this viewer, and let layers be removed safely."""
    if viewer in _watched:
        return
    _watched.add(viewer)
    delete_in_canvas(viewer)
    viewer.layers.events.inserted.connect(lambda event: decorate(viewer, event.value))
    viewer.layers.events.removed.connect(lambda event: _label_bars(viewer))
    for layer in own_layers(viewer):
        decorate(viewer, layer)


def decorate(viewer: Any, layer: Layer) -> None:
    """Add the colour bar of a defocus map, or name the slider of a multiplane image.

    Automatic for inserted layers; call it for a layer that became a map later.
    """
    info = layer_info(layer)
    if info is not None and info.mpi is not None:
        _name_axes(viewer, layer)
        follow_slider(viewer)
    if info is None or info.unit is None:
        return
    layer.events.visible.connect(lambda event: _show_bar(viewer, event.source))
    _show_bar(viewer, layer)


def _show_bar(viewer: Any, layer: Layer) -> None:
    """Add the bar when its map is first shown, because it takes longer than a layer."""
    is_new = layer.visible and layer not in _with_bar
    if is_new and hasattr(layer, "colorbar"):  # napari 0.7 and newer
        layer.colorbar.visible = True
    if is_new:
        _with_bar.add(layer)
    _label_bars(viewer)


def _name_axes(viewer: Any, layer: Layer) -> None:
    """Name the slider of a multiplane image; napari takes names from layers since 0.6."""
    if viewer.dims.ndim == layer.ndim and viewer.dims.axis_labels != layer.axis_labels:
        viewer.dims.axis_labels = layer.axis_labels


def _label_bars(viewer: Any) -> None:
    """Show the unit in the canvas while a defocus map is visible; keep text of others."""
    shown = [info for layer, info in described_layers(viewer) if layer.visible and info.unit]
    texts = [BAR_TEXT.format(unit=unit) for unit in sorted({_unit_text(info) for info in shown})]
    overlay = text_overlay(viewer)
    if overlay.visible and not overlay.text.startswith(BAR_TEXT.split("{")[0]):
        return
    overlay.text = "\n".join(texts)
    overlay.position = "top_left"  # the bar is in the right corner
    overlay.visible = bool(texts)


def _unit_text(info: LayerInfo) -> str:
    """The unit of a map, in pixels too if its calibration is known."""
    unit = str(info.unit)
    if info.calibration is None:
        return unit
    width = f"{blur_width_px(info.calibration):.1f} px wide"
    return unit.replace(DEFOCUS_UNIT, f"{DEFOCUS_UNIT}, {width}")


def text_overlay(viewer: Any) -> Any:
    """The text overlay of the canvas, in any supported version of napari."""
    canvas = getattr(viewer, "canvas", None)  # since napari 0.9
    return viewer.text_overlay if canvas is None else canvas.overlays.text
