"""The scene in colour, and the renderer of its patches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tifffile

from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.datasets.synthetic.lens import synthetic_kernels
from napari_dpdeblur.datasets.synthetic.patches import PaintedScene, Patch
from napari_dpdeblur.datasets.synthetic.scene import write_synthetic
from napari_dpdeblur.datasets.synthetic.simulation import Simulation, sample, simulate
from napari_dpdeblur.datasets.synthetic.table_scene import DOLLS, table_scene
from napari_dpdeblur.errors import CaptureError
from napari_dpdeblur.evaluation.metrics import image_scores
from napari_dpdeblur.optics import KernelGrid, TiledBlur, TileLayout

SIZE = (120, 160)


@pytest.fixture(scope="module")
def painted() -> PaintedScene:
    return table_scene(*SIZE)


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    return simulate(*SIZE, scene="table", noise_free=True)


def render_by_optics(scene: PaintedScene, kernels: np.ndarray, rows: int, cols: int) -> np.ndarray:
    layers, grid = scene.layered().layers, KernelGrid.from_array(kernels, rows, cols)
    scaled = [grid.scaled(float(scale)) for scale in layers.defocus_scales]
    layout = TileLayout.regular(*scene.shape, rows, cols)
    return np.asarray(layers.render(TiledBlur(scaled, layout)).numpy())


def test_patches_are_blurred_as_the_optics_blur_whole_layers(painted):
    kernels = synthetic_kernels(2, 2)
    expected = render_by_optics(painted, kernels, 2, 2)
    found = painted.blurred(kernels, 2, 2)
    assert found.dtype == np.float32
    assert np.abs(found - expected).max() < 1e-3 * expected.max()  # optics crop negligible rims


def test_patches_of_one_layer_are_blurred_together():
    """The light of neighbours in a layer adds up; it does not cover that of the other."""
    white, shape = np.ones((3, 30, 10), np.float32), (30, 60)
    wall = Patch(0, 0, np.zeros((3, *shape), np.float32), np.ones(shape, np.float32), 1.0)
    left, right = (Patch(0, x, white, white[0], 0.5) for x in (20, 30))
    both = Patch(0, 20, np.ones((3, 30, 20), np.float32), np.ones((30, 20), np.float32), 0.5)
    kernels, flat = synthetic_kernels(1, 1), np.zeros(shape, np.float32)
    apart = PaintedScene(shape, (wall, left, right), flat).blurred(kernels, 1, 1)
    whole = PaintedScene(shape, (wall, both), flat).blurred(kernels, 1, 1)
    np.testing.assert_allclose(apart, whole, atol=1e-5)


def test_the_layers_show_the_same_scene(painted):
    layered = painted.layered()
    np.testing.assert_allclose(layered.all_in_focus, painted.all_in_focus, atol=2e-5)
    assert layered.defocus_map is painted.defocus_map
    # Each pixel's layers have its defocus, but for outlines, which have a mean.
    weights = layered.alpha[::-1].copy()
    hidden = np.cumprod(1 - weights, axis=0)
    weights[1:] *= hidden[:-1]
    mean = (weights[:, 0] * layered.defocus_scales[::-1, None, None]).sum(0)
    assert np.mean(np.abs(mean - painted.defocus_map) < 1e-3) > 0.9


def test_one_doll_is_in_focus_between_things_on_both_sides(painted):
    rows, cols = SIZE
    for scale, x, _, _ in DOLLS:
        at = int((0.5 + 0.27 - scale / 1.8 - 0.08) * rows), int(cols / 2 + x * rows)
        assert painted.defocus_map[at] == np.float32(scale / 2), "a small frame"
    assert (painted.defocus_map > 0.07).mean() > 0.3
    assert (painted.defocus_map < -0.07).mean() > 0.15
    assert painted.defocus_map[0, -1] == 0.375, "the wall"


def test_a_larger_frame_has_more_blur():
    small, large = (table_scene(*size).defocus_map for size in ((600, 60), (1100, 1040)))
    assert (small.max(), large.max()) == (0.375, pytest.approx(0.75 * 1040 / 1008))


def test_the_scene_is_in_colour_deterministic_and_varies_with_the_seed(painted):
    picture = painted.all_in_focus
    assert (picture.max(0) - picture.min(0)).mean() > 0.05
    assert 0 < picture.min() < picture.max() < 1
    np.testing.assert_array_equal(table_scene(*SIZE).all_in_focus, picture)
    assert np.abs(table_scene(*SIZE, seed=1).all_in_focus - picture).mean() > 1e-3


@pytest.mark.parametrize("shape", [(48, 64), (33, 47), (200, 60), (40, 160)])
def test_any_size(shape):
    made = simulate(*shape, scene="table")
    assert made.capture.shape == (2, 3, *shape)
    assert made.calibration.prepare(made.capture).shape == (2, 3, *shape)
    assert np.isfinite(made.all_in_focus).all()
    assert made.defocus_map.min() >= -1


def test_a_scene_that_is_too_small():
    with pytest.raises(CaptureError, match="needs at least 16 x 16 px"):
        simulate(15, 64, scene="table")


def test_an_unknown_scene():
    with pytest.raises(CaptureError, match="no scene 'moon'; choose one of shapes, table"):
        simulate(48, 64, scene="moon")  # type: ignore[arg-type]


@pytest.mark.parametrize("scene", ["table", "shapes"])
def test_the_true_image_has_the_unit_of_a_result(scene):
    """What is in focus looks in the corrected views as in the true image."""
    made = simulate(*SIZE, scene=scene, noise_free=True, both_sides=True)
    views = made.calibration.prepare(made.capture)
    in_focus = (np.abs(made.defocus_map) < 0.05)[None, None]
    gain = (views * in_focus).sum() / (2 * (made.all_in_focus * in_focus).sum())
    assert gain == pytest.approx(1, abs=0.02)
    plain = made.scene.all_in_focus
    assert (plain * in_focus).sum() > 1.1 * (made.all_in_focus * in_focus).sum()
    scores = [image_scores(views.mean(0), truth).psnr_db for truth in (made.all_in_focus, plain)]
    assert scores[0] > scores[1] + 3


def test_the_noise_is_that_of_the_sensor(simulation):
    noisy = simulate(*SIZE, scene="table").capture.views - simulation.capture.views
    signal = simulation.capture.views
    expected = np.sqrt(signal / 6000 + (3 / 6000) ** 2)
    assert np.std(noisy / expected) == pytest.approx(1, rel=0.05)


def test_a_colour_capture_opens_as_it_was_written(tmp_path: Path, simulation):
    capture, light = simulation.capture, simulation.calibration.vignetting
    files = write_synthetic(tmp_path, simulation.scene, capture, light)
    assert [file.name for file in files] == [
        f"synthetic_{part}.tif" for part in ("left", "right", "all_in_focus", "defocus")
    ]
    opened = open_capture(tmp_path)
    assert (opened.name, opened.encoding, opened.notes) == ("synthetic", "linear", ())
    np.testing.assert_allclose(opened.views, capture.views, atol=1e-6)
    truth = tifffile.imread(files[2]).transpose(2, 0, 1)
    np.testing.assert_allclose(truth, simulation.all_in_focus, atol=1e-6)


def test_the_sample_is_the_simulation_without_its_layers():
    found, whole = sample(48, 64), simulate(48, 64, scene="table")
    np.testing.assert_array_equal(found.capture.raw, whole.capture.raw)
    np.testing.assert_allclose(found.all_in_focus, whole.all_in_focus, atol=2e-5)
    np.testing.assert_array_equal(found.defocus_map, whole.defocus_map)


def test_the_sample_needs_no_torch():
    code = (
        "import sys; from napari_dpdeblur.datasets.synthetic.simulation import sample;"
        "sample(48, 64); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
