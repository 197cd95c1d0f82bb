from dataclasses import replace

import numpy as np
import pytest
from photo_scene import as_photo, turned
from PIL import Image

import napari_dpdeblur as dpdeblur
from napari_dpdeblur.capture.levels import linear_to_srgb
from napari_dpdeblur.datasets.synthetic.scene import render_capture, two_sided_scene
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.fitting.photo.registration import RegistrationError
from napari_dpdeblur.fitting.result import signature

HEIGHT, WIDTH = 192, 256


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Capture, lens, file of a photo, grey result and coloured result of one scene."""
    scene = two_sided_scene(HEIGHT, WIDTH, seed=1, channels=3)
    lens = replace(synthetic_calibration(HEIGHT, WIDTH, 2, 2), vignetting=None)
    # Without the offset of the kernels, the sharp image lies where the scene and the photo do.
    lens = replace(lens, kernels=lens.kernel_grid().centred().kernels.numpy())
    green = replace(scene, color=np.ascontiguousarray(scene.color[:, 1:2]))
    capture = render_capture(green, lens.kernel_grid())
    path = tmp_path_factory.mktemp("photo") / "photo.png"
    moved = turned(scene.all_in_focus, scale=0.95, shift=(5, 3))[0]
    encoded = np.round(255 * linear_to_srgb(np.clip(0.8 * moved, 0, 1))).astype(np.uint8)
    Image.fromarray(np.moveaxis(encoded, 0, -1)).save(path)
    results = [
        dpdeblur.fit(capture, lens, progress=False, preset="preview", photo=photo)
        for photo in (None, path)
    ]
    return scene, capture, lens, path, *results


def test_green_is_that_of_the_grey_fit_and_colours_are_those_of_the_scene(fitted):
    scene, _, _, path, grey, found = fitted
    assert (grey.all_in_focus.shape[0], found.all_in_focus.shape[0]) == (1, 3)
    np.testing.assert_array_equal(found.all_in_focus[1], grey.all_in_focus[0])
    np.testing.assert_array_equal(found.mpi_color[:, 1], grey.mpi_color[:, 0])
    np.testing.assert_array_equal(found.mpi_alpha, grey.mpi_alpha)
    np.testing.assert_array_equal(found.defocus_map, grey.defocus_map)
    assert "photo" not in grey.provenance
    assert found.provenance["photo"]["file"] == str(path)
    assert found.provenance["photo"]["registration"]["residual_px"] < 2
    assert "colors" in found.provenance["timings_s"]
    inner = (slice(None), slice(20, -20), slice(20, -20))
    true, other = (image[inner] for image in (scene.all_in_focus, found.all_in_focus))
    for channel in (0, 2):
        ratios = true[channel] / true[1], other[channel] / np.maximum(other[1], 0.01)
        assert np.median(np.abs(ratios[1] / ratios[0] - 1)) < 0.1


def test_layers_composite_to_the_colours_of_the_image(fitted):
    found = fitted[-1]
    composite = found.mpi.all_in_focus()
    shown = np.maximum(found.all_in_focus, 0.01)
    assert np.median(np.abs(composite - found.all_in_focus) / shown) < 0.1
    assert found.captured.shape == found.all_in_focus.shape


def test_a_coloured_run_is_written_and_read(fitted, tmp_path):
    found = fitted[-1]
    read = dpdeblur.load_result(found.save(tmp_path / "run"))
    np.testing.assert_array_equal(read.all_in_focus, found.all_in_focus)
    np.testing.assert_array_equal(read.color_filled, found.color_filled)
    assert read.mpi_color.shape[1] == 3
    assert read.provenance["photo"]["size_px"] == [WIDTH, HEIGHT]
    assert (tmp_path / "run" / "color_filled.tif").is_file()


def test_the_photo_is_part_of_the_signature(fitted):
    _, capture, lens, path, _, found = fitted
    settings = dpdeblur.FitSettings(preset="preview")
    photo = dpdeblur.open_photo(path)
    names = [signature(capture, lens, settings, None, given) for given in (None, photo)]
    assert names[0] != names[1] == found.provenance["signature"]


def test_a_crop_takes_its_part_of_the_photo(fitted):
    _, capture, lens, path, *_ = fitted
    crop = (40, 64, 96, 128)
    part = dpdeblur.fit(capture, lens, progress=False, preset="preview", crop=crop, photo=path)
    assert part.all_in_focus.shape == (3, 96, 128)
    whole = fitted[-1].all_in_focus[:, 40:136, 64:192]
    ratio = part.all_in_focus[0] / np.maximum(part.all_in_focus[1], 0.01)
    other = whole[0] / np.maximum(whole[1], 0.01)
    assert np.median(np.abs(ratio / np.maximum(other, 0.01) - 1)) < 0.2


def test_what_the_photo_does_not_show_is_filled_in_marked_and_noted(fitted):
    scene, capture, lens, *_ = fitted
    half = np.ascontiguousarray(scene.all_in_focus[:, :, :150])
    found = dpdeblur.fit(capture, lens, progress=False, preset="preview", photo=as_photo(half))
    assert found.color_filled[:, 210:].mean() > 0.9
    assert found.color_filled[:, :120].mean() < 0.1
    assert any("of the colours were filled in from around" in note for note in found.notes)
    assert np.isfinite(found.all_in_focus).all()


def test_a_photo_that_does_not_match_is_refused_before_the_lens_is_estimated(fitted):
    _, capture, *_ = fitted
    black = as_photo(np.zeros((3, HEIGHT, WIDTH)))
    with pytest.raises(RegistrationError, match=r"is black or uniform"):
        dpdeblur.fit(capture, progress=_fail, photo=black)


def _fail(event):
    raise AssertionError("nothing may run before the photo is aligned")
