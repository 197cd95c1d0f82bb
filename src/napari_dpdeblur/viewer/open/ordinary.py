"""Pictures that are not ours, read as napari reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from napari_dpdeblur.capture.picture import PICTURE_SUFFIXES, read_picture_header
from napari_dpdeblur.errors import CaptureError, DpDeblurError
from napari_dpdeblur.viewer.layers.metadata import LayerData


def is_picture(path: Path) -> bool:
    """Whether a file is a picture, whatever it shows."""
    try:
        return path.suffix.lower() in PICTURE_SUFFIXES and bool(read_picture_header(path))
    except DpDeblurError:
        return False


def read_ordinary(path: Path) -> list[LayerData]:
    """The layers that napari itself makes of a picture."""
    from napari_builtins.io import napari_get_reader

    reader = napari_get_reader(str(path))
    if reader is None:
        raise CaptureError(f"{path} is not a picture that napari can read; choose another file.")
    return [_complete(layer) for layer in reader(str(path))]


def _complete(layer: Any) -> LayerData:
    """Data, options and type, of which napari's reader may leave out the last two."""
    options = layer[1] if len(layer) > 1 else {}
    return layer[0], options, layer[2] if len(layer) > 2 else "image"
