"""Render both views of a multiplane image through a calibrated lens."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import numpy as np

from napari_dpdeblur.optics.lens_model import AS_STORED, LensModel
from napari_dpdeblur.results.refocus.aperture import Aperture, calibrated_aperture

if TYPE_CHECKING:
    from napari_dpdeblur.array_types import Crop
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.optics import MultiplaneImage


def lens_of_layers(
    mpi: MultiplaneImage,
    calibration: Calibration,
    crop: Crop | None,
    lens: LensModel | None = None,
) -> Aperture:
    """The kernels of the tiles that layers cover, used as in the fit; as stored without a lens."""
    shape = (mpi.color.shape[-2], mpi.color.shape[-1])
    return calibrated_aperture(calibration, shape, crop, lens or AS_STORED)


def render_views(
    mpi: MultiplaneImage, aperture: Aperture
) -> Generator[tuple[int, int], None, np.ndarray]:
    """Render both views (2, C, H, W), compositing layers from back to front (Eq. 2).

    Yields (layers done, layers in total). A slanted layer is the sum of its planes.
    """
    import torch

    from napari_dpdeblur.optics import TiledBlur

    lens, pitch = aperture.lens, (aperture.pixel_pitch, aperture.pixel_pitch)
    views = torch.zeros(())
    layers = mpi.planes(lens.plane_step)
    for index, (color, planes) in enumerate(zip(mpi.color, layers, strict=True)):
        light = torch.zeros(())
        for plane in planes:
            kernels = lens.stretched(aperture.grid, plane.scale, pitch)
            blur = TiledBlur([kernels], aperture.layout, lens.blend_px)
            weighted = torch.cat([color * plane.weight, plane.weight])
            light = light + blur(weighted[None])[0]
        views = light[:, :-1] + (1 - light[:, -1:]) * views
        yield index + 1, len(layers)
    return views.numpy()
