from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.fitting.defocus.cost_volume import CostVolume, compute_cost_volume
from napari_dpdeblur.fitting.defocus.local_estimate import Estimate, local_estimate, propagate
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.generators import finish
from napari_dpdeblur.optics import KernelGrid, TiledBlur, TileLayout

PARAMETERS = Parameters()
SCALES = torch.linspace(1.7, -1.7, 51)
LAYOUT = TileLayout.regular(192, 256, 1, 2)


@pytest.fixture(scope="module")
def kernels() -> KernelGrid:
    lens = synthetic_calibration(192, 256, 1, 2)
    return KernelGrid.from_array(lens.kernels, 1, 2)


def volume_of(views: Tensor, kernels: KernelGrid, correct_bias: bool = True) -> CostVolume:
    steps = compute_cost_volume(
        views, kernels, LAYOUT, SCALES, (1.0, 1.0), PARAMETERS.cost_volume, correct_bias
    )
    count = 0
    while True:
        try:
            next(steps)
            count += 1
        except StopIteration as end:
            assert count == len(SCALES)
            volume: CostVolume = end.value
            return volume


def estimate_of(volume: CostVolume) -> Estimate:
    return local_estimate(volume, PARAMETERS.local_estimate)


def blurred(kernels: KernelGrid, scale: float, noise: float = 0.0) -> Tensor:
    """A textured plane at one defocus, seen by both views: (2, 1, 192, 256)."""
    generator = torch.Generator().manual_seed(0)
    texture = torch.zeros(1, 1, 192, 256)
    for size in (1, 2, 4, 8, 16):  # structures of all sizes, as in most pictures
        coarse = torch.rand(1, 1, 192 // size, 256 // size, generator=generator)
        texture += interpolate(coarse, size=(192, 256), mode="bilinear") / 5
    blur = TiledBlur([kernels.defocused(scale)], LAYOUT, blend_px=16)
    return blur(texture)[0] + noise * torch.randn(2, 1, 192, 256, generator=generator)


@pytest.mark.parametrize("scale", [1.2, 0.7, 0.3, 0.1, 0.0, -0.1, -0.4, -0.9])
def test_the_cost_is_smallest_at_the_true_scale(kernels: KernelGrid, scale: float) -> None:
    volume = volume_of(blurred(kernels, scale), kernels)
    inner = volume.cost[:, 32:-32, 32:-32]  # at the border, light from outside is missing
    best = volume.scales[inner.mean((1, 2)).argmin()]
    assert float(best) == pytest.approx(scale, abs=volume.step)
    centre = estimate_of(volume).centre[32:-32, 32:-32]
    assert float(centre.median()) == pytest.approx(scale, abs=0.05)


@pytest.mark.parametrize("scale", [0.8, 0.3, -0.3, -0.8])
def test_the_wrong_side_costs_more(kernels: KernelGrid, scale: float) -> None:
    volume = volume_of(blurred(kernels, scale), kernels)
    inner = volume.cost[:, 16:-16, 16:-16]
    right, wrong = (inner[volume.scales * side * scale > 0].amin(0).median() for side in (1, -1))
    assert float(wrong) > 3 * float(right)


def test_near_objects_do_not_spread_over_what_is_behind() -> None:
    """Estimates of a blurred near object beyond its outline, in an area that says little else."""
    guide = torch.full((40, 60), 0.5)
    guide[:, 20:] = 0.2  # the near object ends at column 20
    centre, weight = torch.full((40, 60), -0.5), torch.zeros(40, 60)
    weight[:, :26] = 1e3  # its blur reaches to column 26
    centre[:, 40:], weight[:, 40:] = 0.4, 1e3
    *_, values = propagate(
        Estimate(centre, weight), guide, PARAMETERS.propagation, PARAMETERS.solver
    )
    torch.testing.assert_close(values[:, :20], torch.full((40, 20), -0.5), rtol=0, atol=0.05)
    torch.testing.assert_close(values[:, 22:], torch.full((40, 38), 0.4), rtol=0, atol=0.1)


def test_brightness_says_nothing_about_defocus(kernels: KernelGrid) -> None:
    views = blurred(kernels, 0.7)
    brighter = views.clone()
    brighter[1] += 0.1
    plain, shifted = (estimate_of(volume_of(v, kernels)).centre for v in (views, brighter))
    torch.testing.assert_close(plain[24:-24, 24:-24], shifted[24:-24, 24:-24], rtol=0, atol=0.02)


def test_without_the_bias_correction_blur_of_noise_looks_different(kernels: KernelGrid) -> None:
    noise = 0.05 * torch.randn(2, 1, 192, 256)
    corrected, plain = (volume_of(noise, kernels, choice).cost for choice in (True, False))
    profile, biased = (cost.mean((1, 2)) / cost.mean() for cost in (corrected, plain))
    assert float(profile.std()) < 0.5 * float(biased.std())


def test_noise_lowers_the_confidence(kernels: KernelGrid) -> None:
    clean, noisy = (
        estimate_of(volume_of(blurred(kernels, 0.8, noise), kernels)).confidence(
            PARAMETERS.local_estimate
        )
        for noise in (0.0, 0.01)
    )
    assert float(noisy.min()) >= 0
    assert float(clean.max()) < 1
    assert float(noisy[16:-16, 16:-16].mean()) < float(clean[16:-16, 16:-16].mean()) - 0.02


def test_lines_along_the_disparity_say_little() -> None:
    """Whatever their costs are, which errors of the kernels make as sharp as others."""
    rows, cols = torch.meshgrid(torch.arange(48.0), torch.arange(64.0), indexing="ij")
    cost = (SCALES - 0.8).square()[:, None, None].expand(-1, 48, 64) + 1e-3
    upright, lying, slanted = (
        estimate_of(CostVolume(cost, SCALES, torch.sin(phase))).weight[8:-8, 8:-8]
        for phase in (cols / 3, rows / 3, (rows + cols) / 4)
    )
    torch.testing.assert_close(upright, slanted)
    assert float(lying.max()) < 1e-2 * float(upright.min())


def test_estimates_spread_up_to_the_edges_of_the_picture() -> None:
    guide = torch.zeros(24, 32)
    guide[:, 16:] = 0.5
    centre, weight = torch.zeros(24, 32), torch.zeros(24, 32)
    centre[12, 4], weight[12, 4] = 1.2, 1e3
    centre[12, 28], weight[12, 28] = 0.4, 1e3
    values = torch.zeros(())
    for values in propagate(
        Estimate(centre, weight), guide, PARAMETERS.propagation, PARAMETERS.solver
    ):
        assert torch.isfinite(values).all()
    torch.testing.assert_close(values[:, :16], torch.full((24, 16), 1.2), rtol=0, atol=0.05)
    torch.testing.assert_close(values[:, 16:], torch.full((24, 16), 0.4), rtol=0, atol=0.05)


def test_centred_kernels_keep_the_disparity(kernels: KernelGrid) -> None:
    centred = kernels.centred()
    offsets = torch.arange(kernels.size_px[1]) - kernels.size_px[1] // 2
    for axis in (-1, -2):
        centroids = (centred.kernels.sum(axis) * offsets).sum(-1)
        torch.testing.assert_close(centroids.mean(1), torch.zeros(2), rtol=0, atol=0.02)
    torch.testing.assert_close(centred.disparity_px(), kernels.disparity_px(), rtol=0, atol=0.05)


def test_clean_views_are_whitened_less(kernels: KernelGrid) -> None:
    def costs(noise: float, **changes: float) -> Tensor:
        parameters = PARAMETERS.cost_volume.model_copy(update=changes)
        steps = compute_cost_volume(
            blurred(kernels, 0.7, noise), kernels, LAYOUT, SCALES, (1.0, 1.0), parameters
        )
        return finish(steps).cost

    always = {"least_whitening": 1.0}
    assert torch.equal(costs(0.01), costs(0.01, **always)), "as noisy as a phone"
    assert not torch.allclose(costs(1e-4), costs(1e-4, **always))
    least = PARAMETERS.cost_volume.least_whitening * PARAMETERS.cost_volume.whitening
    torch.testing.assert_close(costs(1e-4), costs(1e-4, whitening=least, **always))


def test_scales_of_both_signs_cost_what_each_costs_alone(kernels: KernelGrid) -> None:
    """Both come from one spectrum, unless kernels were measured in front: then each has its own."""
    views = blurred(kernels, 0.6, noise=0.01)
    front = kernels.kernels.flip(-2, -1)  # what is assumed without a measurement
    measured = replace(kernels, front=front, front_scale=-1.0)
    together, alone = (volume_of(views, grid).cost for grid in (kernels, measured))
    torch.testing.assert_close(together, alone, rtol=1e-3, atol=1e-6)
