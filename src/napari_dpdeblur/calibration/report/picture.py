"""Draw a calibration: kernels of both views, residuals, vignetting, detected discs."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from napari_dpdeblur.calibration.record import Calibration
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.files import atomic_file

PANEL_WIDTH_PX = 640
GAP_PX = 12
HEADER_PX = 30
BACKGROUND = (24, 24, 27)
INK = (236, 236, 240)
GRADE_COLORS = {"good": (80, 220, 120), "acceptable": (240, 200, 70), "bad": (255, 90, 90)}
DISC_COLOR, SHIFT_COLOR, FIELD_COLOR = (80, 220, 120), (255, 80, 80), (90, 170, 255)
FILLED_COLOR, GRID_COLOR = (255, 90, 90), (58, 58, 64)
LESS_COLOR, MORE_COLOR = np.array([60.0, 110, 220]), np.array([220.0, 90, 50])
SHIFT_GAIN = 10.0  # residuals of discs are drawn this much longer
MAX_RATIO_DEVIATION = 0.5
DIMMED = 0.45
NOTE_CHARS = 76
LEAST_SPAN = 2.5  # of the noise, so that pure noise looks dark
VIEWS = ("left", "right")


def calibration_picture(calibration: Calibration) -> np.ndarray:
    """Labelled panels, two per row: uint8 (h, w, 3).

    Residuals, discs and verdict are shown only if the calibration was computed here. Kernels that
    were measured in front of the focus plane follow with panels of their own.
    """
    panels = _side_panels(calibration)
    front = calibration.front_side()
    if front is not None:
        same = replace(front, vignetting=None)
        panels += [(f"in front: {label}", picture) for label, picture in _side_panels(same)]
    return _lay_out(panels)


def _side_panels(calibration: Calibration) -> list[tuple[str, np.ndarray]]:
    """Panels of one side of the focus plane, an even number."""
    panels = [
        (f"kernels, {name} view (brightness: square root)", _kernel_grid(calibration, v))
        for v, name in enumerate(VIEWS)
    ]
    kept = calibration.diagnostics
    if "residual" in kept:
        panels += _residual_panels(calibration)
    if calibration.vignetting is not None:
        panels += _vignetting_panels(calibration.vignetting, calibration.vignetting_ratio)
    if {"thumbnail", "discs"} <= set(kept):
        label = f"{len(kept['discs'])} discs found; red: deviation x {SHIFT_GAIN:g}; blue: field"
        panels.append((label, _discs(calibration)))
        panels.append(("verdict", _verdict(calibration, panels[-1][1].shape)))
    return panels


def write_calibration_picture(calibration: Calibration, path: Path) -> None:
    """Write the picture of a calibration as PNG."""
    try:
        with atomic_file(path) as beside:
            Image.fromarray(calibration_picture(calibration)).save(beside, format="PNG")
    except OSError as error:
        raise CalibrationError(f"{path} cannot be written: {error.strerror or error}.") from error


def _kernel_grid(calibration: Calibration, view: int) -> np.ndarray:
    """Kernels of one view arranged by tile; filled tiles have a red frame."""
    kernels = calibration.kernels[:, view]
    size = kernels.shape[-1]
    shape = (calibration.rows, calibration.cols, size, size)
    grid = kernels.reshape(shape).swapaxes(1, 2).reshape(shape[0] * size, shape[1] * size)
    picture = _grey(np.sqrt(grid / kernels.max()))
    picture[size::size] = GRID_COLOR
    picture[:, size::size] = GRID_COLOR
    filled = (calibration.verdict or {}).get("filled_tiles", [])
    for tile in filled:
        row, col = divmod(int(tile), calibration.cols)
        corners = ((col * size, row * size), ((col + 1) * size - 1, (row + 1) * size - 1))
        cv2.rectangle(picture, *corners, FILLED_COLOR, 2)
    return picture


def _residual_panels(calibration: Calibration) -> list[tuple[str, np.ndarray]]:
    """Residuals of the kernel fit, root mean square over small cells."""
    residual = calibration.diagnostics["residual"]
    checks = {c["name"]: c["value"] for c in (calibration.verdict or {}).get("checks", [])}
    noise = float(checks.get("noise_to_white", 0.0))
    top = max(float(np.percentile(residual, 99.5)), LEAST_SPAN * noise, 1e-6)
    scale = f"{top / noise:.1f} x noise" if noise else f"{top:.3f} of the screen's white"
    return [
        (f"residual, {name} view (black 0, white {scale})", _grey(residual[v] / top))
        for v, name in enumerate(VIEWS)
    ]


def _vignetting_panels(white: np.ndarray, ratio: np.ndarray | None) -> list[tuple[str, np.ndarray]]:
    mean = white.mean(axis=0)
    darkest = 100 * float(mean.min() / mean.max())
    panels = [
        (f"white sheet, mean of both views (darkest {darkest:.0f} %)", _grey(mean / mean.max()))
    ]
    if ratio is not None:
        low, high = float(ratio.min()), float(ratio.max())
        label = f"left / right, {low:.2f} (blue) to {high:.2f} (orange), white 1"
        panels.append((label, _diverging((ratio - 1) / MAX_RATIO_DEVIATION)))
    return panels


def _diverging(signed: np.ndarray) -> np.ndarray:
    """Map values from -1 to 1 to blue, white and orange: uint8 (h, w, 3)."""
    amount = np.clip(np.abs(signed), 0.0, 1.0)[..., None]
    color = np.where(signed[..., None] < 0, LESS_COLOR, MORE_COLOR)
    return np.asarray(np.rint(255 * (1 - amount) + color * amount), np.uint8)


def _discs(calibration: Calibration) -> np.ndarray:
    """Detected centres on the capture, their deviations, and the field."""
    thumbnail = calibration.diagnostics["thumbnail"]
    picture = _grey(DIMMED * np.sqrt(np.clip(thumbnail, 0.0, 1.0)))
    scale = thumbnail.shape[1] / calibration.frame_shape[1]
    f = calibration.field
    corners = np.rint(scale * np.array([f.left, f.top, f.left + f.width, f.top + f.height]))
    left, top, right, bottom = (int(value) for value in corners)
    cv2.rectangle(picture, (left, top), (right, bottom), FIELD_COLOR, 1)
    for x, y, dx, dy in calibration.diagnostics["discs"] * scale:
        here = (round(float(x)), round(float(y)))
        there = (round(float(x + SHIFT_GAIN * dx)), round(float(y + SHIFT_GAIN * dy)))
        cv2.line(picture, here, there, SHIFT_COLOR, 1, cv2.LINE_AA)
        cv2.circle(picture, here, 1, DISC_COLOR, -1, cv2.LINE_AA)
    return picture


def _verdict(calibration: Calibration, shape: tuple[int, ...]) -> np.ndarray:
    """Grade, figures and notes as text: uint8 of ``shape``."""
    verdict = calibration.verdict or {}
    canvas = Image.new("RGB", (shape[1], shape[0]), BACKGROUND)
    draw = ImageDraw.Draw(canvas)
    grade = str(verdict.get("grade", "none"))
    draw.text((0, 4), grade, GRADE_COLORS.get(grade, INK), ImageFont.load_default(34))
    draw.text((0, 48), calibration.camera, INK, _font())
    lines = [(f"{c['value']:g}", c["name"], c["grade"]) for c in verdict.get("checks", [])]
    for number, (value, name, check) in enumerate(lines):
        top = 84 + 24 * number
        draw.text((0, top), name.replace("_", " "), INK, _font())
        draw.text((300, top), value, INK, _font(), anchor="ra")
        draw.text((320, top), check, GRADE_COLORS.get(check, INK), _font())
    notes = [line for note in verdict.get("notes", []) for line in textwrap.wrap(note, NOTE_CHARS)]
    draw.multiline_text((0, 100 + 24 * len(lines)), "\n".join(notes), INK, _font())
    return np.asarray(canvas)


def _grey(unit: np.ndarray) -> np.ndarray:
    """Map values from 0 to 1 to grey: uint8 (h, w, 3)."""
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
