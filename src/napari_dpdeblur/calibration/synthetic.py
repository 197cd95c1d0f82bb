"""The calibration of the synthetic lens: belongs to the captures of `capture.synthetic`."""

from __future__ import annotations

from napari_dpdeblur.calibration.calibration import Calibration, Field
from napari_dpdeblur.capture.synthetic_lens import synthetic_kernels, synthetic_vignetting

ROWS, COLS = 6, 8


def synthetic_calibration(
    height: int, width: int, rows: int = ROWS, cols: int = COLS
) -> Calibration:
    """True kernels and vignetting of the synthetic lens for a frame of height x width px.

    The field is the whole frame.
    """
    return Calibration(
        kernels=synthetic_kernels(rows, cols),
        rows=rows,
        cols=cols,
        field=Field(0, 0, height, width),
        frame_shape=(height, width),
        vignetting=synthetic_vignetting(height, width),
        camera="synthetic lens",
        source={"format": "synthetic"},
    )
