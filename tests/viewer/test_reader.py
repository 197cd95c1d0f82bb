"""What is opened, what is left alone."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import warnings

import cv2
import numpy as np
import pytest
from napari.plugins.utils import get_preferred_reader
from napari.settings import get_settings
from napari.utils.notifications import notification_manager
from npe2 import PluginManager

from napari_dpdeblur.calibration import save_calibration
from napari_dpdeblur.capture.pgm import write_pgm_pair
from napari_dpdeblur.errors import DpDeblurError
from napari_dpdeblur.files import digest
from napari_dpdeblur.results import write_run
from napari_dpdeblur.viewer import reader
from napari_dpdeblur.viewer.dock import OPEN, show_dock
from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.layers.metadata import layer_info
from napari_dpdeblur.viewer.open.arrival import running
from napari_dpdeblur.viewer.open.listing import listing_of
from napari_dpdeblur.viewer.open.reader_choice import narrow_remembered_choice
from napari_dpdeblur.viewer.reader import get_reader

PLUGIN = "napari-dpdeblur"


def names(layers):
    return [layer[1]["name"] for layer in layers]


@pytest.mark.parametrize("side", [0, 1])
def test_either_file_of_a_pair_opens_both(capture_files, side):
    layers = get_reader(str(capture_files[side]))(str(capture_files[side]))
    assert names(layers) == ["scene right", "scene left"]
    data, options, layer_type = layers[1]
    assert layer_type == "image"
    assert data.dtype == np.float32
    assert options["scale"] == (2.0, 1.0)
    low, high = options["contrast_limits"]
    assert low == 0.0
    assert data.mean() < high <= data.max()


def test_both_files_and_their_folder(capture_files):
    both = [str(path) for path in capture_files]
    folder = str(capture_files[0].parent)
    assert names(get_reader(both)(both)) == ["scene right", "scene left"]
    assert names(get_reader(folder)(folder)) == ["scene right", "scene left"]


def test_files_dropped_together_give_one_pair(viewer, capture_files):
    viewer.open([str(path) for path in capture_files], plugin=PLUGIN)
    assert [layer.name for layer in viewer.layers] == ["scene right", "scene left"]
    viewer.open(str(capture_files[0]), plugin=PLUGIN)
    assert len(viewer.layers) == 2
    assert len(queries.captures(viewer)) == 1


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_view_that_was_deleted_comes_back(viewer_model, capture_files, side, monkeypatch):
    monkeypatch.setattr(reader.napari, "current_viewer", lambda: viewer_model)
    path = str(capture_files[0])
    for data, options, _ in get_reader(path)(path):
        viewer_model.add_image(data, **options)
    viewer_model.layers.remove(f"scene {side}")
    for data, options, _ in get_reader(path)(path):
        viewer_model.add_image(data, **options)
    assert {layer.name for layer in viewer_model.layers} == {"scene left", "scene right"}
    assert list(queries.captures(viewer_model)) == ["scene"]
    assert get_reader(path)(path) == [(None,)]


def test_pixels_of_both_views_reach_the_canvas(viewer, qtbot, capture_files):
    viewer.open(str(capture_files[0]), plugin=PLUGIN)
    pixels = viewer.screenshot(canvas_only=True, flash=False)[..., :3]
    centre = pixels[pixels.shape[0] // 2 - 50 :][:100, 300:-300]
    assert centre.std() > 10
    # 96 x 128 square pixels: the picture is wider than high, as the rows were stretched by two.
    lit = np.argwhere(pixels.max(axis=-1) > 40)
    height, width = np.ptp(lit, axis=0)
    assert width / height == pytest.approx(128 / 96, rel=0.05)


def test_a_run_folder_comes_back_as_it_was(viewer_model, make_result, tmp_path):
    result = make_result()
    folder = write_run(result, tmp_path / "run")
    for path in (str(folder), str(folder / "run.yaml")):
        viewer_model.layers.clear()
        for data, options, _ in get_reader(path)(path):
            viewer_model.add_image(data, **options)
        back = queries.results(viewer_model)["scene"]
        np.testing.assert_array_equal(back.all_in_focus, result.all_in_focus)
        np.testing.assert_array_equal(back.defocus_map, result.defocus_map)
        np.testing.assert_allclose(back.mpi_color, result.mpi_color, atol=1e-3)
        assert back.provenance == result.provenance
        assert [layer.visible for layer in viewer_model.layers] == [True, False, False, False]
        assert layer_info(viewer_model.layers[0]).run_folder == str(folder)


def test_the_views_come_back_with_a_run_if_their_files_are_unchanged(
    make_result, capture_files, tmp_path
):
    from napari_dpdeblur.capture import open_capture

    result = make_result()
    result.provenance["capture"] = open_capture(capture_files[0]).describe()
    folder = str(write_run(result, tmp_path / "run"))
    assert names(get_reader(folder)(folder))[:2] == ["scene right", "scene left"]
    content = bytearray(capture_files[1].read_bytes())
    content[-1] ^= 1
    capture_files[1].write_bytes(content)
    assert names(get_reader(folder)(folder))[0] == "scene all-in-focus"
    result.provenance["capture"]["files"] = ["//server/share/a_left.pgm", "\\\\server\\b.pgm"]
    folder = str(write_run(result, tmp_path / "remote"))
    assert len(get_reader(folder)(folder)) == 4


def test_pictures_come_back_with_a_run_as_they_were_read(make_result, canon_data, tmp_path):
    from napari_dpdeblur.capture import open_capture

    result = make_result()
    capture = open_capture(canon_data / "box_001", encoding="linear", white=250, black=3)
    result.provenance["capture"] = capture.with_orientation("transposed").describe()
    folder = str(write_run(result, tmp_path / "run"))
    read = get_reader(folder)(folder)[0][1]["metadata"]["dpdeblur"].capture
    assert (read.encoding, read.black, read.white) == ("linear", 3, 250)
    assert read.shape == (2, 3, 768, 512)


def test_a_run_cannot_have_other_files_decoded(make_result, capture_files, tmp_path, monkeypatch):
    def decode(*files):
        raise AssertionError(f"{files} are decoded")

    monkeypatch.setattr(reader, "open_capture", decode)
    files = [str(path) for path in capture_files]
    sums = [digest(path) for path in capture_files]
    wrong = [
        {"files": files, "sha256": ["0" * 64] * 2},
        {"files": files, "sha256": []},
        {"files": files * 2, "sha256": sums * 2},
        {"files": [3, None], "sha256": sums},
        {"files": 3, "sha256": sums},
        {"files": [str(tmp_path)], "sha256": sums[:1]},
    ]
    for number, described in enumerate(wrong):
        result = make_result()
        result.provenance["capture"].update(described)
        folder = str(write_run(result, tmp_path / f"run {number}"))
        assert len(get_reader(folder)(folder)) == 4
    monkeypatch.setattr(reader, "MAX_BYTES", 10)
    result.provenance["capture"].update({"files": files, "sha256": sums})
    folder = str(write_run(result, tmp_path / "large"))
    assert len(get_reader(folder)(folder)) == 4


def test_a_calibration_file_opens_as_its_kernels(viewer_model, calibration, tmp_path):
    path = tmp_path / "lens.dpcal"
    save_calibration(calibration, path)
    for data, options, _ in get_reader(str(path))(str(path)):
        viewer_model.add_image(data, **options)
    found = queries.calibrations(viewer_model)
    assert list(found) == ["lens"]
    assert found["lens"].content_hash() == calibration.content_hash()
    assert "lens kernels" in viewer_model.layers


def test_the_published_calibration_folder(pixel4_data):
    for folder in ("pixel4/calibration", "pixel4"):
        path = str(pixel4_data / folder)
        assert "Google Pixel 4 kernels" in names(get_reader(path)(path))


def test_a_folder_with_everything_opens_everything(
    capture_files, calibration, make_result, tmp_path
):
    folder = tmp_path / "all"
    write_run(make_result(), folder)
    for path in capture_files:
        path.rename(folder / path.name)
    save_calibration(calibration, folder / "lens.dpcal")
    layers = get_reader(str(folder))(str(folder))
    shown = [options["name"] for _, options, _ in layers if options.get("visible", True)]
    assert shown == ["scene right", "scene left", "scene all-in-focus"]
    assert "lens kernels" in names(layers)


def test_a_run_brings_its_lens_without_layers_of_its_own(calibration, make_result, tmp_path):
    folder = tmp_path / "run"
    write_run(dataclasses.replace(make_result(), calibration=calibration), folder)
    layers = get_reader(str(folder))(str(folder))
    assert names(layers) == [
        "scene all-in-focus",
        "scene defocus map",
        "scene confidence",
        "scene MPI",
    ]
    held = {layer_info(layer).calibration.content_hash() for layer in layers}
    assert held == {calibration.content_hash()}


def test_a_canon_pair_and_its_folder(canon_data):
    folder = canon_data / "box_001"
    expected = ["box_001 right", "box_001 left"]
    for given in (str(folder), str(folder / "r.png"), [str(folder / f"{s}.png") for s in "lr"]):
        assert names(get_reader(given)(given)) == expected
    assert get_reader(str(folder / "depth_mm.png")) is None
    assert get_reader([str(folder / "l.png"), str(folder / "depth_mm.png")]) is None


def test_two_files_with_names_that_say_nothing(canon_data, tmp_path):
    for name, view in (("x.png", "r.png"), ("y.png", "l.png")):
        (tmp_path / name).write_bytes((canon_data / "box_001" / view).read_bytes())
    given = [str(tmp_path / "y.png"), str(tmp_path / "x.png")]
    before = len(notification_manager.records)
    (_, (_, options, _)) = get_reader(given)(given)
    assert options["metadata"]["dpdeblur"].capture.source.files == tuple(given)
    message = str(list(notification_manager.records)[before:][-1].message)
    assert "y.png is taken as the left" in message
    assert get_reader(given[0]) is None
    assert get_reader([*given, given[0]]) is None


@pytest.fixture
def foreign_files(tmp_path):
    """Pictures and folders of other people, some with names like ours."""
    colour = np.zeros((20, 30, 3), np.uint8)
    files = {
        "holiday.png": colour,
        "scan_left.png": colour,
        "scan_right.png": colour,
        "img_A.png": colour,
        "only_left.png": np.zeros((20, 30), np.uint8),
    }
    for name, pixels in files.items():
        cv2.imencode(".png", pixels)[1].tofile(tmp_path / name)
    (tmp_path / "grey_left.pgm").write_bytes(b"P5 4 3 255 " + bytes(12))
    (tmp_path / "text_left.png").write_text("not a picture")
    (tmp_path / "run.yaml").write_text("format: something else\n")
    (tmp_path / "empty").mkdir()
    return sorted(tmp_path.iterdir())


NAMED_LIKE_VIEWS = {"scan_left.png", "scan_right.png", "img_A.png", "only_left.png"}


def test_files_of_others_are_left_alone(foreign_files):
    others = [path for path in foreign_files if path.name not in NAMED_LIKE_VIEWS]
    assert {path.name: get_reader(str(path)) for path in others} == {
        path.name: None for path in others
    }
    assert get_reader([str(path) for path in foreign_files]) is None


def test_pictures_that_are_only_named_like_views_are_handed_back_to_napari(foreign_files):
    """Whoever has chosen this reader for such a name sees the picture, not a traceback."""
    for path in foreign_files:
        if path.name in NAMED_LIKE_VIEWS:
            ((data, _, layer_type),) = get_reader(str(path))(str(path))
            assert layer_type == "image"
            assert data.shape[:2] == (20, 30)


def test_a_dog_is_shown_and_the_reason_is_told(viewer, tmp_path):
    """16-bit pictures with the names of a pair, whose values are not those of a view."""
    random = np.random.default_rng(0)
    for side in ("left", "right"):
        pixels = random.integers(0, 65535, (20, 30), np.uint16)
        cv2.imencode(".png", pixels)[1].tofile(tmp_path / f"dog_{side}.png")
    before = len(notification_manager.records)
    viewer.open(str(tmp_path / "dog_left.png"), plugin=PLUGIN)
    (layer,) = viewer.layers
    assert layer.data.shape == (20, 30)
    message = str(list(notification_manager.records)[before:][-1].message)
    assert "is not a 14-bit dual-pixel view" in message
    assert message.endswith("It is shown as an ordinary picture.")


def test_a_remembered_choice_does_not_send_all_pictures_here(
    viewer, qtbot, capture_files, foreign_files, monkeypatch
):
    """napari remembers the reader by the suffix; "uninstalled" was the message for other PNGs."""
    plugins = get_settings().plugins
    monkeypatch.setattr(plugins, "extension2reader", {"*.png": PLUGIN, "*.tif": "other"})
    narrow_remembered_choice()
    chosen = plugins.extension2reader
    assert "*.png" not in chosen
    assert chosen["*.tif"] == "other"
    holiday = next(str(path) for path in foreign_files if path.name == "holiday.png")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(viewer.open(holiday, plugin=None)) == 1
    for name in ("/a/001_left.png", "/a/x-right.png", "/a/left.png"):
        assert get_preferred_reader(name) == PLUGIN
    assert get_preferred_reader(holiday) is None


def test_opening_for_a_user_narrows_the_choice_afterwards(
    viewer, qtbot, capture_files, monkeypatch
):
    """napari stores the choice after the reader has returned."""
    plugins = get_settings().plugins
    monkeypatch.setattr(reader, "user_is_waiting", lambda: True)
    assert viewer.open(str(capture_files[0]), plugin=PLUGIN) == []
    monkeypatch.setattr(plugins, "extension2reader", {"*.pgm": PLUGIN})
    qtbot.waitUntil(lambda: "*[_-]left.pgm" in plugins.extension2reader, timeout=30_000)
    qtbot.waitUntil(lambda: len(viewer.layers) == 2, timeout=30_000)
    qtbot.waitUntil(lambda: viewer.layers["scene left"].visible, timeout=30_000)


def three_pairs(folder, scene_capture):
    for name in ("one", "three", "two"):
        left, right = scene_capture.raw[:, 0]
        write_pgm_pair(folder, name, left, right, scene_capture.pixel_aspect)
    return str(folder)


def test_a_script_gets_the_first_of_several_captures(viewer, scene_capture, tmp_path):
    folder = three_pairs(tmp_path, scene_capture)
    before = len(notification_manager.records)
    assert names(get_reader(folder)(folder)) == ["one right", "one left"]
    message = str(list(notification_manager.records)[before:][-1].message)
    assert message == f"{folder} contains 3 captures; one is opened."
    assert [entry.name for entry in listing_of(viewer).entries] == ["one", "three", "two"]


def test_a_user_chooses_among_several_captures(viewer, qtbot, scene_capture, tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "user_is_waiting", lambda: True)
    folder = three_pairs(tmp_path, scene_capture)
    assert viewer.open(folder, plugin=PLUGIN) == []
    qtbot.waitUntil(lambda: len(listing_of(viewer).entries) == 3, timeout=30_000)
    qtbot.waitUntil(lambda: not running(), timeout=30_000)
    dock = show_dock(viewer)
    assert dock.current == OPEN
    assert dock.tab(OPEN).list.count() == 3
    assert len(viewer.layers) == 0


def test_the_published_folder_lists_its_scenes(viewer, pixel4_data):
    layers = get_reader(str(pixel4_data / "pixel4"))(str(pixel4_data / "pixel4"))
    assert names(layers)[-2:] == ["001 right", "001 left"]
    assert not any(name.startswith("white_sheet") for name in names(layers))
    assert [entry.name for entry in listing_of(viewer).entries][:2] == ["001", "005"]


def test_the_white_sheets_of_a_calibration_are_not_a_capture(
    viewer_model, pixel4_data, monkeypatch
):
    monkeypatch.setattr(reader.napari, "current_viewer", lambda: viewer_model)
    folder = str(pixel4_data / "pixel4" / "calibration")
    layers = get_reader(folder)(folder)
    assert "Google Pixel 4 kernels" in names(layers)
    assert not any(name.startswith("white_sheet") for name in names(layers))
    left = str(pixel4_data / "pixel4" / "001_left.png")
    for data, options, _ in get_reader(left)(left):
        viewer_model.add_image(data, **options)
    covering = [o["name"] for _, o, _ in get_reader(folder)(folder) if o.get("visible", True)]
    assert covering == []


def test_napari_does_not_even_ask_for_them(foreign_files):
    """A dialog pops up for every file that the patterns of two readers match."""
    plugins = PluginManager.instance()
    plugins.discover()
    foreign = ("holiday.png", "img_1.png", "picture.jpg", "stack.tif", "plain.pgm", "a.yaml")
    for name in (*foreign, "copyright.png", "final.tif", "depth_mm.png", "d.png"):
        readers = plugins.iter_compatible_readers([name])
        assert PLUGIN not in [reader.plugin_name for reader in readers]
    ours = ("1_left.png", "1P0A_L.png", "1P0A_R.JPG", "x.CR2", "x.CR3", "cam.dpcal", "run.yaml")
    for name in (*ours, "l.png", "R.tif", "left.jpg", "a.png", "scene-r.tiff", "x_left.jpeg"):
        readers = plugins.iter_compatible_readers([name])
        assert PLUGIN in [reader.plugin_name for reader in readers], name


@pytest.mark.parametrize(
    "path",
    ["", "/nowhere/1_left.png", "\0", [], ["a", 3], 7, None, "x" * 5000, "http://a/1_left.png"],
)
def test_get_reader_never_raises(path):
    assert get_reader(path) is None


def test_a_damaged_file_of_ours_is_one_sentence(tmp_path):
    path = tmp_path / "lens.dpcal"
    path.write_text("nothing")
    with pytest.raises(DpDeblurError, match="is not a calibration file or is truncated"):
        get_reader(str(path))(str(path))


def test_reading_loads_no_torch(capture_files, calibration, tmp_path):
    save_calibration(calibration, tmp_path / "lens.dpcal")
    code = (
        "import sys; from napari_dpdeblur.viewer.reader import get_reader\n"
        "for path in sys.argv[1:]: assert len(get_reader(path)(path)) >= 2\n"
        "sys.exit('torch' in sys.modules)"
    )
    paths = [str(capture_files[0]), str(tmp_path / "lens.dpcal")]
    assert subprocess.run([sys.executable, "-c", code, *paths], check=False).returncode == 0
