"""Colour photos that accompany a capture."""

from napari_dpdeblur.capture.photo.reading import PHOTO_SUFFIXES, open_photo
from napari_dpdeblur.capture.photo.record import Photo

__all__ = ["PHOTO_SUFFIXES", "Photo", "open_photo"]
