"""Preview image: input, all-in-focus image and defocus map side by side."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from napari_dpdeblur.array_types import AnyFloatArray, Picture
from napari_dpdeblur.capture.levels import linear_to_srgb
from napari_dpdeblur.results.defocus_colors import ColorScale, color_scale

PANEL_LONG_SIDE_PX = 720
GAP_PX = 12
HEADER_PX = 34
BAR_PX = 14
BAR_NEIGHBOURS_PX = 216  # the label of the panel and the two numbers
WHITE_PERCENTILE = 99.7
BACKGROUND = (24, 24, 27)
INK = (236, 236, 240)
TICK_PX = 4  # of the focus plane, above and below the colour bar
LABELLED_BAR_PX = 120  # narrower bars have no room for a word


def tone_curve(image: AnyFloatArray, white: float) -> Picture:
    """Convert linear (C, H, W) to sRGB, uint8 (H, W, 3); `white` becomes full scale."""
    linear = np.nan_to_num(np.asarray(image, dtype=np.float32)) / np.float32(max(white, 1e-12))
    display = linear_to_srgb(np.clip(linear, 0.0, 1.0))
    picture = np.moveaxis(np.round(255 * display).astype(np.uint8), 0, -1)
    return np.repeat(picture, 3, axis=2) if picture.shape[2] == 1 else picture


def white_point(image: AnyFloatArray) -> float:
    """The linear value shown as white: close to the maximum, ignoring a few highlights."""
    return float(np.percentile(np.nan_to_num(image), WHITE_PERCENTILE))


def preview_picture(
    all_in_focus: AnyFloatArray, defocus_map: AnyFloatArray, captured: AnyFloatArray | None = None
) -> Picture:
    """Labelled panels in a row: uint8 (h, w, 3).

    `all_in_focus` and `captured` (C, H, W), linear, share one tone curve; `defocus_map` (H, W) has
    a colour bar, on which the focus plane is marked if the map is on both sides of it.
    """
    small = _reduced(all_in_focus)
    white = white_point(small)
    scale = color_scale(defocus_map)
    panels = [
        ("all in focus", _shrink(tone_curve(small, white))),
        ("defocus scale", _shrink(scale.paint(_reduced(defocus_map[None])[0]))),
    ]
    if captured is not None:
        light = _shrink(tone_curve(_reduced(captured), white))
        panels.insert(0, ("captured (mean of both views)", light))
    canvas = _lay_out(panels)
    _draw_color_bar(canvas, panels[-1][1].shape[1], scale)
    return np.asarray(canvas)


def labelled_panels(panels: dict[str, Picture]) -> Picture:
    """Pictures (h, w, 3) in a row, each below its label: uint8 (h, w, 3)."""
    return np.asarray(_lay_out(list(panels.items())))


def write_preview(file: Path | BinaryIO, picture: Picture) -> None:
    """Write a preview as PNG to a path or an open file."""
    encoded = cv2.imencode(".png", np.ascontiguousarray(picture[..., ::-1]))[1].tobytes()
    if isinstance(file, Path):
        file.write_bytes(encoded)
    else:
        file.write(encoded)


def _reduced(images: AnyFloatArray) -> AnyFloatArray:
    """Means over blocks of (C, H, W), as large as leave more pixels than a panel has."""
    factor = max(images.shape[-2:]) // PANEL_LONG_SIDE_PX
    if factor <= 1:
        return images
    height, width = (side // factor * factor for side in images.shape[-2:])
    size = (width // factor, height // factor)
    planes = (np.ascontiguousarray(plane[:height, :width], np.float32) for plane in images)
    return np.stack([cv2.resize(p, size, interpolation=cv2.INTER_AREA) for p in planes])


def _shrink(picture: Picture) -> Picture:
    factor = PANEL_LONG_SIDE_PX / max(picture.shape[:2])
    if factor >= 1.0:
        return picture
    height, width = (max(1, round(side * factor)) for side in picture.shape[:2])
    resized = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(resized, dtype=np.uint8)


def _lay_out(panels: list[tuple[str, Picture]]) -> Image.Image:
    height = max(picture.shape[0] for _, picture in panels)
    width = sum(picture.shape[1] + GAP_PX for _, picture in panels) + GAP_PX
    canvas = Image.new("RGB", (width, height + HEADER_PX + GAP_PX), BACKGROUND)
    draw = ImageDraw.Draw(canvas)
    left = GAP_PX
    for label, picture in panels:
        draw.text((left, HEADER_PX / 2), label, INK, ImageFont.load_default(18), anchor="lm")
        canvas.paste(Image.fromarray(picture), (left, HEADER_PX))
        left += picture.shape[1] + GAP_PX
    return canvas


def _draw_color_bar(canvas: Image.Image, panel_px: int, scale: ColorScale) -> None:
    """Draw a colour bar at the right end of the last panel's header."""
    font = ImageFont.load_default(14)
    lowest, highest = (f"{limit:.2f}" for limit in scale.limits)
    width = max(min(panel_px // 3, panel_px - BAR_NEIGHBOURS_PX), BAR_PX)
    right = canvas.width - GAP_PX
    draw = ImageDraw.Draw(canvas)
    draw.text((right, HEADER_PX / 2), highest, INK, font, anchor="rm")
    right -= int(draw.textlength(highest, font)) + 6
    top = (HEADER_PX - BAR_PX) // 2
    ramp = scale.paint(np.tile(np.linspace(*scale.limits, width), (BAR_PX, 1)))
    canvas.paste(Image.fromarray(ramp), (right - width, top))
    draw.text((right - width - 6, HEADER_PX / 2), lowest, INK, font, anchor="rm")
    if scale.is_diverging:
        _mark_focus(draw, right - width / 2, top, has_room=width >= LABELLED_BAR_PX)


def _mark_focus(draw: ImageDraw.ImageDraw, centre: float, top: int, has_room: bool) -> None:
    """Mark the centre of a bar above and below it, and name it on its light colours."""
    bottom = top + BAR_PX
    for first, last in ((top - TICK_PX - 1, top - 2), (bottom + 1, bottom + TICK_PX)):
        draw.line((centre, first, centre, last), INK)
    if has_room:
        middle = (centre, top + BAR_PX / 2)
        draw.text(middle, "focus", BACKGROUND, ImageFont.load_default(11), anchor="mm")
