"""The new camera's files open like all others."""

from __future__ import annotations

import numpy as np
import pytest
import tifffile
from new_camera import TWIN_TIFF

import napari_dpdeblur as dpdeblur
from napari_dpdeblur.capture import looks_like_capture, pairing
from napari_dpdeblur.errors import CaptureError


@pytest.fixture(autouse=True)
def _known(monkeypatch):
    """In the package, the new format is added to FORMATS itself."""
    monkeypatch.setattr(pairing, "FORMATS", (*pairing.FORMATS, TWIN_TIFF))


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / f"0001_{side}.tif" for side in "AB"]
    for path, value in zip(paths, (256 + 819, 256 + 1638), strict=True):
        tifffile.imwrite(path, np.full((6, 8), value, np.uint16))
    return paths


def test_either_file_both_or_the_folder_open_the_capture(files):
    for given in ([files[0]], [files[1]], files, [files[0].parent]):
        capture = dpdeblur.open(*given)
        assert capture.shape == (2, 1, 6, 8)
        np.testing.assert_allclose(capture.views[:, 0, 0, 0], (0.2, 0.4), rtol=1e-6)
    assert capture.source.format == "twin-tiff"
    assert looks_like_capture(files[0])


def test_levels_can_be_given(files):
    assert dpdeblur.open(files[0], black=0, white=1075).views[0].max() == 1


def test_what_is_wrong_is_said_in_one_sentence(files):
    tifffile.imwrite(files[1], np.zeros((6, 8, 3), np.uint8), photometric="rgb")
    with pytest.raises(CaptureError, match=r"0001_B\.tif .* export it without colours"):
        dpdeblur.open(files[0])
    files[1].write_bytes(b"this was a TIFF file once")
    with pytest.raises(CaptureError, match="damaged TIFF"):
        dpdeblur.open(files[0])
    files[1].unlink()
    assert not looks_like_capture(files[0])
    with pytest.raises(CaptureError, match=r"the right view 0001_B\.tif is missing"):
        dpdeblur.open(files[0])
