"""The lens without torch."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from napari_dpdeblur.datasets.synthetic.blur import blurred_views
from napari_dpdeblur.datasets.synthetic.lens import synthetic_kernels
from napari_dpdeblur.datasets.synthetic.scene import synthetic_scene
from napari_dpdeblur.optics import KernelGrid, TiledBlur, TileLayout


def test_it_renders_what_the_optics_render():
    scene = synthetic_scene(101, 130, seed=3, channels=3)
    kernels = synthetic_kernels(2, 3)
    grid = KernelGrid.from_array(kernels, 2, 3)
    scaled = [grid.scaled(float(scale)) for scale in scene.defocus_scales]
    expected = scene.layers.render(TiledBlur(scaled, TileLayout.regular(101, 130, 2, 3))).numpy()
    found = blurred_views(scene, kernels, 2, 3)
    assert found.dtype == np.float32
    assert np.abs(found - expected).max() < 2e-4 * expected.max()  # optics crop negligible rims


def test_it_needs_no_torch():
    code = (
        "import sys; import napari_dpdeblur.datasets.synthetic.blur;"
        "from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration;"
        "synthetic_calibration(48, 64, rows=1, cols=1); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
