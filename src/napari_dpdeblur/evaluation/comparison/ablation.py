"""Ablation of the terms of the objective, as in Table 2 of the paper."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from napari_dpdeblur.evaluation.comparison.methods import NamedMethod, fit_method
from napari_dpdeblur.evaluation.comparison.result_store import Row
from napari_dpdeblur.fitting.settings import Weights

if TYPE_CHECKING:
    from napari_dpdeblur.array_types import Crop

FULL = "all terms"
NO_BIAS = "no bias correction"
VARIANTS: dict[str, dict[str, Any]] = {
    **{f"no {term}": {"weights": {term: 0}} for term in Weights.model_fields},
    NO_BIAS: {"bias_correction": False},
    FULL: {},  # last, as the report opens with it
}

BAR_PX, GAP_PX, PLOT_PX = 26, 28, 220
TOP_PX, LEFT_PX = 64, 56
COLORS = {FULL: "#2a6fdb", NO_BIAS: "#e08a1e"}


def ablation_methods(preset: str, steps: int, crop: Crop | None) -> list[NamedMethod]:
    """The fit without each term, without bias correction, and with all terms."""
    common = {"preset": preset, "steps": steps}
    return [
        fit_method(name.replace(" ", "-"), name, {**common, **changes}, crop)
        for name, changes in VARIANTS.items()
    ]


def mean_defocus_plot(rows: Sequence[Row]) -> str:
    """Mean of the defocus map of each scene with and without bias correction, as SVG."""
    means = {(row.label, row.scene): row.mean_defocus for row in rows}
    scenes = [
        scene
        for scene in dict.fromkeys(row.scene for row in rows)
        if all(means.get((label, scene)) is not None for label in COLORS)
    ]
    shown = [abs(means[label, scene] or 0.0) for label in COLORS for scene in scenes]
    highest = max(shown, default=1.0)
    width = LEFT_PX + len(scenes) * (2 * BAR_PX + GAP_PX) + GAP_PX
    parts = [_text(LEFT_PX, 22, "Mean of the defocus map, in defocus scales", "start", 15)]
    parts += _legend()
    parts += _axis(width, highest)
    for number, scene in enumerate(scenes):
        left = LEFT_PX + GAP_PX / 2 + number * (2 * BAR_PX + GAP_PX)
        for bar, label in enumerate(COLORS):
            parts.append(_bar(left + bar * BAR_PX, means[label, scene] or 0.0, highest, label))
        parts.append(_text(left + BAR_PX, TOP_PX + PLOT_PX + 20, scene, "middle", 13))
    height = TOP_PX + PLOT_PX + 34
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {max(width, 420)} {height}"'
    style = 'font-family="sans-serif" role="img" aria-label="Mean defocus of each scene"'
    background = '<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([f"{head} {style}>", background, *parts, "</svg>", ""])


def _bar(left: float, value: float, highest: float, label: str) -> str:
    height = PLOT_PX * abs(value) / highest if highest > 0 else 0.0  # the number has the sign
    top = TOP_PX + PLOT_PX - height
    number = _text(left + BAR_PX / 2, top - 4, f"{value:.2f}", "middle", 10)
    box = f'x="{left:.1f}" y="{top:.1f}" width="{BAR_PX - 3}" height="{height:.1f}"'
    return f'<rect {box} fill="{COLORS[label]}"/>{number}'


def _axis(width: float, highest: float) -> list[str]:
    lines = []
    for part in (0.0, 0.5, 1.0):
        y = TOP_PX + PLOT_PX * (1 - part)
        lines.append(f'<path d="M{LEFT_PX} {y:.1f}H{width:.1f}" stroke="#ccc" fill="none"/>')
        lines.append(_text(LEFT_PX - 8, y + 4, f"{part * highest:.2f}", "end", 11))
    return lines


def _legend() -> list[str]:
    names = {FULL: "with bias correction", NO_BIAS: "without"}
    parts, left = [], float(LEFT_PX)
    for label, color in COLORS.items():
        parts.append(f'<rect x="{left}" y="32" width="11" height="11" fill="{color}"/>')
        parts.append(_text(left + 17, 42, names[label], "start", 12))
        left += 40 + 7 * len(names[label])
    return parts


def _text(x: float, y: float, text: str, anchor: str, size_px: int) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size_px}"'
    return f'<text {place} fill="#222">{html.escape(text)}</text>'
