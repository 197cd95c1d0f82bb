from __future__ import annotations

import cv2
import numpy as np
import torch
from counting_control import CountingControl
from skimage.restoration import denoise_tv_chambolle

from napari_dpdeblur.cancellation import obeying
from napari_dpdeblur.fitting.image.filters import (
    GuidedFilter,
    box_mean,
    largest_around,
    smallest_around,
    total_variation_filter,
    voted_median,
)
from napari_dpdeblur.fitting.parameters.image import VariationParameters
from napari_dpdeblur.fitting.result import bilateral_filter


def test_box_mean() -> None:
    image = torch.rand(2, 9, 11)
    found = box_mean(image, (2, 1))
    torch.testing.assert_close(found[:, 4, 5], image[:, 2:7, 4:7].mean((1, 2)))
    constant = torch.full((1, 6, 7), 0.3)
    torch.testing.assert_close(box_mean(constant, (3, 3)), constant)


def test_largest_and_smallest_of_a_box() -> None:
    image = torch.rand(2, 9, 11)
    assert torch.equal(largest_around(image, (1, 3))[:, 4, 5], image[:, 3:6, 2:9].amax((1, 2)))
    assert torch.equal(smallest_around(image, (2, 0))[:, 4, 5], image[:, 2:7, 5].amin(1))


def test_a_guided_filter_passes_what_follows_the_guide() -> None:
    guide = torch.rand(20, 30)
    found = GuidedFilter(guide, 4, 1e-6)(2 * guide + 1)
    torch.testing.assert_close(found, 2 * guide + 1, atol=1e-3, rtol=0)


def step_scene() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A slanted edge in the guide; the true map, and one whose outline is a staircase."""
    rows, cols = torch.meshgrid(torch.arange(64.0), torch.arange(96.0), indexing="ij")
    front = cols + 0.4 * rows < 60
    coarse = (cols // 8) * 8 + 4 + 0.4 * ((rows // 8) * 8 + 4) < 60
    return front.float(), torch.where(front, 0.3, 1.2), torch.where(coarse, 0.3, 1.2)


def test_a_voted_median_moves_outlines_to_the_edges_of_the_guide() -> None:
    guide, truth, staircase = step_scene()
    found = voted_median(staircase, GuidedFilter(guide, 8, 1e-3), 24)
    wrong_before = float(((staircase - truth).abs() > 0.2).float().mean())
    wrong = float(((found - truth).abs() > 0.2).float().mean())
    assert wrong_before > 0.02
    assert wrong < 0.15 * wrong_before


def test_a_voted_median_makes_no_values_between_two_surfaces() -> None:
    guide, _, staircase = step_scene()
    found = voted_median(staircase, GuidedFilter(guide, 8, 1e-3), 24)
    between = ((found > 0.45) & (found < 1.05)).float().mean()
    assert float(between) < 0.005


def test_a_voted_median_leaves_a_smooth_map_alone() -> None:
    ramp = torch.linspace(0.2, 1.5, 96).expand(64, 96)
    found = voted_median(ramp, GuidedFilter(torch.rand(64, 96), 4, 1e-3), 24)
    torch.testing.assert_close(found[8:-8, 8:-8], ramp[8:-8, 8:-8], atol=0.03, rtol=0)


def test_a_voted_median_of_a_constant_is_that_constant() -> None:
    constant = torch.full((16, 16), 0.7)
    found = voted_median(constant, GuidedFilter(torch.rand(16, 16), 2, 1e-3), 24)
    torch.testing.assert_close(found, constant)


def test_the_bilateral_filter_in_strips_is_that_of_the_whole_image() -> None:
    image = np.random.default_rng(0).random((2, 600, 64), np.float32)
    control = CountingControl()
    with obeying(control):
        found = bilateral_filter(image, 0.2, 3.0)
    whole = [cv2.bilateralFilter(plane, -1, 0.2, 3.0) for plane in image]
    np.testing.assert_allclose(found, np.stack(whole), atol=1e-6)
    assert control.checks == 3


def test_the_total_variation_filter_is_the_one_of_scikit_image() -> None:
    image = torch.rand(1, 30, 40, dtype=torch.float64)
    parameters = VariationParameters(steps=39)  # the first step of theirs does nothing
    found = total_variation_filter(image, 0.1, parameters)
    expected = denoise_tv_chambolle(image[0].numpy(), 0.1, eps=0, max_num_iter=40)
    np.testing.assert_allclose(found[0].numpy(), expected, atol=1e-12)


def test_the_total_variation_filter_takes_ripples_and_leaves_edges() -> None:
    edge = torch.zeros(3, 40, 64)
    edge[..., 32:] = 1
    ripples = 0.02 * torch.sin(torch.arange(64) * 0.8)
    found = total_variation_filter(edge + ripples, 0.05, VariationParameters())
    flat = found[..., 8:24] - found[..., 8:24].mean()
    assert float(flat.abs().max()) < 0.005
    assert float((found[..., 34:] - found[..., :30].mean()).mean()) > 0.9
    torch.testing.assert_close(found.mean((-2, -1)), (edge + ripples).mean((-2, -1)))
