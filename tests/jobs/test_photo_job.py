"""A fit with a photo as a job: aligned first, with a picture if that fails."""

from __future__ import annotations

import numpy as np
import pytest
from photo_scene import as_capture
from PIL import Image

from napari_dpdeblur.datasets.synthetic.scene import synthetic_scene
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting import FitSettings
from napari_dpdeblur.jobs.fit_job import OVERLAP, FitRequest, run

SIZE = (192, 256)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    colors = synthetic_scene(*SIZE, channels=3).all_in_focus
    path = tmp_path_factory.mktemp("photo") / "photo.png"
    pixels = np.round(255 * np.sqrt(np.clip(colors, 0, 1))).astype(np.uint8)
    Image.fromarray(np.moveaxis(pixels, 0, -1)).save(path)
    capture = as_capture(colors[1])
    return capture, synthetic_calibration(*SIZE, 2, 2), FitSettings(preset="preview"), path


def test_a_region_is_in_colour_and_a_low_resolution_preview_is_grey(inputs):
    *given, path = inputs
    region = _finished(FitRequest(*given, region=(30, 40, 100, 120), photo=path))
    assert region.all_in_focus.shape == (3, 100, 120)
    small = _finished(FitRequest(*given, reduction=2, photo=path))
    assert small.all_in_focus.shape[0] == 1


def _finished(request):
    steps = run(request)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def test_a_photo_that_does_not_match_sends_a_picture_and_fails(inputs, tmp_path):
    *given, _ = inputs
    Image.fromarray(np.full((*SIZE, 3), (9, 8, 7), np.uint8)).save(tmp_path / "a.png")
    steps = run(FitRequest(*given, photo=tmp_path / "a.png"))
    found = {}

    def follow():
        for message in steps:
            found.update(getattr(message, "found", {}))

    with pytest.raises(FitError, match=r"is black or uniform") as caught:
        follow()
    assert found[OVERLAP].dtype == np.uint8
    assert type(caught.value) is FitError
