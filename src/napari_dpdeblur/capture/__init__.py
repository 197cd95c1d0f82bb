"""Dual-pixel captures: read, pair, describe and merge them."""

from napari_dpdeblur.capture.camera_optics import CameraOptics
from napari_dpdeblur.capture.dual_pixel import DualPixelCapture, Source, estimate_black
from napari_dpdeblur.capture.header import CaptureHeader
from napari_dpdeblur.capture.merge import merge_captures
from napari_dpdeblur.capture.opening import open_capture, read_capture_header
from napari_dpdeblur.capture.pairing import (
    capture_name,
    find_captures,
    list_captures,
    looks_like_capture,
)

__all__ = [
    "CameraOptics",
    "CaptureHeader",
    "DualPixelCapture",
    "Source",
    "capture_name",
    "estimate_black",
    "find_captures",
    "list_captures",
    "looks_like_capture",
    "merge_captures",
    "open_capture",
    "read_capture_header",
]
