from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tifffile
import torch

from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.datasets.synthetic.scene import (
    Noise,
    SyntheticScene,
    render_capture,
    synthetic_kernels,
    synthetic_scene,
    synthetic_vignetting,
    write_synthetic,
)
from napari_dpdeblur.errors import CaptureError
from napari_dpdeblur.optics.kernels import KernelGrid

STEP = 65535 / 1023


@pytest.fixture(scope="module")
def scene() -> SyntheticScene:
    return synthetic_scene(96, 128, seed=3)


@pytest.fixture(scope="module")
def sharp_lens() -> KernelGrid:
    """A lens without blur."""
    delta = np.zeros((1, 2, 3, 3), np.float32)
    delta[..., 1, 1] = 1
    return KernelGrid.from_array(delta, 1, 1)


@pytest.fixture(scope="module")
def lens() -> KernelGrid:
    return KernelGrid.from_array(synthetic_kernels(2, 2), 2, 2)


def test_scene_is_deterministic_by_seed(scene):
    again, other = synthetic_scene(96, 128, seed=3), synthetic_scene(96, 128, seed=4)
    np.testing.assert_array_equal(again.color, scene.color)
    np.testing.assert_array_equal(again.alpha, scene.alpha)
    assert np.abs(other.all_in_focus - scene.all_in_focus).mean() > 0.01


@pytest.mark.parametrize(("height", "width"), [(16, 16), (33, 71), (80, 20)])
@pytest.mark.parametrize("channels", [1, 3])
def test_any_size(height: int, width: int, channels: int):
    scene = synthetic_scene(height, width, channels=channels, layers=5)
    assert scene.all_in_focus.shape == (channels, height, width)
    assert scene.defocus_map.shape == (height, width)
    assert np.isfinite(scene.color).all()


def test_values_can_be_captured_without_clipping(scene):
    sharp = scene.all_in_focus
    assert sharp.min() > 0
    assert sharp.max() < (65535 - 4096) / 65535


def test_layers_are_a_multiplane_image(scene):
    assert (scene.alpha[0] == 1).all()
    assert (scene.alpha >= 0).all()
    assert scene.alpha.max() <= 1 + 1e-6
    assert (np.diff(scene.defocus_scales) < 0).all()
    total = scene.layers.transmittance().sum(0)
    np.testing.assert_allclose(total, 1, atol=1e-5)


def test_no_unpainted_layer_can_shine_through(scene):
    """The farthest layer is opaque, so it must have a colour wherever the wall is nearer."""
    assert scene.color[0].min() > 0
    assert (scene.color[scene.alpha.repeat(scene.color.shape[1], 1) > 0] > 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_defocus_covers_the_range_and_overlaps(seed: int):
    defocus = synthetic_scene(120, 160, seed).defocus_map
    assert defocus.min() == pytest.approx(0.1, abs=0.05)
    assert defocus.max() == pytest.approx(1.4, abs=0.02)
    slanted = defocus[:4, :]
    assert np.ptp(slanted) > 0.2
    assert np.abs(np.diff(defocus, axis=1)).max() > 0.3


def test_slanted_planes_have_a_smooth_map():
    scene = synthetic_scene(400, 100, seed=0, layers=6)
    floor = np.median(scene.defocus_map[-80:], axis=1)
    assert (np.diff(floor) <= 1e-4).all()
    assert len(np.unique(floor.round(3))) > 40


def test_one_channel_is_the_luminance_of_three():
    grey, rgb = (synthetic_scene(40, 50, 2, channels).all_in_focus for channels in (1, 3))
    luminance = np.tensordot([0.2126, 0.7152, 0.0722], rgb, axes=1)
    np.testing.assert_allclose(grey[0], luminance, atol=1e-5)


@pytest.mark.parametrize(
    "wrong", [{"height": 15}, {"width": 3}, {"channels": 2}, {"layers": 1}], ids=str
)
def test_impossible_scene(wrong):
    with pytest.raises(CaptureError, match="A synthetic scene needs at least 16 x 16 px"):
        synthetic_scene(**{"height": 32, "width": 32, **wrong})


def test_sharp_lens_captures_the_all_in_focus_image(sharp_lens):
    # A kernel of one pixel stays within it at scales up to 1.
    scene = synthetic_scene(96, 128, seed=3, scales=(1.0, 0.2))
    capture = render_capture(scene, sharp_lens, noise=None)
    for view in capture.views:
        np.testing.assert_allclose(view, scene.all_in_focus, atol=0.75 / 1023)


def test_values_are_those_of_the_app(scene, lens):
    capture = render_capture(scene, lens)
    assert capture.raw.dtype == np.uint16
    assert (capture.black, capture.white, capture.source.format) == (4096, 65535, "synthetic")
    steps = capture.raw / STEP
    assert np.abs(steps - steps.round()).max() < 0.01


def test_views_are_blurred_and_shifted_against_each_other(scene, lens):
    left, right = render_capture(scene, lens, noise=None).views
    sharp = scene.all_in_focus
    assert np.abs(np.diff(left)).mean() < 0.7 * np.abs(np.diff(sharp)).mean()
    assert np.abs(left - right).mean() > 0.005


def test_noise_has_the_stated_variance(sharp_lens):
    level = 0.25
    flat = SyntheticScene(
        np.full((2, 1, 200, 200), level, np.float32),
        np.ones((2, 1, 200, 200), np.float32),
        np.array([1.0, 0.5], np.float32),
    )
    capture = render_capture(flat, sharp_lens, noise=Noise(2000.0, 4.0), seed=5)
    expected = level / 2000 + (4 / 2000) ** 2 + 1 / 1023**2 / 12
    assert capture.views.mean() == pytest.approx(level, rel=2e-3)
    assert capture.views.var() == pytest.approx(expected, rel=0.05)


def test_noise_is_deterministic_and_independent_between_the_views(scene, lens):
    first, again, other = (render_capture(scene, lens, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.raw, again.raw)
    assert (first.raw != other.raw).mean() > 0.5
    clean = render_capture(scene, lens, noise=None)
    noise = first.views - clean.views
    assert abs(np.corrcoef(noise[0].ravel(), noise[1].ravel())[0, 1]) < 0.05


def test_vignetting_multiplies_each_view(scene, lens):
    vignetting = synthetic_vignetting(96, 128)
    plain = render_capture(scene, lens, noise=None).views
    darker = render_capture(scene, lens, vignetting, noise=None).views
    np.testing.assert_allclose(darker, plain * vignetting[:, None], atol=1.5 / 1023)


def test_vignetting_of_another_size(scene, lens):
    with pytest.raises(CaptureError, match=r"shape \(2, 5, 5\); the scene needs \(2, 96, 128\)"):
        render_capture(scene, lens, np.ones((2, 5, 5), np.float32))


def test_native_rows_are_means_of_pairs(scene, lens):
    square = render_capture(scene, lens, noise=None).views
    native = render_capture(scene, lens, noise=None, pixel_aspect=2)
    assert (native.shape, native.pixel_aspect) == ((2, 1, 48, 128), 2.0)
    np.testing.assert_allclose(
        native.views, square.reshape(2, 1, 48, 2, 128).mean(3), atol=1.1 / 1023
    )


def test_rows_that_cannot_be_paired(lens):
    with pytest.raises(CaptureError, match="33 rows of the scene are not divisible by the pixel"):
        render_capture(synthetic_scene(33, 32), lens, pixel_aspect=2)


@pytest.mark.parametrize("pixel_aspect", [1, 2])
def test_written_capture_opens_like_one_of_the_app(tmp_path: Path, scene, lens, pixel_aspect):
    capture = render_capture(scene, lens, pixel_aspect=pixel_aspect, name="demo")
    files = write_synthetic(tmp_path / "new", scene, capture)
    opened = open_capture(tmp_path / "new")
    np.testing.assert_array_equal(opened.raw, capture.raw)
    assert (opened.pixel_aspect, opened.black, opened.name) == (pixel_aspect, 4096, "demo")
    assert [file.name for file in files[2:]] == ["demo_all_in_focus.tif", "demo_defocus.tif"]
    np.testing.assert_array_equal(tifffile.imread(files[2]), scene.all_in_focus[0])
    np.testing.assert_array_equal(tifffile.imread(files[3]), scene.defocus_map)


def test_folder_that_cannot_be_made(tmp_path: Path, scene, lens):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CaptureError, match=r"file cannot be written: "):
        write_synthetic(tmp_path / "file", scene, render_capture(scene, lens))


def test_importing_capture_does_not_import_torch():
    code = "import sys, napari_dpdeblur.capture; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_scene_shares_memory_with_its_layers(scene):
    assert isinstance(scene.layers.color, torch.Tensor)
    assert np.shares_memory(scene.layers.color.numpy(), scene.color)
