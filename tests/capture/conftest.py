"""Small capture files, written on the fly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from napari_dpdeblur.capture.dual_pixel import DualPixelCapture, Source
from napari_dpdeblur.capture.pgm import write_pgm_pair

APP_NAME = "20210705_161427_778"


def _noise(shape: tuple[int, ...], dtype: type = np.uint16, high: int = 16383) -> np.ndarray:
    low = min(1024, high // 2)
    return np.random.default_rng(sum(shape)).integers(low, high, shape, dtype=dtype, endpoint=True)


def _write_image(path: Path, pixels: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    stored = pixels if pixels.ndim == 2 else pixels[..., ::-1]
    cv2.imencode(path.suffix, np.ascontiguousarray(stored))[1].tofile(path)
    return path


@pytest.fixture
def noise() -> Callable[..., np.ndarray]:
    """Random integers of a shape and type between a dark level and ``high``."""
    return _noise


@pytest.fixture
def write_image() -> Callable[[Path, np.ndarray], Path]:
    """Writes (H, W) or RGB (H, W, 3) pixels as PNG or JPEG, with the folders it needs."""
    return _write_image


def _views(height: int = 60, width: int = 90, dtype: type = np.uint8) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(7).uniform(0, 1, (height, width + 1, 3)).astype(np.float32)
    smooth = cv2.GaussianBlur(random, (0, 0), 2)
    smooth = (smooth - smooth.min()) / np.ptp(smooth) * np.iinfo(dtype).max
    return smooth[:, :-1].astype(dtype), smooth[:, 1:].astype(dtype)


@pytest.fixture
def views() -> Callable[..., tuple[np.ndarray, ...]]:
    """Two RGB pictures (H, W, 3) of one texture, shifted by a pixel."""
    return _views


@pytest.fixture
def app_pair(tmp_path: Path) -> tuple[Path, Path]:
    """Left and right file as the capture app writes them, 10 x 6 px."""
    left = _noise((6, 10), high=65535)
    return write_pgm_pair(tmp_path, APP_NAME, left, left[:, ::-1])


@pytest.fixture
def published_pair(tmp_path: Path) -> tuple[Path, Path]:
    """001_left.png and 001_right.png, 16-bit grey, 10 x 6 px."""
    left = _noise((6, 10))
    return (
        _write_image(tmp_path / "001_left.png", left),
        _write_image(tmp_path / "001_right.png", left[:, ::-1]),
    )


@pytest.fixture
def make_capture() -> Callable[..., DualPixelCapture]:
    """A capture in memory from raw values (2, C, H, W)."""

    def make(raw: np.ndarray, name: str = "scene", **changes: object) -> DualPixelCapture:
        values: dict[str, Any] = {"black": 0.0, "white": 65535.0, **changes}
        source = Source("test", (f"{name}_left.pgm", f"{name}_right.pgm"), ("0", "0"))
        return DualPixelCapture(raw=raw, name=name, source=source, **values)

    return make
