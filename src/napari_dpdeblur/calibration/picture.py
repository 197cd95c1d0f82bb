"""A picture of a calibration: kernels of both views, residuals, vignetting, detected discs."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from napari_dpdeblur.calibration.calibration import Calibration
from napari_dpdeblur.errors import CalibrationError

PANEL_WIDTH_PX = 640
GAP_PX = 12
HEADER_PX = 30
BACKGROUND = (24, 24, 27)
INK = (236, 236, 240)
DISC_COLOR, SHIFT_COLOR, FILLED_COLOR = (80, 220, 120), (255, 90, 90), (255, 90, 90)
SHIFT_GAIN = 10.0  # residuals of discs are drawn this much longer
MAX_RATIO_DEVIATION = 0.5


def calibration_picture(calibration: Calibration) -> np.ndarray:
    """Labelled panels, two in a row: bytes (h, w, 3).

    Residuals and discs are there only if the calibration was made by a run.
    """
    views = ("left", "right")
    panels = [
        (f"kernels, {name} view", _kernel_grid(calibration, v)) for v, name in enumerate(views)
    ]
    kept = calibration.diagnostics
    if "residual" in kept:
        top = float(np.percentile(kept["residual"], 99.5)) or 1.0
        panels += [
            (
                f"residual, {name} view (white = {top:.3f} of white)",
                _grey(kept["residual"][v] / top),
            )
            for v, name in enumerate(views)
        ]
    if calibration.vignetting is not None:
        panels += _vignetting_panels(calibration.vignetting, calibration.vignetting_ratio)
    if {"thumbnail", "discs"} <= set(kept):
        label = f"{len(kept['discs'])} discs; red: deviation x {SHIFT_GAIN:g}"
        panels.append((label, _discs(kept["thumbnail"], kept["discs"], calibration.frame_shape)))
    return _lay_out(panels)


def write_picture(calibration: Calibration, path: Path) -> None:
    """Save the picture as PNG."""
    try:
        Image.fromarray(calibration_picture(calibration)).save(path, format="PNG")
    except OSError as error:
        raise CalibrationError(f"{path} cannot be written: {error.strerror or error}.") from error


def _kernel_grid(calibration: Calibration, view: int) -> np.ndarray:
    """All kernels of a view in their places; filled tiles have a red frame."""
    kernels = calibration.kernels[:, view]
    size = kernels.shape[-1]
    shape = (calibration.rows, calibration.cols, size, size)
    grid = kernels.reshape(shape).swapaxes(1, 2).reshape(shape[0] * size, shape[1] * size)
    picture = _grey(np.sqrt(grid / kernels.max()))
    filled = (calibration.verdict or {}).get("filled_tiles", [])
    for tile in filled:
        row, col = divmod(int(tile), calibration.cols)
        corners = ((col * size, row * size), ((col + 1) * size - 1, (row + 1) * size - 1))
        cv2.rectangle(picture, *corners, FILLED_COLOR, 2)
    return picture


def _vignetting_panels(white: np.ndarray, ratio: np.ndarray | None) -> list[tuple[str, np.ndarray]]:
    panels = [("white, mean of both views", _grey(white.mean(axis=0) / white.mean(axis=0).max()))]
    if ratio is not None:
        unit = np.clip(0.5 + (ratio - 1) / (2 * MAX_RATIO_DEVIATION), 0.0, 1.0)
        colored = cv2.applyColorMap(np.rint(255 * unit).astype(np.uint8), cv2.COLORMAP_TWILIGHT)
        panels.append(("left / right, 0.5 to 1.5", np.ascontiguousarray(colored[..., ::-1])))
    return panels


def _discs(thumbnail: np.ndarray, discs: np.ndarray, frame_shape: tuple[int, int]) -> np.ndarray:
    """Centres over the capture, with their deviations from the prediction."""
    picture = _grey(np.sqrt(np.clip(thumbnail, 0.0, 1.0)))
    scale = thumbnail.shape[1] / frame_shape[1]
    for x, y, dx, dy in discs * scale:
        here = (round(float(x)), round(float(y)))
        there = (round(float(x + SHIFT_GAIN * dx)), round(float(y + SHIFT_GAIN * dy)))
        cv2.line(picture, here, there, SHIFT_COLOR, 1, cv2.LINE_AA)
        cv2.circle(picture, here, 2, DISC_COLOR, -1, cv2.LINE_AA)
    return picture


def _grey(unit: np.ndarray) -> np.ndarray:
    """Values 0 to 1 as a grey picture, bytes (h, w, 3)."""
    values = np.rint(255 * np.clip(unit, 0.0, 1.0)).astype(np.uint8)
    return np.ascontiguousarray(np.repeat(values[..., None], 3, axis=2))


def _lay_out(panels: list[tuple[str, np.ndarray]]) -> np.ndarray:
    scaled = [(label, _at_panel_width(picture)) for label, picture in panels]
    rows = [scaled[i : i + 2] for i in range(0, len(scaled), 2)]
    heights = [max(picture.shape[0] for _, picture in row) + HEADER_PX for row in rows]
    size = (2 * PANEL_WIDTH_PX + 3 * GAP_PX, sum(heights) + GAP_PX)
    canvas = Image.new("RGB", size, BACKGROUND)
    draw = ImageDraw.Draw(canvas)
    top = 0
    for row, height in zip(rows, heights, strict=True):
        for col, (label, picture) in enumerate(row):
            left = GAP_PX + col * (PANEL_WIDTH_PX + GAP_PX)
            draw.text((left, top + HEADER_PX / 2), label, INK, _font(), anchor="lm")
            canvas.paste(Image.fromarray(picture), (left, top + HEADER_PX))
        top += height
    return np.asarray(canvas)


def _font() -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    return ImageFont.load_default(16)


def _at_panel_width(picture: np.ndarray) -> np.ndarray:
    height = round(picture.shape[0] * PANEL_WIDTH_PX / picture.shape[1])
    is_smaller = picture.shape[1] < PANEL_WIDTH_PX
    method = cv2.INTER_NEAREST if is_smaller else cv2.INTER_AREA
    return np.asarray(cv2.resize(picture, (PANEL_WIDTH_PX, height), interpolation=method))
