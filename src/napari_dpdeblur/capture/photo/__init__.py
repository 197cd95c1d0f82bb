"""Colour photos that accompany a capture."""

from napari_dpdeblur.capture.photo.reading import PHOTO_SUFFIXES, find_photo, open_photo
from napari_dpdeblur.capture.photo.record import Photo

__all__ = ["PHOTO_SUFFIXES", "Photo", "find_photo", "open_photo"]
