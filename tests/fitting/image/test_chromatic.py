import cv2
import numpy as np
import pytest
import torch

from napari_dpdeblur.capture.dual_pixel import DualPixelCapture, Source
from napari_dpdeblur.datasets.synthetic.scene import synthetic_scene
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.fitting.image.chromatic import chromatic_shift_px, without_chromatic_shift
from napari_dpdeblur.fitting.parameters.photo import RegistrationParameters
from napari_dpdeblur.fitting.problem import pose_problem
from napari_dpdeblur.fitting.settings import FitSettings

HEIGHT, WIDTH = 240, 320
CENTRE = ((HEIGHT - 1) / 2, (WIDTH - 1) / 2)
PARAMETERS = RegistrationParameters()


@pytest.fixture(scope="module")
def views():
    """Both views alike, with channels of one structure: (2, 3, H, W)."""
    grey = synthetic_scene(HEIGHT, WIDTH).all_in_focus[0]
    return np.stack([np.stack([0.8 * grey, grey, 0.6 * grey])] * 2).astype(np.float32)


def _stretched(views, factors):
    """Red and blue larger by these factors about the middle."""
    made = views.copy()
    for channel, factor in zip((0, 2), factors, strict=True):
        matrix = np.array(
            [[factor, 0, (1 - factor) * CENTRE[1]], [0, factor, (1 - factor) * CENTRE[0]]]
        )
        for view in made:
            view[channel] = cv2.warpAffine(
                view[channel], matrix, (WIDTH, HEIGHT), borderMode=cv2.BORDER_REPLICATE
            )
    return made


def test_the_shift_between_colours_is_measured_and_removed(views):
    corner = np.hypot(*CENTRE)
    moved = _stretched(views, (1.006, 0.997))
    red, blue = chromatic_shift_px(moved, CENTRE, PARAMETERS)
    assert red == pytest.approx(0.006 * corner, abs=0.2)
    assert blue == pytest.approx(-0.003 * corner, abs=0.2)
    clean = without_chromatic_shift(moved, CENTRE, (red, blue))
    again = chromatic_shift_px(clean, CENTRE, PARAMETERS)
    assert max(abs(shift) for shift in again) < 0.25
    np.testing.assert_array_equal(clean[:, 1], moved[:, 1])


def test_a_fit_removes_only_what_can_be_measured(views):
    lens = synthetic_calibration(HEIGHT, WIDTH, 2, 2)

    def problem(pixels):
        source = Source("synthetic", (), ())
        capture = DualPixelCapture(pixels, 0.0, 1.0, "scene", source)
        return pose_problem(capture, lens, FitSettings(), torch.device("cpu"))

    assert problem(views).chromatic_px == (0.0, 0.0)
    red, blue = problem(_stretched(views, (1.006, 1.0))).chromatic_px
    assert red > 0.8
    assert abs(blue) < 0.3
    assert problem(np.ascontiguousarray(views[:, 1:2])).chromatic_px == (0.0, 0.0)
