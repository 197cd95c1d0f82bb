"""Saved layers through the lens, layer by layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from napari_dpdeblur.datasets.synthetic.scene import synthetic_scene
from napari_dpdeblur.datasets.synthetic.simulation import simulate, synthetic_calibration
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.fitting.problem import lens_model, pose_problem
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.fitting.surfaces.renderer import SurfaceRenderer
from napari_dpdeblur.fitting.surfaces.stack import SurfaceLayers
from napari_dpdeblur.generators import finish
from napari_dpdeblur.optics import MultiplaneImage, TiledBlur, TileLayout
from napari_dpdeblur.optics.lens_model import AS_STORED, CENTRED, LensModel
from napari_dpdeblur.results.refocus.renderer import Refocuser, Shot
from napari_dpdeblur.results.render import lens_of_layers, render_views


@pytest.mark.parametrize("model", [None, LensModel(is_exact=True, blend_px=8)])
def test_layer_by_layer_is_what_the_renderer_gives_at_once(model):
    layers, lens = synthetic_scene(96, 128, seed=3).layers, synthetic_calibration(96, 128)
    aperture = lens_of_layers(layers, lens, None, model)
    used = model or AS_STORED
    kernels = [used.stretched(aperture.grid, float(scale)) for scale in layers.defocus_scales]
    expected = layers.render(TiledBlur(kernels, aperture.layout, used.blend_px)).numpy()
    views = finish(render_views(layers, aperture))
    np.testing.assert_allclose(views, expected, atol=1e-5, rtol=0)


def test_without_a_lens_model_kernels_are_used_as_stored():
    layers, lens = synthetic_scene(96, 128, seed=3).layers, synthetic_calibration(96, 128)
    stored = lens_of_layers(layers, lens, None).grid.kernels
    torch.testing.assert_close(stored, lens.kernel_grid().kernels)
    centred = lens_of_layers(layers, lens, None, CENTRED).grid.kernels
    assert (stored - centred).abs().max() > 1e-3


def test_what_is_rendered_is_what_the_fit_explained():
    """The same kernels, planes and blending as in the renderer of the fit, and as refocused."""
    simulation = simulate(96, 128, seed=1)
    lens = replace(simulation.calibration, excess_variance_px2=(0.3, 0.3))
    settings = FitSettings(sides="behind")
    problem = pose_problem(simulation.capture, lens, settings, torch.device("cpu"))
    shape = (1, 96, 128)
    alpha, defocus = torch.ones(2, *shape), torch.full((2, *shape), 0.3)
    defocus[0] = torch.linspace(1.2, 0.5, 96)[:, None]
    alpha[1, ..., 40:] = 0
    color, scales = torch.rand(2, *shape, generator=torch.manual_seed(0)), torch.tensor([0.9, 0.3])
    whole = replace(
        problem,
        pixel_pitch=(1, 1),
        views=torch.zeros(2, *shape),
        layout=TileLayout.regular(96, 128, lens.rows, lens.cols),
    )
    surfaces = SurfaceLayers(alpha, alpha, defocus, scales)
    model = lens_model(settings)
    fitted = SurfaceRenderer(whole, surfaces, model.plane_step, model.blend_px, 0.0).render(color)
    layers = MultiplaneImage(color, alpha, scales, defocus)
    aperture = lens_of_layers(layers, lens, None, model)
    views = finish(render_views(layers, aperture))
    # Tiles that only side lobes of shifted kernels reach are left out of the fit.
    np.testing.assert_allclose(views, fitted.numpy(), atol=2e-4, rtol=0)
    arrays = (part.numpy() for part in (color, alpha, scales))
    refocuser = Refocuser(*arrays, aperture, defocus=defocus.numpy())
    refocused = refocuser.render_views(Shot())
    inside = np.s_[..., 16:-16, 16:-16]
    assert np.abs(refocused - views)[inside].max() < 0.01
    assert np.abs(refocused - views)[inside].mean() < 5e-4


@pytest.mark.parametrize("crop", [(0, 0, 64, 64), (0, 1, 96, 128), (-1, 0, 96, 128)])
def test_layers_lie_where_the_crop_says_and_in_the_field(crop):
    layers, lens = synthetic_scene(96, 128).layers, synthetic_calibration(96, 128)
    with pytest.raises(CalibrationError, match=r"96 x 128 px does not match the crop of \d+ x \d+"):
        lens_of_layers(layers, lens, crop)


def test_the_front_is_rendered_with_turned_kernels_over_the_back():
    """One point of light: behind the focus as the kernel, in front as the kernel turned."""
    lens = synthetic_calibration(96, 128, rows=1, cols=1)
    scales, drawn = (0.8, 0.0, -0.8), {}
    for layer, scale in enumerate(scales):
        color, alpha = torch.zeros(3, 1, 96, 128), torch.zeros(3, 1, 96, 128)
        color[layer, 0, 48, 64] = 1
        alpha[[0, layer]] = 1
        layers = MultiplaneImage(color, alpha, torch.tensor(scales))
        drawn[scale] = finish(render_views(layers, lens_of_layers(layers, lens, None)))[:, 0]
    kernels = np.asarray(lens.kernel_grid().scaled(0.8).kernels)[0]
    half = kernels.shape[-1] // 2
    around = np.s_[:, 48 - half : 49 + half, 64 - half : 65 + half]
    np.testing.assert_allclose(drawn[0.8][around], kernels, atol=1e-5)
    np.testing.assert_allclose(drawn[-0.8][around], kernels[..., ::-1, ::-1], atol=1e-5)
    assert np.count_nonzero(drawn[0.0] > 1e-5) == 2  # sharp in both views
