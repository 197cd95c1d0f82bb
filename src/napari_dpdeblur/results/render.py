"""Render both views of a multiplane image through a calibrated lens."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import numpy as np

from napari_dpdeblur.errors import CalibrationError

if TYPE_CHECKING:
    from napari_dpdeblur.array_types import Crop
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.optics import MultiplaneImage, TiledBlur


def layer_blur(mpi: MultiplaneImage, calibration: Calibration, crop: Crop | None) -> TiledBlur:
    """Blur of each layer, with the kernels of the tiles that it covers."""
    from napari_dpdeblur.optics import TiledBlur, TileLayout

    field = calibration.field
    size = (mpi.color.shape[-2], mpi.color.shape[-1])
    top, left, height, width = crop or (0, 0, field.height, field.width)
    if size != (height, width) or not field.holds(top, left, height, width):
        raise CalibrationError(
            f"The multiplane image of {size[0]} x {size[1]} px does not match the crop of "
            f"{height} x {width} px at ({top}, {left}) in the field of {field.height} x "
            f"{field.width} px of the calibration of {calibration.camera}; specify the crop of "
            "the fit."
        )
    grid = calibration.kernel_grid()
    layout = TileLayout.regular(field.height, field.width, grid.rows, grid.cols)
    layout, tiles = layout.crop(top, left, height, width)
    grid = grid.select(tiles, layout.rows, layout.cols)
    return TiledBlur([grid.scaled(float(scale)) for scale in mpi.defocus_scales], layout)


def render_views(
    mpi: MultiplaneImage, blur: TiledBlur
) -> Generator[tuple[int, int], None, np.ndarray]:
    """Render both views (2, C, H, W), compositing layers from back to front (Eq. 2).

    Yields (layers done, layers in total). The same as ``mpi.render(blur)`` with the memory of one
    layer.
    """
    import torch

    layers = torch.cat([mpi.color * mpi.alpha, mpi.alpha], dim=1)
    views = torch.zeros(())
    for index in range(len(layers)):
        blurred = blur[index : index + 1](layers[index : index + 1])[0]
        views = blurred[:, :-1] + (1 - blurred[:, -1:]) * views
        yield index + 1, len(layers)
    return views.numpy()
