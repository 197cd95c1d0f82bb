"""Which side of the focus plane captures of the target are from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from napari_dpdeblur.calibration.captures import (
    CAPTURE_GROUPS,
    Captures,
    check_one_side,
    check_two_sides,
    view_shift_px,
)
from napari_dpdeblur.calibration.sides import BEHIND, IN_FRONT
from napari_dpdeblur.datasets.synthetic.calibration_captures import simulate_shoot
from napari_dpdeblur.datasets.synthetic.lens import synthetic_kernels
from napari_dpdeblur.datasets.synthetic.screen_pose import Pose
from napari_dpdeblur.errors import CalibrationError


@pytest.mark.parametrize("disparity", [-5.0, -0.5, 0.5, 3.0])
def test_the_shift_of_the_views_tells_the_side(small_lens, small_target, disparity):
    lens = replace(small_lens, kernels=synthetic_kernels(2, 3, 41, disparity))
    shoot = simulate_shoot(small_target, lens, Pose(scale=1.0), burst=1, sheets=1)
    # the correlation of two shapes that differ peaks near their disparity, not exactly at it
    assert view_shift_px(shoot.discs[0]) == pytest.approx(disparity, rel=0.25)


def test_captures_without_pattern_do_not_tell(small_shoot):
    for capture in (small_shoot.white, small_shoot.black, small_shoot.sheets[0]):
        assert view_shift_px(capture) is None


def test_a_sharp_target_does_not_tell(small_shoot):
    same = np.repeat(small_shoot.discs[0].raw[:1], 2, axis=0)
    assert view_shift_px(replace(small_shoot.discs[0], raw=same)) is None


def swapped(capture, name):
    """The capture with its views exchanged, as if from the other side."""
    return replace(capture, raw=capture.raw[::-1], name=name)


def test_a_capture_of_the_other_side_in_a_burst_is_named(small_shoot):
    discs = small_shoot.discs
    check_one_side(discs)
    check_one_side([swapped(capture, "x") for capture in discs])
    message = (
        "The capture stray of the discs was made with the target in front of the focus plane, but "
        "others of the same set behind it; give the captures of each side as a set of their own"
    )
    with pytest.raises(CalibrationError, match=message):
        check_one_side([*discs, swapped(discs[0], "stray")])
    few = [swapped(discs[0], "a"), discs[0], swapped(discs[1], "b")]
    with pytest.raises(CalibrationError, match=rf"{discs[0].name} .* target behind the focus"):
        check_one_side(few)


@pytest.mark.parametrize("disparities", [(-3.0, 2.0), (None, 2.0), (1.0, None), (-3.0,), (3.0,)])
def test_sides_that_do_not_contradict(disparities):
    check_two_sides(dict(zip((BEHIND, IN_FRONT), disparities, strict=False)))


@pytest.mark.parametrize(
    ("behind", "in_front", "message"),
    [
        (2.0, -3.0, "The two sets of captures are exchanged: .* exchange them"),
        (-2.0, -3.0, r"Both sets .* target behind the focus plane .* of -2\.0 and -3\.0 px"),
        (2.0, 3.0, "Both sets .* target in front of the focus plane"),
    ],
)
def test_sides_that_contradict(behind, in_front, message):
    with pytest.raises(CalibrationError, match=message):
        check_two_sides({BEHIND: behind, IN_FRONT: in_front})


def test_groups_are_captures_by_name(small_shoot):
    discs, white, black = small_shoot.discs, [small_shoot.white], [small_shoot.black]
    groups = dict.fromkeys(CAPTURE_GROUPS, ())
    groups |= {"discs": discs, "white": white, "black": black}
    assert Captures.of(groups).front is None
    assert set(Captures.of(groups).groups) == {"discs", "white", "black", "sheets"}
    both = Captures.of({**groups, "front_discs": discs})
    assert both.front.discs is discs
    assert set(both.groups) == set(CAPTURE_GROUPS)
    assert list(both.sets) == [BEHIND, IN_FRONT]
