"""The independent renderer of the two-sided benchmark, and its limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import two_sided
import two_sided_scene
from napari_dpdeblur.datasets.synthetic.lens import synthetic_kernels
from napari_dpdeblur.optics import KernelGrid
from napari_dpdeblur.optics.moments import first_moment

FIELD = (two_sided_scene.HEIGHT, two_sided_scene.WIDTH)


@pytest.fixture(scope="module")
def kernels() -> np.ndarray:
    return synthetic_kernels(two_sided_scene.TILE_ROWS, two_sided_scene.TILE_COLS)


@pytest.fixture(scope="module")
def lens(kernels: np.ndarray) -> two_sided_scene.Lens:
    return two_sided_scene.Lens(kernels.astype(np.float64))


@pytest.fixture(scope="module")
def scene() -> two_sided_scene.Scene:
    random = np.random.default_rng(0)
    return two_sided_scene.make_scene([random.uniform(0.1, 0.7, FIELD) for _ in range(4)])


def test_the_kernels_are_those_of_the_package_on_both_sides(
    kernels: np.ndarray, lens: two_sided_scene.Lens
) -> None:
    """Two ways to rescale: they agree in moments, not to the last digit."""
    grid = KernelGrid.from_array(kernels, 6, 8).centred()
    for scale in (0.8, -0.8):
        mine, theirs = lens.at(scale), grid.scaled(scale).kernels.numpy()
        for axis in (-2, -1):
            np.testing.assert_allclose(
                first_moment(mine, axis), first_moment(theirs, axis), atol=0.05
            )
        margin = (mine.shape[-1] - theirs.shape[-1]) // 2
        inner = mine[..., margin : mine.shape[-1] - margin, margin : mine.shape[-1] - margin]
        assert np.abs(inner - theirs).sum((-2, -1)).max() < 0.15


def test_kernels_in_front_are_turned_and_a_kernel_in_focus_is_a_point(
    lens: two_sided_scene.Lens,
) -> None:
    np.testing.assert_allclose(lens.at(-0.6), lens.at(0.6)[..., ::-1, ::-1], atol=1e-12)
    np.testing.assert_allclose(lens.at(0.0), 1, atol=1e-12)


def test_a_blur_is_a_convolution_with_the_tile_s_kernel(lens: two_sided_scene.Lens) -> None:
    margin = two_sided_scene.MARGIN_PX
    point = np.zeros(np.add(FIELD, 2 * margin))
    point[margin + 84, margin + 84] = 1  # the middle of the first tile
    (views,) = lens.blur([point], -0.7)
    kernel = lens.at(-0.7)[0]
    reach = kernel.shape[-1] // 2
    around = slice(84 - reach, 84 + reach + 1)
    np.testing.assert_allclose(views[:, around, around], kernel, atol=1e-9)
    assert views.sum() == pytest.approx(2)


def test_the_truth_has_all_surfaces(scene: two_sided_scene.Scene) -> None:
    image, defocus = scene.truth()
    assert image.shape == defocus.shape == FIELD
    assert defocus[0, 0] == 1
    assert defocus[-1, -1] == np.float32(-0.6)
    for card in two_sided_scene.CARDS:
        assert (defocus == np.float32(card[0])).mean() > 0.05


def test_a_scene_of_one_colour_stays_so(scene: two_sided_scene.Scene, kernels: np.ndarray) -> None:
    cards = tuple(replace(card, color=np.full_like(card.color, 0.4)) for card in scene.cards)
    plain = replace(scene, ground=np.full_like(scene.ground, 0.4), cards=cards)
    np.testing.assert_allclose(two_sided_scene.render(plain, kernels), 0.4, atol=1e-6)


def test_the_noise_is_that_of_merged_shots() -> None:
    raw = two_sided_scene.exposed(np.full((2, *FIELD), 0.5), seed=0)
    values = (raw - 1024.0) / 16383
    assert values.mean() == pytest.approx(0.5, abs=1e-4)
    assert values.var() == pytest.approx((0.5 / 6000 + (3 / 6000) ** 2) / 6, rel=0.01)


def test_errors_are_counted_by_region() -> None:
    truth = np.array([[0.5, 0.5, 0.1, -0.4, -0.4]])
    found = np.array([[0.6, 0.5, -0.1, -0.4, 0.4]])
    errors = two_sided.defocus_errors(found, truth)
    assert errors == pytest.approx(
        {"right_signs": 0.75, "behind": 0.05, "in_front": 0.4, "near_focus": 0.2}
    )


def test_a_missed_limit_is_named() -> None:
    good = two_sided.TwoSidedScore(0.995, 0.035, 0.045, 0.06, 33.0, 0.9, 0.01, 20.0, 1.0)
    assert two_sided.missed_limits("000", good) == []
    assert two_sided.missed_limits("000", replace(good, in_front=0.05)) == [
        "scene 000: in front is 0.05, required: at most 0.045"
    ]
    assert len(two_sided.missed_limits("000", replace(good, right_signs=0.99))) == 1
    assert len(two_sided.missed_limits("000", replace(good, psnr_db=float("nan")))) == 1
