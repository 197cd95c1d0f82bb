"""Colour photos that accompany a capture."""

from napari_dpdeblur.capture.photo.reading import find_photo, open_photo
from napari_dpdeblur.capture.photo.record import Photo

__all__ = ["Photo", "find_photo", "open_photo"]
