"""overview.png: one capture of the colour scene and what the fit makes of it.

    python docs/plots/overview.py [RUN]

RUN is a finished run folder of the sample; without it the scene is fitted, which takes minutes.
A dark card with round corners and labels inside the pictures reads well on light and dark pages.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from common import FOLDER, toned
from PIL import Image, ImageDraw, ImageFont

from napari_dpdeblur.datasets.synthetic.simulation import Sample, sample
from napari_dpdeblur.evaluation.comparison.methods import layer_pictures
from napari_dpdeblur.fitting import fit
from napari_dpdeblur.results import Result, read_run
from napari_dpdeblur.results.defocus_colors import color_scale
from napari_dpdeblur.results.preview import white_point

PANEL, GAP_PX, MARGIN_PX, RADIUS_PX = (640, 480), 8, 12, 12
CARD, LABEL_GROUND, LABEL_INK, FAINT = (23, 24, 27), (12, 13, 15, 190), "#f2f3f5", (150, 154, 164)
COLORS = 255  # and one for the corners: the file goes into every clone
YAW, PITCH, SPREAD = 0.72, 0.13, 1.55  # of the exploded layers; distance in widths
MIN_COVER = 0.02  # layers that cover less of the picture are left out


def exploded(result: Result) -> Image.Image:
    """The layers pulled apart, back to front, seen from the side without perspective."""
    canvas = Image.new("RGBA", PANEL, (*CARD, 255))
    stack = layer_pictures(result)
    shown = [i for i, page in enumerate(stack.pixels) if (page[..., 3] > 127).mean() > MIN_COVER]
    rows, cols = stack.pixels.shape[1:3]
    depth = SPREAD * cols
    width = cols * np.cos(YAW) + depth * np.sin(YAW)
    height = rows * np.cos(PITCH) + (cols * np.sin(YAW) + depth * np.cos(YAW)) * np.sin(PITCH)
    zoom = min(0.95 * PANEL[0] / width, (PANEL[1] - 84) / height)
    font, places = ImageFont.load_default(13), np.linspace(-0.5, 0.5, len(shown)) * depth
    for i, z in zip(shown, places, strict=True):
        along = zoom * np.array([np.cos(YAW), np.sin(YAW) * np.sin(PITCH)])
        down = zoom * np.array([0.0, np.cos(PITCH)])
        middle = np.array([PANEL[0] / 2, PANEL[1] / 2 + 12])
        corner = middle + zoom * z * np.array([np.sin(YAW), np.cos(YAW) * np.sin(PITCH)])
        corner = corner - along * cols / 2 - down * rows / 2
        page = Image.fromarray(stack.pixels[i])
        inverse = np.linalg.inv(np.column_stack([along, down]))
        start = -inverse @ corner
        terms = (*inverse[0], start[0], *inverse[1], start[1])
        placed = page.transform(PANEL, Image.Transform.AFFINE, terms, Image.Resampling.BICUBIC)
        canvas.alpha_composite(placed)
        ends = [corner, corner + along * cols, corner + along * cols + down * rows]
        outline = [tuple(p) for p in (*ends, corner + down * rows, corner)]
        draw = ImageDraw.Draw(canvas)
        draw.line(outline, FAINT, 1)
        foot = corner + down * rows
        draw.text(
            (foot[0] + 4, foot[1] + 10),
            f"{round(float(stack.scales[i]), 2) + 0.0:+.2f}",
            FAINT,
            font,
            anchor="mm",
        )
    return canvas


def labelled(picture: np.ndarray | Image.Image, title: str, ends: str = "") -> Image.Image:
    """A panel with its title in the upper left corner, and a second label in the lower right."""
    image = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
    panel = image.convert("RGBA").resize(PANEL, Image.Resampling.LANCZOS)
    over = Image.new("RGBA", PANEL)
    draw = ImageDraw.Draw(over)
    for text, size, corner in ((title, 20, "left"), (ends, 16, "right")):
        font = ImageFont.load_default(size)
        width = draw.textlength(text, font) + 20
        left, top = (10, 10) if corner == "left" else (PANEL[0] - width - 10, PANEL[1] - 40)
        if text:
            draw.rounded_rectangle((left, top, left + width, top + size + 12), 8, LABEL_GROUND)
            draw.text((left + 10, top + size / 2 + 6), text, LABEL_INK, font, anchor="lm")
    panel.alpha_composite(over)
    panel.putalpha(rounded(PANEL, 8))
    return panel


def rounded(size: tuple[int, int], radius_px: int) -> Image.Image:
    """A mask with round corners."""
    mask = Image.new("L", size, 0)
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, size[0] - 1, size[1] - 1), radius_px, 255)
    return mask


def panels(scene: Sample, result: Result) -> list[Image.Image]:
    """Capture, image, map, layers."""
    views = scene.calibration.prepare(scene.capture)
    white = white_point(np.asarray(result.all_in_focus))
    defocus = np.asarray(result.defocus_map)
    return [
        labelled(toned(views.mean(0), white), "one dual-pixel capture"),
        labelled(toned(result.all_in_focus, white), "all in focus"),
        labelled(
            color_scale(defocus).paint(defocus),
            "signed defocus map",
            "orange: in front of the focus \N{MIDDLE DOT} blue: behind it",
        ),
        labelled(exploded(result), "layers, pulled apart", "numbers: defocus"),
    ]


def main(arguments: list[str]) -> None:
    """Two rows of two, with few colours."""
    scene = sample()
    result = read_run(Path(arguments[0])) if arguments else fit(scene.capture, scene.calibration)
    width, height = (2 * side + GAP_PX + 2 * MARGIN_PX for side in PANEL)
    canvas = Image.new("RGBA", (width, height), (*CARD, 255))
    for number, panel in enumerate(panels(scene, result)):
        left = MARGIN_PX + (number % 2) * (PANEL[0] + GAP_PX)
        top = MARGIN_PX + (number // 2) * (PANEL[1] + GAP_PX)
        canvas.alpha_composite(panel, (left, top))
    opaque = canvas.convert("RGB")
    few = opaque.quantize(palette=opaque.quantize(COLORS), dither=Image.Dither.FLOYDSTEINBERG)
    outside = np.asarray(rounded((width, height), RADIUS_PX)) == 0
    few.putpalette([*few.getpalette()[: 3 * COLORS], *CARD])
    few.paste(COLORS, mask=Image.fromarray(outside))
    FOLDER.mkdir(parents=True, exist_ok=True)
    few.save(FOLDER / "overview.png", optimize=True, transparency=COLORS)


if __name__ == "__main__":
    main(sys.argv[1:])
