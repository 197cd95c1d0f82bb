"""The ablation."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from napari_dpdeblur.evaluation.comparison import published
from napari_dpdeblur.evaluation.comparison.ablation import (
    VARIANTS,
    ablation_methods,
    mean_defocus_plot,
)
from napari_dpdeblur.evaluation.comparison.result_store import Row


def test_ablation_has_every_row_of_table_2() -> None:
    names = [method.label for method in ablation_methods("preview", 300, None)]
    assert names == list(VARIANTS)
    assert set(published.ABLATION) <= set(names)
    signatures = {m.signature("001") for m in ablation_methods("preview", 300, None)}
    assert len(signatures) == len(names)


def test_the_plot_shows_each_scene_twice() -> None:
    labels = ("all terms", "no bias correction")
    values = iter((1.0, 0.8, 0.5, 0.45))
    rows = [Row(lb, lb, s, mean_defocus=next(values)) for s in ("001", "<2>") for lb in labels]
    svg = ElementTree.fromstring(mean_defocus_plot([*rows, Row("x", "all terms", "003")]))
    space = "{http://www.w3.org/2000/svg}"
    texts = [text.text for text in svg.iter(f"{space}text")]
    assert {"001", "<2>", "0.80", "0.45"} <= set(texts)
    assert "003" not in texts, "a scene that failed has no bars"
    heights = [float(bar.get("height")) for bar in svg.iter(f"{space}rect") if bar.get("x")][2:]
    assert heights[1] / heights[0] == pytest.approx(0.8, abs=0.01)
