"""The picker of samples."""

from __future__ import annotations

from qtpy.QtWidgets import QDialogButtonBox

from napari_dpdeblur.viewer.layers import queries
from napari_dpdeblur.viewer.open.arrival import running
from napari_dpdeblur.viewer.open.picker import DOWNLOAD, SAMPLE, SamplePicker
from napari_dpdeblur.viewer.open.thumbnails import pixmap


def test_all_samples_have_names_and_those_on_disk_thumbnails(
    viewer, qtbot, pixel4_data, tmp_path, monkeypatch
):
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path))
    monkeypatch.setenv("DPDEBLUR_PIXEL4_MIRROR", str(pixel4_data / "pixel4"))
    made = []
    picker = SamplePicker(viewer)
    qtbot.addWidget(picker)
    picker._thumbnails.made.connect(lambda row, picture: made.append((row, picture)))
    texts = [picker.list.item(row).text() for row in range(picker.list.count())]
    assert texts[0] == "Synthetic still life"
    assert texts[1] == "Pixel 4, scene 001"
    assert texts[2] == "Pixel 4, scene 002\n(download)"  # not among the test data
    assert "Canon R6, box 001\n(download)" in texts
    assert len(set(texts)) == len(texts) == 39
    qtbot.waitUntil(lambda: len(made) == 7, timeout=60_000)
    assert all(picture.shape == (96, 128, 3) and picture.std() > 10 for _, picture in made)
    assert not picker.buttons.button(QDialogButtonBox.StandardButton.Open).isEnabled()


def test_only_what_must_be_downloaded_has_an_arrow(qapp):
    plain, arrow = (pixmap(None, sign=sign).toImage() for sign in ("", DOWNLOAD))
    assert plain == pixmap(None).toImage()  # as in the list of captures, until they are read
    assert plain != arrow


def test_the_chosen_one_is_opened(viewer, qtbot, tmp_path, monkeypatch):
    monkeypatch.setenv("DPDEBLUR_CACHE", str(tmp_path))
    picker = SamplePicker(viewer)
    picker.open()
    picker.list.item(0).setSelected(True)
    assert picker.list.item(0).data(SAMPLE).is_here
    picker.buttons.button(QDialogButtonBox.StandardButton.Open).click()
    assert viewer.layers[0].name.startswith("Synthetic scene")
    qtbot.waitUntil(lambda: not running(), timeout=60_000)
    assert list(queries.captures(viewer)) == ["synthetic"]
