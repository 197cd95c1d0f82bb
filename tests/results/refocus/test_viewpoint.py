"""Sharp views from elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results.refocus.viewpoint import SharpViews

HEIGHT, WIDTH = 40, 60


def _scene(channels: int = 1) -> MultiplaneImage:
    """A patterned wall at scale 1 and a square of another pattern at 0.5 in front of it."""
    random = np.random.default_rng(0)
    color = random.uniform(0.1, 1, (2, channels, HEIGHT, WIDTH)).astype(np.float32)
    alpha = np.zeros((2, 1, HEIGHT, WIDTH), np.float32)
    alpha[0] = 1
    alpha[1, 0, 10:30, 20:40] = 1
    return MultiplaneImage(color, alpha, np.array([1.0, 0.5]))


@pytest.mark.parametrize("channels", [1, 3])
def test_from_the_front_a_scene_is_its_composite(channels):
    scene = _scene(channels)
    views = SharpViews(scene)
    assert views.shape == (HEIGHT, WIDTH)
    np.testing.assert_allclose(views.parallax((0, 0)), scene.all_in_focus(), atol=1e-5)
    np.testing.assert_allclose(views.turned(0, 0.2), scene.all_in_focus(), atol=1e-5)


@pytest.mark.parametrize(("shift", "rolled"), [((4, 0), (0, 4)), ((0, -4), (-4, 0))])
def test_layers_move_by_their_defocus_and_show_what_they_covered(shift, rolled):
    scene = _scene()
    view = SharpViews(scene).parallax(shift)
    wall = np.roll(scene.color[0], rolled, (1, 2))
    square = np.roll(scene.color[1], [r // 2 for r in rolled], (1, 2))
    cover = np.roll(scene.alpha[1], [r // 2 for r in rolled], (1, 2))
    inside = np.s_[:, 5:-5, 5:-5]
    np.testing.assert_allclose(
        view[inside], (cover * square + (1 - cover) * wall)[inside], atol=1e-5
    )


def test_what_is_in_focus_stays_in_place():
    scene = _scene()
    view = SharpViews(scene).parallax((6, 0), focus=0.5)
    np.testing.assert_allclose(view[:, 10:30, 20:40], scene.color[1, :, 10:30, 20:40], atol=1e-5)
    moved = np.roll(scene.color[0], 3, 2)
    np.testing.assert_allclose(view[:, :8, 6:-6], moved[:, :8, 6:-6], atol=1e-5)


def test_a_slanted_layer_is_stretched_by_its_own_defocus():
    """A ramp of brightness moves by shift times the defocus where it comes from."""
    x = np.broadcast_to(np.arange(WIDTH, dtype=np.float32), (1, 1, HEIGHT, WIDTH))
    slope = 0.01
    scene = MultiplaneImage(x.copy(), np.ones_like(x), np.array([0.3]), slope * x)
    view = SharpViews(scene).parallax((5, 0))
    expected = x[0] / (1 + 5 * slope)
    np.testing.assert_allclose(view[..., 5:-5], expected[..., 5:-5], atol=0.06)
    flat = MultiplaneImage(x.copy(), np.ones_like(x), np.array([0.9]), np.full_like(x, 0.4))
    np.testing.assert_allclose(
        SharpViews(flat).parallax((5, 0))[..., 5:-5], (x[0] - 2)[..., 5:-5], atol=1e-3
    )


def test_a_small_view_is_the_reduced_one():
    y, x = np.indices((HEIGHT, WIDTH), np.float32)
    scene = _scene()
    smooth = np.stack([1 + np.sin(x / 9), 1 + np.cos(y / 7)])[:, None].astype(np.float32)
    scene = MultiplaneImage(smooth, scene.alpha, scene.defocus_scales)
    full = SharpViews(scene).parallax((8, 0))
    small = SharpViews(scene, 2).parallax((8, 0))
    means = full.reshape(1, HEIGHT // 2, 2, WIDTH // 2, 2).mean((2, 4))
    assert np.abs(small - means)[..., 4:-4].mean() < 0.01


def test_a_turned_scene_moves_near_and_far_apart_on_black():
    scene = _scene()
    view = SharpViews(scene).turned(30, 0.3)
    assert (view[..., -6:] == 0).all()  # the wall is narrower, and moves to the left
    assert (view[..., :40].sum(1) > 0).all()
    mask = MultiplaneImage(
        np.stack([0 * scene.color[0], 1 + 0 * scene.color[1]]), scene.alpha, scene.defocus_scales
    )
    left, right = (SharpViews(mask).turned(angle, 0.3)[0] for angle in (-30, 30))
    columns = np.arange(WIDTH)
    centres = [(part.sum(0) * columns).sum() / part.sum() for part in (left, right)]
    assert centres[1] - centres[0] == pytest.approx(2 * 0.15 * WIDTH * 0.5, abs=0.5)
