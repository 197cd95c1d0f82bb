"""Files of version 2 open for ever.

Calibrations of version 2 hold kernels in front of the focus plane, layers the defocus of each
pixel. The files have the content of version 1 besides, from the formulas in `version_1_content.py`.
Never write them again.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import tifffile
import version_1_content as content

import napari_dpdeblur as dpdeblur
from napari_dpdeblur.calibration import save_calibration
from napari_dpdeblur.results.tiff_files import read_multiplane_image

CALIBRATION = Path(__file__).parent / "version_2" / "calibration.dpcal"
LAYERS = CALIBRATION.with_name("mpi.tif")
CALIBRATION_HASH = "995c42e090bf686892bc2b09cbddd0d04e50e3bff6df1ab705d30359fac516c9"


def test_the_calibration_opens():
    calibration = dpdeblur.load_calibration(CALIBRATION)
    for name, expected in content.calibration().items():
        np.testing.assert_array_equal(getattr(calibration, name), expected, err_msg=name)
    np.testing.assert_array_equal(calibration.front_kernels, content.front_kernels())
    assert calibration.front_scale == -0.75
    assert calibration.content_hash() == CALIBRATION_HASH


def test_a_version_2_file_is_the_same_after_it_was_written_again(tmp_path):
    calibration = dpdeblur.load_calibration(CALIBRATION)
    save_calibration(calibration, tmp_path / "again.dpcal")
    again = dpdeblur.load_calibration(tmp_path / "again.dpcal")
    assert again.describe() == calibration.describe()
    np.testing.assert_array_equal(again.front_kernels, content.front_kernels())


def test_layers_with_the_defocus_of_each_pixel_open():
    mpi = read_multiplane_image(LAYERS)
    run = content.run()
    np.testing.assert_array_equal(mpi.color, run["mpi_color"])
    np.testing.assert_array_equal(mpi.alpha, run["mpi_alpha"])
    np.testing.assert_array_equal(mpi.defocus_scales, run["defocus_scales"])
    np.testing.assert_array_equal(mpi.defocus, content.defocus())


def test_programs_of_version_1_see_its_layers():
    """They read all pages of the file, in order, and their descriptions."""
    with tifffile.TiffFile(LAYERS) as tiff:
        pages = [page.aspage() for page in tiff.pages]
        shapes = {page.shape for page in pages}
        described = [json.loads(page.description) for page in pages]
    assert shapes == {(*content.SIZE, 4)}
    assert tuple(entry["defocus_scale"] for entry in described) == content.SCALES
    assert [entry.get("version", 1) for entry in described] == [1, 2, 1]
