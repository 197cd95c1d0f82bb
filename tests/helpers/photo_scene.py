"""A small scene as capture and photo."""

from __future__ import annotations

import cv2
import numpy as np

from napari_dpdeblur.capture.dual_pixel import DualPixelCapture, Source
from napari_dpdeblur.capture.photo import Photo

HEIGHT, WIDTH = 240, 320


def as_capture(green, **known):
    """Both views alike: registration only needs their mean."""
    raw = np.stack([green[None]] * 2).astype(np.float32)
    return DualPixelCapture(raw, 0.0, 1.0, "scene", Source("synthetic", (), ()), **known)


def as_photo(colors, name="photo.jpg"):
    """A photo of linear colours (3, H, W)."""
    colors = np.ascontiguousarray(np.clip(colors, 0, 1), np.float32)
    return Photo(colors, (colors > 0.985).any(0), name, size_px=colors.shape[:0:-1])


def turned(colors, degrees=2.0, scale=1.05, shift=(16, 12)):
    """The photo from another pose, and the affine map (2, 3) from the scene to it."""
    height, width = colors.shape[1:]
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, scale)
    matrix[:, 2] += shift
    planes = [
        cv2.warpAffine(p, matrix, (width, height), borderMode=cv2.BORDER_REFLECT) for p in colors
    ]
    return np.stack(planes), matrix
