"""Saving through napari."""

from __future__ import annotations

import dataclasses
import errno
import os
from dataclasses import replace

import cv2
import numpy as np
import pytest
import tifffile
from napari.utils.notifications import notification_manager
from PIL import Image

from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.results import read_mpi, read_run, run_folder
from napari_dpdeblur.results.export import display_values
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.convert import capture_layers, run_layers, truth_layers
from napari_dpdeblur.viewer.layers.metadata import (
    ALL_IN_FOCUS,
    DEFOCUS_MAP,
    MPI,
    layer_info,
    set_layer_info,
)

PLUGIN = "napari-dpdeblur"


@pytest.fixture
def saved_model(viewer_model, make_result):
    """A viewer with a result; npe2 knows the plugin."""
    from npe2 import PluginManager

    PluginManager.instance().discover()
    put_layers(viewer_model, run_layers(make_result()))
    return viewer_model


def layer(model, kind):
    return queries.layer_of(model, "scene", kind)


def write(kind):
    """The writer of ours for one layer, as napari's dialog hands it on."""
    from npe2 import PluginManager

    writers = PluginManager.instance().iter_compatible_writers(["image"])
    return next(w for w in writers if w.command == f"{PLUGIN}.write_{kind}")


def save(layer_, path, kind):
    from napari.plugins.io import save_layers

    return save_layers(str(path), [layer_], _writer=write(kind))


def test_the_run_folder_from_all_layers(saved_model, scene_capture, calibration, tmp_path):
    put_layers(saved_model, capture_layers(scene_capture))
    saved_model.layers.save(str(tmp_path / "scene.dprun"), plugin=PLUGIN)
    result = queries.results(saved_model)["scene"]
    back = read_run(tmp_path / "scene.dprun")
    np.testing.assert_array_equal(back.all_in_focus, result.all_in_focus)
    np.testing.assert_array_equal(back.confidence, result.confidence)
    assert back.provenance == result.provenance


def test_the_lens_is_saved_with_the_layers(viewer_model, make_result, calibration, tmp_path):
    from npe2 import PluginManager

    PluginManager.instance().discover()
    put_layers(viewer_model, run_layers(replace(make_result(), calibration=calibration)))
    viewer_model.layers.save(str(tmp_path / "scene.dprun"), plugin=PLUGIN)
    back = read_run(tmp_path / "scene.dprun")
    assert back.calibration.content_hash() == calibration.content_hash()


def test_a_result_comes_back_to_where_it_was(saved_model, tmp_path):
    """A preview at low resolution is stretched over the field."""
    for layer_ in saved_model.layers:
        layer_.scale = (*layer_.scale[:-2], 4.0, 4.0)
        layer_.translate = (*layer_.translate[:-2], 11.5, 21.5)
    saved_model.layers.save(str(tmp_path / "scene.dprun"), plugin=PLUGIN)
    back = run_layers(read_run(tmp_path / "scene.dprun"))
    assert back[0][1]["scale"] == (4.0, 4.0)
    assert back[0][1]["translate"] == (11.5, 21.5)
    assert back[-1][1]["scale"] == (1.0, 4.0, 4.0)


@pytest.mark.parametrize(
    "kept", [3, {}, {"scale": [1, 1]}, {"scale": [0, 1], "translate": [0, 0]}, {"scale": "ab"}]
)
def test_a_damaged_place_is_passed_over(make_result, kept):
    result = make_result()
    result.provenance["placement"] = kept
    assert run_layers(result)[0][1]["scale"] == (1.0, 1.0)


def test_layers_of_two_results_are_not_mixed(saved_model, make_result, tmp_path):
    put_layers(saved_model, run_layers(make_result(), group="other"))
    with pytest.raises(
        ResultError, match=r"belong to 2 results \(scene, other\); select the layers"
    ):
        saved_model.layers.save(str(tmp_path / "scene.dprun"), plugin=PLUGIN)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_a_picture_has_16_bits_and_the_tone_curve(saved_model, tmp_path, suffix):
    image = layer(saved_model, ALL_IN_FOCUS)
    image.contrast_limits = (0.0, 0.25)
    path = tmp_path / f"sharp{suffix}"
    assert save(image, path, "image") == [str(path)]
    pixels = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    np.testing.assert_array_equal(pixels, display_values(image.data[None], 0.25, np.uint16))


def test_colours_are_saved_from_the_linear_values(viewer_model, make_result, tmp_path):
    put_layers(viewer_model, run_layers(result := make_result(channels=3)))
    save(layer(viewer_model, ALL_IN_FOCUS), tmp_path / "sharp.tif", "image")
    pixels = tifffile.imread(tmp_path / "sharp.tif")
    np.testing.assert_array_equal(pixels, display_values(result.all_in_focus, dtype=np.uint16))


def test_a_defocus_map_as_values_and_as_colours(saved_model, tmp_path):
    defocus = layer(saved_model, DEFOCUS_MAP)
    save(defocus, tmp_path / "map.tif", "defocus")
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "map.tif"), defocus.data)
    save(defocus, tmp_path / "map.png", "defocus")
    with Image.open(tmp_path / "map.png") as picture:
        assert picture.size == (128, 96)
        assert picture.mode == "RGB"
        assert picture.text["Description"] == "defocus scale, viridis from 0.1 to 1.4"


def test_a_defocus_map_is_saved_in_the_colours_of_its_layer(saved_model, tmp_path):
    defocus = layer(saved_model, DEFOCUS_MAP)
    defocus.colormap = "gray"
    save(defocus, tmp_path / "map.png", "defocus")
    with Image.open(tmp_path / "map.png") as picture:
        assert picture.text["Description"] == "defocus scale, gray from 0.1 to 1.4"
        pixels = np.asarray(picture).astype(float)
    expected = 255 * np.clip((defocus.data - 0.1) / 1.3, 0, 1)
    np.testing.assert_allclose(pixels, np.repeat(expected[..., None], 3, -1), atol=1.01)


def test_a_multiplane_image_as_pages(saved_model, tmp_path):
    save(layer(saved_model, MPI), tmp_path / "layers.tif", "mpi")
    color, _, scales = read_mpi(tmp_path / "layers.tif")
    assert color.shape == (4, 1, 96, 128)
    np.testing.assert_allclose(scales, np.linspace(1.4, 0.1, 4))


@pytest.mark.parametrize("kind", ["image", "defocus", "mpi"])
def test_a_layer_is_written_as_what_it_is_whatever_was_chosen(saved_model, tmp_path, kind):
    defocus = layer(saved_model, DEFOCUS_MAP)
    save(defocus, tmp_path / "map.tif", kind)
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "map.tif"), defocus.data)
    save(layer(saved_model, MPI), tmp_path / "layers.tif", kind)
    assert len(read_mpi(tmp_path / "layers.tif")[2]) == 4


def test_a_multiplane_image_is_no_png(saved_model, tmp_path):
    with pytest.raises(ResultError, match=r"x\.png has the wrong suffix for the layers; use"):
        save(layer(saved_model, MPI), tmp_path / "x.png", "mpi")
    assert list(tmp_path.iterdir()) == []


def test_colours_without_their_linear_values_are_not_written(viewer_model, make_result, tmp_path):
    image, *_ = put_layers(viewer_model, run_layers(make_result(channels=3)))
    set_layer_info(image, dataclasses.replace(layer_info(image), linear=None))
    with pytest.raises(ResultError, match="scene all-in-focus has no linear values; save it"):
        save(image, tmp_path / "x.png", "image")


def test_layers_of_others_are_written_as_napari_would(saved_model, tmp_path):
    pixels = np.arange(20, dtype=np.uint8).reshape(4, 5)
    other = saved_model.add_image(pixels, name="theirs")
    for write_it in (
        lambda path: save(other, path, "image"),
        lambda path: other.save(str(path)),
    ):
        path = tmp_path / "theirs.png"
        assert write_it(path) == [str(path)]
        np.testing.assert_array_equal(cv2.imread(str(path), cv2.IMREAD_UNCHANGED), pixels)
        path.unlink()


@pytest.fixture
def full_disk(monkeypatch):
    """The disk is full when the layers are written."""

    def write_mpi(path, *_):
        path.write_bytes(b"half a file")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(run_folder, "write_mpi", write_mpi)


def test_a_full_disk_is_a_notification_and_leaves_nothing(
    viewer, make_result, tmp_path, monkeypatch, full_disk
):
    """By the menu, with the file dialog answered: what a user would see."""
    put_layers(viewer, run_layers(make_result()))
    _answer_dialog(monkeypatch, tmp_path / "scene.dprun", "run folder")
    messages = _notified(lambda: viewer.window._qt_viewer._save_layers_dialog())
    assert len(messages) == 1
    assert "scene.dprun cannot be written (No space left on device)" in messages[0]
    assert "free disk space or choose another folder" in messages[0]
    assert list(tmp_path.iterdir()) == []
    assert len(viewer.layers) == 4


def test_a_bad_path_is_a_notification(viewer, make_result, tmp_path, monkeypatch):
    image, *_ = put_layers(viewer, run_layers(make_result()))
    viewer.layers.selection = {image}
    _answer_dialog(monkeypatch, tmp_path / "missing" / "sharp.png", "16-bit image")
    messages = _notified(lambda: viewer.window._qt_viewer._save_layers_dialog(selected=True))
    assert len(messages) == 1
    assert "sharp.png cannot be written (No such file or directory)" in messages[0]


def _answer_dialog(monkeypatch, path, filter_part):
    """Type a path into the save dialog and choose our line of its list."""
    from qtpy.QtWidgets import QFileDialog

    def answer(self, *args, filter="", **_):
        chosen = next(line for line in filter.split(";;") if filter_part in line)
        return str(path), chosen

    monkeypatch.setattr(QFileDialog, "getSaveFileName", answer)


def _notified(action):
    """Run an action in Qt's event loop under napari's handler of errors; give its messages.

    The loop runs as in an application. Within a call of processEvents, PySide6 would hand an error
    to the caller instead of the handler.
    """
    from qtpy.QtCore import QEventLoop, QTimer

    before, loop = len(notification_manager.records), QEventLoop()
    with notification_manager:
        QTimer.singleShot(0, action)
        QTimer.singleShot(10, loop.quit)
        loop.exec()
    return [str(record.message) for record in list(notification_manager.records)[before:]]


def test_views_and_truth_of_a_capture_without_files_are_kept(
    saved_model, scene_capture, make_result, calibration, tmp_path
):
    """On the old code the run of the sample lost them; other layers went without a word."""
    from napari_dpdeblur.viewer.reader import read_folder

    result = replace(make_result(), calibration=calibration)
    result = replace(result, true_image=result.all_in_focus, true_defocus=-result.defocus_map)
    put_layers(saved_model, capture_layers(scene_capture))
    put_layers(saved_model, truth_layers(result))
    put_layers(saved_model, run_layers(result))
    saved_model.add_image(np.zeros((4, 4)), name="mine")
    before = len(notification_manager.records)
    saved_model.layers.save(str(tmp_path / "scene.dprun"), plugin=PLUGIN)
    said = notification_manager.records[before].message
    assert said == (
        f"Saved scene as {tmp_path / 'scene.dprun'}. Not part of the result and not saved: mine."
    )
    back = {
        layer_data[1]["name"]: layer_data for layer_data in read_folder(tmp_path / "scene.dprun")
    }
    assert list(back)[:4] == [
        "scene true defocus map",
        "scene true all-in-focus",
        "scene right",
        "scene left",
    ]
    np.testing.assert_array_equal(back["scene true defocus map"][0], -result.defocus_map)
    np.testing.assert_array_equal(back["scene true all-in-focus"][0], result.all_in_focus[0])
    capture = layer_info(back["scene left"]).capture
    np.testing.assert_array_equal(capture.raw, scene_capture.raw)
    assert capture.raw.dtype == scene_capture.raw.dtype
    assert (capture.black, capture.pixel_aspect) == (
        scene_capture.black,
        scene_capture.pixel_aspect,
    )
    lens = layer_info(back["scene MPI"]).calibration
    assert lens.content_hash() == calibration.content_hash()  # to refocus with


def test_the_truth_of_a_part_is_that_part(saved_model, make_result, tmp_path):
    whole = make_result()
    truth = replace(whole, true_defocus=whole.defocus_map)
    saved_model.layers.clear()
    put_layers(saved_model, run_layers(make_result(crop=[10, 20, 40, 60])))
    put_layers(saved_model, truth_layers(truth))
    saved_model.layers.save(str(tmp_path / "part.dprun"), plugin=PLUGIN)
    kept = read_run(tmp_path / "part.dprun").true_defocus
    np.testing.assert_array_equal(kept, whole.defocus_map[10:50, 20:80])


def test_the_suffix_is_added_where_the_dialog_does_not(saved_model, tmp_path):
    from napari_dpdeblur.viewer.writer import write_run

    layers = [layer.as_layer_data_tuple() for layer in saved_model.layers]
    (path,) = write_run(str(tmp_path / "my scene v1.2"), layers)
    assert path == str(tmp_path / "my scene v1.2.dprun")
    assert read_run(tmp_path / "my scene v1.2.dprun").name == "scene"


def test_a_quick_look_beside_the_result_is_named(saved_model, make_result, tmp_path):
    put_layers(saved_model, run_layers(make_result(), group="scene preview"))
    before = len(notification_manager.records)
    saved_model.layers.save(str(tmp_path / "scene.dprun"), plugin=PLUGIN)
    assert "not saved: scene preview all-in-focus" in notification_manager.records[before].message


@pytest.mark.parametrize("wrong", [{"dtype": "object"}, {"black": "x"}, {"white": -1}])
def test_views_with_a_damaged_description_are_passed_over(
    make_result, scene_capture, tmp_path, wrong
):
    result = make_result()
    described = {**result.provenance["capture"], **wrong}
    broken = replace(result, capture=scene_capture, provenance={"capture": described})
    broken.save(tmp_path / "run")
    assert (tmp_path / "run" / "left_view.tif").is_file()
    assert read_run(tmp_path / "run").capture is None
