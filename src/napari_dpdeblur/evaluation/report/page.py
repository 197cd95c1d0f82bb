"""Build the report: template, style, script and data in one HTML file."""

from __future__ import annotations

import base64
import html
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from PIL import Image

from napari_dpdeblur.array_types import Picture
from napari_dpdeblur.evaluation.baselines.prediction import LayerPictures
from napari_dpdeblur.evaluation.comparison.tables import TableRow, best_of, headings
from napari_dpdeblur.evaluation.report.pictures import (
    IMAGE_ERROR_SHOWN,
    KINDS,
    LAYERS,
    MAP_ERROR_SHOWN,
    RESIDUAL_SHOWN,
)
from napari_dpdeblur.evaluation.scoring import ALL_METRICS, LARGER_IS_BETTER
from napari_dpdeblur.results.defocus_colors import ColorScale

QUALITY = {"image": 94, "image error": 75, "defocus": 90, "defocus error": 75, "residual": 75}
LAYER_QUALITY = 80
WEBP_EFFORT = 4  # of 6; higher values take half a second per image
SCRIPTS = ("layers.js", "page.js")
BAR_COLORS = 9  # of the bar below the canvas
Pictures = Mapping[str, Picture]


@dataclass(frozen=True)
class ScenePanel:
    """One scene of the report: layers with label and data URIs by kind."""

    name: str
    defocus_scale: ColorScale
    size: tuple[int, int]
    layers: list[dict[str, Any]]


def layer(
    name: str, label: str, pictures: Pictures, stack: LayerPictures | None = None
) -> dict[str, Any]:
    """An entry of a scene with encoded images, and the layers of a fit, back to front."""
    uris: dict[str, Any] = {
        kind: data_uri(pictures[kind], QUALITY[kind]) for kind in KINDS if kind in pictures
    }
    if stack is not None:
        uris[LAYERS] = [
            {"uri": data_uri(pixels, LAYER_QUALITY), "scale": round(float(scale), 3)}
            for pixels, scale in zip(stack.pixels, stack.scales, strict=True)
        ]
    return {"name": name, "label": label, "pictures": uris}


def data_uri(picture: Picture, quality: int) -> str:
    """Encode an image (H, W, 3 or 4) as a WebP data URI."""
    buffer = io.BytesIO()
    grey = picture.shape[-1] == 3 and bool((picture[..., :1] == picture).all())
    image = Image.fromarray(picture[..., 0] if grey else picture)
    image.save(buffer, "WEBP", quality=quality, method=WEBP_EFFORT)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode()


def build_page(title: str, panels: Sequence[ScenePanel], rows: Sequence[TableRow]) -> str:
    """The report as HTML."""
    columns = headings(rows)
    content = {
        "title": title,
        "kinds": KINDS,
        "metrics": [
            {"name": name, "heading": columns[name], "larger": name in LARGER_IS_BETTER}
            for name in columns
            if name in ALL_METRICS
        ],
        "errorRanges": {
            "image error": IMAGE_ERROR_SHOWN,
            "defocus error": MAP_ERROR_SHOWN,
            "residual": RESIDUAL_SHOWN,
        },
        "scenes": [
            {"name": p.name, "size": p.size, "layers": p.layers, **_scale(p.defocus_scale)}
            for p in panels
        ],
        "rows": _rows(rows),
    }
    # The data must not be able to close the script element.
    data = json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")
    folder = resources.files(__package__)
    page = (folder / "page.html").read_text("utf-8")
    page = page.replace("{{title}}", html.escape(title))
    page = page.replace("{{style}}", (folder / "page.css").read_text("utf-8"))
    script = "".join((folder / name).read_text("utf-8") for name in SCRIPTS)
    page = page.replace("{{script}}", script)
    return page.replace("{{data}}", data)


def _scale(scale: ColorScale) -> dict[str, Any]:
    """Range and colours of the defocus maps of a scene, for the bar below the canvas."""
    stops = scale.palette[np.linspace(0, len(scale.palette) - 1, BAR_COLORS).round().astype(int)]
    colors = ",".join(f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in stops.tolist())
    return {"range": scale.limits, "colors": colors, "isSigned": scale.is_diverging}


def _rows(rows: Sequence[TableRow]) -> list[dict[str, Any]]:
    """Rows with formatted values, identical to those in table.csv."""
    groups = {
        scene: [row for row in rows if row.scene == scene]
        for scene in dict.fromkeys(row.scene for row in rows)
    }
    best = {scene: best_of(group) for scene, group in groups.items()}
    columns = headings(rows)
    return [
        {
            "source": row.source,
            "method": row.method,
            "label": row.label,
            "scene": row.scene,
            "status": row.status,
            "reason": row.reason,
            "scenes": row.scenes,
            "cells": {name: row.cell(name) for name in columns},
            "best": [n for n, top in best[row.scene].items() if row.values.get(n) == top],
        }
        for row in rows
    ]
