"""The whole way in a real window, by the real buttons: the tour of the tutorial, quicker.

DPDEBLUR_PICTURES names a folder for a screenshot of each step.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from load_script import load_script

from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.results import read_run
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.camera import grid_of
from napari_dpdeblur.viewer.layers.metadata import ALL_IN_FOCUS, DEFOCUS_MAP, MPI
from napari_dpdeblur.viewer.open.listing import listing_of

CAMERA = "demo phone"  # as the tour calls it
SIZE = (192, 256)
PICKED = "2026_02"


@pytest.fixture
def script():
    """docs/make_screenshots.py as a module."""
    return load_script("docs/make_screenshots.py")


@pytest.fixture
def tour(script, viewer, tmp_path, monkeypatch):
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path / "cache"))
    pictures = os.environ.get("DPDEBLUR_PICTURES")
    shots = None if pictures is None else Path(pictures)
    return script.Tour(viewer, tmp_path, shots, group=PICKED)


def lit_share(pixels):
    """How much of the canvas is not black."""
    return float((pixels.max(axis=-1) > 20).mean())


def test_the_whole_journey(script, tour, viewer, tmp_path):
    """From an empty window to the same picture in another session."""
    folder = script.simulate_pairs(tmp_path / "captures", SIZE)
    tour.open_folder(folder, 1)
    assert [entry.name for entry in listing_of(viewer).entries] == ["2026_01", PICKED, "2026_03"]
    assert list(queries.captures(viewer)) == [PICKED]
    first = tour.canvas()
    assert lit_share(first) > 0.3
    assert first.std() > 30

    assert "No verdict" in tour.choose_calibration()
    lens = load_calibration(folder / "phone.dpcal")
    widget = tour.fit("preview")
    assert widget.inputs.calibration.content_hash() == lens.content_hash()
    check_result(viewer)
    tour.look()
    check_map_on_canvas(tour)

    before, after = tour.compare(widget)
    assert not np.array_equal(before, after)
    assert not grid_of(viewer).enabled

    widget = tour.inspect()
    near, far = tour.refocus_near_and_far(widget)
    assert not np.array_equal(near, far)
    assert len(tour.rock(widget)) == 3
    tour.depth(widget)

    before = queries.results(viewer)[PICKED]
    saved = tour.save()
    tour.reopen(saved)
    check_reopened(viewer, before, saved)
    assert lit_share(tour.canvas()) > 0.3
    check_same_lens(tour, lens)


def test_a_calibration_is_measured(script, tour, viewer, tmp_path):
    settings = script.simulate_captures(tmp_path / "shoot")
    quick = {"iterations": 20, "rough_iterations": 10}
    verdict = tour.calibrate(tmp_path / "shoot", {**settings, **quick})
    assert "Verdict" in verdict
    check_calibration(viewer, tmp_path)


def check_calibration(viewer, folder):
    made = queries.calibrations(viewer)[CAMERA]
    saved = load_calibration(folder / "phone.dpcal")
    assert saved.content_hash() == made.content_hash()
    assert saved.camera == CAMERA
    # The views differ as those of the simulated lens do: left lies to the left.
    offsets = np.arange(saved.kernels.shape[-1]) - saved.kernels.shape[-1] // 2
    centroids = (saved.kernels.sum(axis=-2) * offsets).sum(axis=-1)
    assert np.mean(centroids[:, 0] - centroids[:, 1]) == pytest.approx(-3.0, abs=0.5)


def check_result(viewer):
    """Sharper than the capture, with a map that covers the range of the scene."""
    result = queries.results(viewer)[PICKED]
    lens = queries.calibrations(viewer)["synthetic lens"]
    captured = lens.prepare(queries.captures(viewer)[PICKED])[0, 0]
    assert sharpness(result.all_in_focus[0]) > 1.2 * sharpness(captured)
    assert np.ptp(result.defocus_map) > 0.5
    assert queries.layer_of(viewer, PICKED, ALL_IN_FOCUS).visible


def sharpness(image):
    return np.abs(np.diff(image, axis=1)).mean() / image.mean()


def check_map_on_canvas(tour):
    """Viridis has colours that no grey picture has."""
    tour.show_only(queries.layer_of(tour.viewer, PICKED, DEFOCUS_MAP).name)
    pixels = tour.canvas().astype(int)
    colourful = np.ptp(pixels, axis=-1) > 40
    assert colourful.mean() > 0.2  # a grey picture has none


def check_reopened(viewer, before, folder):
    back = queries.results(viewer)[PICKED]
    np.testing.assert_array_equal(back.all_in_focus, before.all_in_focus)
    np.testing.assert_array_equal(back.defocus_map, before.defocus_map)
    layers = len(back.defocus_scales)
    assert queries.layer_of(viewer, PICKED, MPI).data.shape == (layers, *SIZE, 4)
    assert read_run(folder).provenance["settings"]["preset"] == "preview"
    assert queries.layer_of(viewer, PICKED, MPI).axis_labels == ("layer", "y", "x")


def check_same_lens(tour, lens):
    """Refocusing uses the kernels of the fit, not a round aperture."""
    widget = tour.turn_to("Inspect")
    tour.turn_page(tour.child(widget, "inspect_tabs").tabBar(), "Refocus")
    tour.settle(1.0)
    assert np.array_equal(widget.source.calibration.kernels, lens.kernels)
    tour.refocus(widget, 0.2)
    tour.shot("20_refocused_again")
