"""Notes of a fit in its panel, and the button for views that look swapped."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fit_bench import QUICK, FitBench
from qtpy.QtWidgets import QLabel

from napari_dpdeblur.fitting import FitSettings
from napari_dpdeblur.viewer.fit.verdict import FIT_COLORS
from napari_dpdeblur.viewer.layers.convert import run_layers
from napari_dpdeblur.viewer.layers.metadata import layer_info


@pytest.fixture
def bench(viewer, qtbot, scene_capture, calibration, monkeypatch, tmp_path):
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path))
    made = FitBench(viewer, qtbot, scene_capture, calibration)
    yield made
    made.close()


def noted(result, **provenance):
    return replace(result, provenance={**result.provenance, **provenance})


def test_notes_are_shown_above_the_buttons_which_stay_where_they_are(bench, make_result):
    widget, button = bench.widget, bench.widget.panel.run_button
    bench.dock.setFloating(True)  # docks of other tests may still take up the window
    bench.dock.resize(380, 700)
    plain = make_result()
    bench.worker.finished.emit((plain, run_layers(plain)))
    bench.finish()
    bench.qtbot.wait(100)
    assert not widget.notes.isVisible()
    place = button.mapTo(widget, button.rect().topLeft())
    sentence = "The kernels in front of the focus plane were derived from those behind it."
    result = noted(make_result(), notes=[sentence])
    bench.worker.finished.emit((result, run_layers(result)))
    bench.until(lambda: widget.notes.isVisible())
    bench.qtbot.wait(100)
    assert widget.notes.text.text() == sentence
    assert widget.notes.text.visibleRegion().boundingRect().height() > 0
    assert not widget.notes.swap.isVisible()
    assert button.mapTo(widget, button.rect().topLeft()) == place
    bench.worker.finished.emit((plain, run_layers(plain)))
    assert not widget.notes.isVisible()


def test_the_verdict_is_told_in_plain_words_and_colour(bench, make_result):
    cause = "12% of the pixels are clipped; use a shorter exposure."
    verdict = {"verdict": "acceptable", "causes": [cause]}
    result = noted(make_result(), notes=["A note."], fit_verdict=verdict)
    bench.worker.finished.emit((result, run_layers(result)))
    assert bench.widget.notes.isVisible()
    assert bench.widget.notes.text.text() == "A note."
    shown = bench.widget.findChild(QLabel, "fit_verdict")
    assert shown.isVisible()
    assert "Acceptable fit." in shown.text()
    assert cause in shown.text()
    bad = noted(make_result(), fit_verdict={"verdict": "doubtful", "causes": ["Use <this>."]})
    bench.worker.finished.emit((bad, run_layers(bad)))
    assert "Do not trust this fit." in shown.text()
    assert "Use &lt;this&gt;." in shown.text()
    assert FIT_COLORS["doubtful"] in shown.styleSheet()
    good = noted(make_result(), fit_verdict={"verdict": "good", "causes": []})
    bench.worker.finished.emit((good, run_layers(good)))
    assert "Good fit: the layers explain both views." in shown.text()
    assert FIT_COLORS["good"] in shown.styleSheet()


def test_views_that_look_swapped_come_with_a_button(bench, make_result):
    sentence = "Everything lies in front of the focus plane: are the views swapped?"
    result = noted(make_result(), notes=[sentence], views_look_swapped=True)
    bench.worker.finished.emit((result, run_layers(result)))
    assert bench.widget.notes.swap.isVisible()
    assert bench.widget.notes.swap.text() == "Swap views and fit again"


@pytest.mark.skipif(
    "swap_views" not in FitSettings.model_fields, reason="the fit has no setting swap_views yet"
)
def test_the_button_swaps_the_views_and_fits_again(bench, make_result):
    bench.widget.show_settings(QUICK)
    result = noted(make_result(), notes=["Swapped?"], views_look_swapped=True)
    bench.worker.finished.emit((result, run_layers(result)))
    bench.finish()
    bench.widget.notes.swap.click()
    assert not bench.widget.notes.isVisible()
    assert bench.widget.panel.worker.is_running
    bench.finish()
    assert bench.widget.settings().swap_views
    fitted = layer_info(bench.viewer.layers["scene all-in-focus"])
    assert fitted.provenance["settings"]["swap_views"]


def test_a_doubt_is_shown_while_the_fit_runs_and_in_the_verdict(
    viewer, qtbot, scene_capture, calibration, monkeypatch, tmp_path
):
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path))
    same = replace(scene_capture, raw=scene_capture.raw[[0, 0]])
    bench = FitBench(viewer, qtbot, same, calibration)
    try:
        shown = []
        bench.worker.progressed.connect(lambda _: shown.append(bench.widget.notes.verdict.text()))
        bench.run(QUICK)
        sentence = "The two views are identical: unless the whole scene is in focus"
        assert "This fit will be doubtful." in shown[-1]
        assert sentence in shown[-1]
        assert "Do not trust this fit." in bench.widget.notes.verdict.text()
        assert sentence in bench.widget.notes.verdict.text()
    finally:
        bench.close()
