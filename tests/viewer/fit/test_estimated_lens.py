"""A fit without a calibration in a real window: progress, kernels, verdict, the lens for later."""

from __future__ import annotations

import pytest
from fit_bench import QUICK, FitBench

from napari_dpdeblur.datasets.synthetic.simulation import simulate
from napari_dpdeblur.jobs.lens_job import STAGE
from napari_dpdeblur.results import read_run
from napari_dpdeblur.viewer.fit.command import fit_command
from napari_dpdeblur.viewer.layers import queries


@pytest.fixture
def bench(viewer, qtbot, monkeypatch, tmp_path):
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path / "cache"))
    made = FitBench(viewer, qtbot, simulate(288, 384).capture, None)
    yield made
    made.close()


def test_the_lens_is_estimated_shown_and_kept(bench, tmp_path):
    seen, verdicts = [], []
    bench.worker.progressed.connect(lambda event: seen.append((event.stage, event.fraction)))
    lens_text = bench.widget.notes.lens.text
    bench.worker.progressed.connect(lambda event: verdicts.append(lens_text.text()))
    bench.widget.output.show_folder(str(tmp_path / "runs"))
    bench.run(QUICK)
    assert any(stage.startswith(STAGE) for stage, _ in seen)
    fractions = [fraction for stage, fraction in seen if stage != "loading"]
    assert fractions == sorted(fractions)
    assert any("Verdict" in text for text in verdicts), "before the fit"
    assert "The lens was estimated from this capture (verdict: " in bench.widget.notes.text.text()
    assert not bench.widget.notes.lens.isVisible()
    lens = queries.calibrations(bench.viewer)["synthetic lens"]
    assert lens.is_estimated
    assert not bench.viewer.layers["synthetic lens kernels"].visible
    assert bench.widget.inputs.calibration is lens, "for the next fit"
    saved = read_run(tmp_path / "runs" / "synthetic-run")
    assert saved.calibration.content_hash() == lens.content_hash()
    assert not list((tmp_path / "cache").rglob("*.dpcal")), "nothing is left in the cache"
    capture = bench.widget.inputs.capture
    assert bench.widget.inputs.estimates_lens
    assert "--calibration" not in fit_command(capture, None, QUICK, is_estimated=True)
    assert "--calibration CALIBRATION.dpcal" in fit_command(capture, None, QUICK)
    assert_swapped_views_get_a_lens_of_their_own(bench.widget)


def assert_swapped_views_get_a_lens_of_their_own(widget):
    used = []
    widget._again = lambda: used.append((widget.settings().swap_views, widget.inputs.calibration))
    widget.swap_views()
    assert used == [(True, None)]


def test_a_cancelled_estimate_leaves_no_picture_behind(bench):
    bench.click_run(QUICK)
    bench.until(lambda: bench.worker.seen is not None)
    bench.widget.panel.cancel_button.click()
    bench.until(lambda: not bench.worker.is_running)
    assert not bench.widget.notes.isVisible()
    assert "Run resumes" in bench.messages[-1]
