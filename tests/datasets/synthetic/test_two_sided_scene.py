"""Scenes with a subject in focus and objects behind and in front of it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import tifffile

from napari_dpdeblur.datasets.synthetic.blur import blurred_views
from napari_dpdeblur.datasets.synthetic.lens import synthetic_kernels
from napari_dpdeblur.datasets.synthetic.placements import around_a_subject
from napari_dpdeblur.datasets.synthetic.scene import (
    SyntheticScene,
    render_capture,
    synthetic_scene,
    two_sided_scene,
    write_synthetic,
)
from napari_dpdeblur.datasets.synthetic.shapes import Grid
from napari_dpdeblur.datasets.synthetic.simulation import simulate
from napari_dpdeblur.errors import CaptureError
from napari_dpdeblur.optics import KernelGrid, TiledBlur, TileLayout
from napari_dpdeblur.optics.moments import first_moment


@pytest.fixture(scope="module")
def scene() -> SyntheticScene:
    return two_sided_scene(144, 192, seed=1)


def detail(image: np.ndarray, where: np.ndarray) -> float:
    """Mean step between horizontal neighbours of an image (H, W)."""
    return float(np.abs(np.diff(image, axis=1, append=image[:, -1:]))[where].mean())


def test_scales_run_back_to_front_through_an_exact_zero(scene):
    scales = scene.defocus_scales
    assert (np.diff(scales) < 0).all()
    assert (scales[0], scales[-1]) == (1.0, np.float32(-0.8))
    assert (scales == 0).sum() == 1


@pytest.mark.parametrize("seed", range(4))
def test_there_is_something_in_focus_behind_and_in_front(seed: int):
    defocus = two_sided_scene(96, 128, seed).defocus_map
    assert (np.abs(defocus) < 0.02).mean() > 0.05
    assert (defocus > 0.15).mean() > 0.3
    assert (defocus < -0.15).mean() > 0.2
    assert (defocus.min(), defocus.max()) == (np.float32(-0.8), 1.0)


@pytest.mark.parametrize("seed", range(4))
def test_the_subject_is_in_the_middle_and_in_focus(seed: int):
    grid = Grid.of(96, 128)
    (subject,) = [
        place
        for place in around_a_subject(grid, 5 / 9, np.random.default_rng(seed))
        if place.is_subject
    ]
    assert abs(subject.x) < 0.1
    row, col = round((subject.y + 0.5) * 96), round(64 + subject.x * 96)
    assert two_sided_scene(96, 128, seed).defocus_map[row, col] == 0


def test_outlines_belong_to_one_surface():
    """Between an object at -0.8 and the wall at 0.8 there are no pixels in focus."""
    alpha = np.ones((3, 1, 1, 5), np.float32)
    alpha[2, 0, 0] = 1, 0.7, 0.5, 0.3, 0
    alpha[1] = 0
    scales = np.array([0.8, 0.0, -0.8], np.float32)
    defocus = SyntheticScene(np.ones_like(alpha), alpha, scales).defocus_map
    np.testing.assert_allclose(np.abs(defocus), 0.8, atol=1e-6)
    assert (defocus[0, [0, 1]] < 0).all()
    assert (defocus[0, [3, 4]] > 0).all()


def test_the_floor_runs_smoothly_through_the_focus_plane():
    defocus = two_sided_scene(200, 400, seed=0).defocus_map
    floor = defocus[136:, 280]  # between the subject and what is in front
    assert floor[0] > 0.15
    assert floor[-1] < -0.6
    np.testing.assert_allclose(np.diff(floor), np.diff(floor).mean(), atol=1e-5)


def test_the_subject_is_sharp_in_the_capture_and_the_rest_is_not(scene):
    views = blurred_views(scene, synthetic_kernels(1, 1), 1, 1)
    defocus, sharp = scene.defocus_map, scene.all_in_focus[0]
    subject = np.zeros_like(defocus, bool)
    subject[:, 50:140] = np.abs(defocus[:, 50:140]) < 0.02
    for view in views[:, 0]:
        assert detail(view, subject) > 0.75 * detail(sharp, subject)
        for blurred in (defocus > 0.5, defocus < -0.5):
            assert detail(view, blurred) < 0.6 * detail(sharp, blurred)


@pytest.mark.parametrize("side", [1, -1])
def test_disparity_has_the_sign_of_the_defocus(side: int):
    """A point behind the focus plane lies farther left in the left view, in front farther right."""
    color = np.zeros((1, 1, 61, 61), np.float32)
    color[..., 30, 30] = 1
    point = SyntheticScene(color, np.ones_like(color), np.array([0.9 * side], np.float32))
    left, right = first_moment(blurred_views(point, synthetic_kernels(1, 1), 1, 1)[:, 0], -1)
    assert left - right == pytest.approx(-5.3 * 0.9 * side, rel=0.01)


@pytest.mark.parametrize("scale", [-1.0, -0.35, 0.0, 0.35])
def test_the_blur_without_torch_is_that_of_the_optics(scale: float):
    scene = two_sided_scene(70, 90, seed=3, channels=3)
    scene = SyntheticScene(scene.color, scene.alpha, scene.defocus_scales + np.float32(scale))
    kernels = synthetic_kernels(2, 3)
    grid = KernelGrid.from_array(kernels, 2, 3)
    scaled = [grid.scaled(float(value)) for value in scene.defocus_scales]
    expected = scene.layers.render(TiledBlur(scaled, TileLayout.regular(70, 90, 2, 3))).numpy()
    found = blurred_views(scene, kernels, 2, 3)
    assert np.abs(found - expected).max() < 2e-4 * expected.max()  # optics crop negligible rims


def test_a_layer_in_focus_is_captured_as_it_is():
    flat = two_sided_scene(48, 64, seed=2)
    focused = SyntheticScene(flat.all_in_focus[None], np.ones((1, 1, 48, 64), np.float32), [0.0])
    views = blurred_views(focused, synthetic_kernels(2, 2), 2, 2)
    np.testing.assert_allclose(views, np.stack([flat.all_in_focus] * 2), atol=1e-6)


def test_it_is_deterministic_and_varies_with_the_seed(scene):
    again, other = two_sided_scene(144, 192, seed=1), two_sided_scene(144, 192, seed=2)
    np.testing.assert_array_equal(again.color, scene.color)
    assert np.abs(other.all_in_focus - scene.all_in_focus).mean() > 0.01


@pytest.mark.parametrize(("height", "width"), [(16, 16), (33, 71), (80, 20)])
@pytest.mark.parametrize("channels", [1, 3])
def test_any_size(height: int, width: int, channels: int):
    scene = two_sided_scene(height, width, channels=channels)
    assert scene.all_in_focus.shape == (channels, height, width)
    assert np.isfinite(scene.color).all()
    assert np.isfinite(scene.defocus_map).all()
    np.testing.assert_allclose(scene.layers.transmittance().sum(0), 1, atol=1e-5)


def test_impossible_scene():
    with pytest.raises(CaptureError, match="at least 16 x 16 px, 1 or 3 channels"):
        two_sided_scene(15, 40)


def test_simulations_are_one_sided_unless_asked_for():
    one, both = simulate(48, 64, seed=3), simulate(48, 64, seed=3, both_sides=True)
    assert one.scene.defocus_map.min() > 0
    assert both.scene.defocus_map.min() < -0.5
    assert both.capture.shape == one.capture.shape
    assert both.calibration.content_hash() == one.calibration.content_hash()


def test_one_sided_scenes_are_those_of_version_0_1():
    scene = synthetic_scene(48, 64, seed=0)
    levels = (scene.all_in_focus * 1000).round().astype("<i4")
    assert hashlib.sha256(levels.tobytes()).hexdigest()[:12] == "eeed4a1e3413"


def test_the_written_truth_is_signed_and_says_so(tmp_path: Path, scene):
    files = write_synthetic(tmp_path, scene, render_capture(scene))
    with tifffile.TiffFile(files[3]) as file:
        assert file.pages[0].dtype == np.float32
        assert "negative in front of it" in file.pages[0].description
        np.testing.assert_array_equal(file.asarray(), scene.defocus_map)
    assert tifffile.imread(files[3]).min() == np.float32(-0.8)
