"""The whole way in a real window, by the real buttons: the tour of the tutorial, quicker."""

from __future__ import annotations

import numpy as np
import pytest
from load_script import load_script

from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.results import read_run
from napari_dpdeblur.viewer import samples
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.metadata import (
    ALL_IN_FOCUS,
    DEFOCUS_MAP,
    MPI,
    TRUE_DEFOCUS,
    TRUE_IMAGE,
    layer_info,
)


@pytest.fixture
def script():
    """docs/make_screenshots.py as a module."""
    return load_script("docs/make_screenshots.py")


@pytest.fixture
def tour(script, viewer, tmp_path, monkeypatch):
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path / "cache"))
    return script.Tour(viewer, tmp_path)


def lit_share(pixels):
    """How much of the canvas is not black."""
    return float((pixels.max(axis=-1) > 20).mean())


def test_the_whole_journey(script, tour, viewer, tmp_path, monkeypatch):
    monkeypatch.setattr(samples, "SIZE", (360, 480))  # quick to fit
    tour.open_sample()
    first = tour.canvas()
    assert lit_share(first) > 0.3
    assert first.std() > 30

    settings = script.simulate_captures(tmp_path / "shoot")
    quick = {"iterations": 20, "rough_iterations": 10}
    verdict = tour.calibrate(tmp_path / "shoot", {**settings, **quick})
    assert "Verdict" in verdict
    check_calibration(script, viewer, tmp_path)

    widget = tour.fit("preview")
    assert widget.panel.run_button.isEnabled()
    check_result(viewer, script.GROUP)
    tour.look(widget)
    check_map_on_canvas(tour, script.GROUP)

    widget = tour.inspect()
    near, far = tour.refocus(widget, 0.2), tour.refocus(widget, 1.2)
    check_refocus(near, far)
    tour.depth(widget)

    before = queries.results(viewer)[script.GROUP]
    folder = tour.save_and_reopen()
    check_reopened(viewer, before, folder, script.GROUP)
    assert lit_share(tour.canvas()) > 0.3


def check_calibration(script, viewer, folder):
    made = queries.calibrations(viewer)[script.CAMERA]
    saved = load_calibration(folder / "phone.dpcal")
    assert saved.content_hash() == made.content_hash()
    assert saved.camera == script.CAMERA
    # The views differ as those of the simulated lens do: left lies to the left.
    offsets = np.arange(saved.kernels.shape[-1]) - saved.kernels.shape[-1] // 2
    centroids = (saved.kernels.sum(axis=-2) * offsets).sum(axis=-1)
    assert np.mean(centroids[:, 0] - centroids[:, 1]) == pytest.approx(-3.0, abs=0.5)


def check_result(viewer, group):
    """Closer to the truth than the capture is."""
    result = queries.results(viewer)[group]
    lens = queries.calibrations(viewer)["synthetic lens"]
    truth = layer_info(queries.layer_of(viewer, group, TRUE_IMAGE)).linear
    captured = lens.prepare(queries.captures(viewer)[group])[0]
    assert likeness(result.all_in_focus, truth) > likeness(captured, truth)
    error = np.abs(result.all_in_focus - truth).mean()
    assert error < np.abs(captured - truth).mean(), "in one unit"
    defocus = queries.layer_of(viewer, group, TRUE_DEFOCUS).data
    assert likeness(result.defocus_map, defocus) > 0.8
    assert queries.layer_of(viewer, group, ALL_IN_FOCUS).visible


def likeness(first, second):
    return np.corrcoef(first.ravel(), second.ravel())[0, 1]


def check_map_on_canvas(tour, group):
    """Viridis has colours that no grey picture has."""
    tour.show_only(queries.layer_of(tour.viewer, group, DEFOCUS_MAP).name)
    pixels = tour.canvas().astype(int)
    colourful = np.ptp(pixels, axis=-1) > 40
    assert colourful.mean() > 0.2  # a grey picture has none


def check_refocus(near, far):
    """The nearest thing, at the bottom, is sharper with the focus near than with the focus far."""

    def sharpness(pixels):
        height, width = pixels.shape[:2]
        part = pixels[height // 2 :, width // 4 : 3 * width // 4].mean(axis=-1)
        return np.abs(np.diff(part, axis=1)).mean()

    assert sharpness(near) > 1.1 * sharpness(far)


def check_reopened(viewer, before, folder, group):
    back = queries.results(viewer)[group]
    np.testing.assert_array_equal(back.all_in_focus, before.all_in_focus)
    np.testing.assert_array_equal(back.defocus_map, before.defocus_map)
    layers = len(back.defocus_scales)
    assert queries.layer_of(viewer, group, MPI).data.shape == (layers, *samples.SIZE, 4)
    assert read_run(folder).provenance["settings"]["preset"] == "preview"
    assert queries.layer_of(viewer, group, MPI).axis_labels == ("layer", "y", "x")
