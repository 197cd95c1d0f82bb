from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from napari_dpdeblur.optics.moments import first_moment


@pytest.mark.parametrize(("axis", "expected"), [(-1, -2.0), (-2, 1.0)])
def test_a_point_is_at_its_offset_from_the_centre(axis: int, expected: float) -> None:
    kernels = np.zeros((3, 2, 5, 7), np.float32)
    kernels[..., 3, 1] = 1
    np.testing.assert_array_equal(first_moment(kernels, axis), np.full((3, 2), expected))
    found = first_moment(torch.from_numpy(kernels), axis)
    assert torch.equal(found, torch.full((3, 2), expected))


def test_arrays_do_not_need_torch() -> None:
    code = (
        "import sys, numpy; from napari_dpdeblur.optics.moments import first_moment; "
        "from napari_dpdeblur.optics import tile_axis; first_moment(numpy.ones((3, 3)), -1); "
        "raise SystemExit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
