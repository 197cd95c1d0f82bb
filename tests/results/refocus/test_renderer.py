"""The refocusing engine against exact references."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.calibration.record import Field
from napari_dpdeblur.errors import CalibrationError, ResultError
from napari_dpdeblur.optics import KernelGrid, MultiplaneImage, TiledBlur, TileLayout
from napari_dpdeblur.optics.lens_model import LensModel
from napari_dpdeblur.results.refocus import renderer
from napari_dpdeblur.results.refocus.aperture import (
    Aperture,
    calibrated_aperture,
    equivalent_radius_px,
    round_aperture,
)
from napari_dpdeblur.results.refocus.merge import groups_of_scales
from napari_dpdeblur.results.refocus.renderer import LEFT, RIGHT, Refocuser, Shot, Superseded

HEIGHT, WIDTH = 72, 96
SCALES = np.array([1.3, 0.8, 0.3])


def _layers(channels: int = 1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Colours (3, C, H, W) and alphas with soft edges; the farthest layer is opaque."""
    random = np.random.default_rng(seed)
    color = random.uniform(0, 1, (3, channels, HEIGHT, WIDTH)).astype(np.float32)
    alpha = np.zeros((3, 1, HEIGHT, WIDTH), np.float32)
    alpha[0] = 1
    alpha[1, 0, 10:60, 20:70] = 1
    alpha[1, 0, 20:30, 30:60] = 0.4
    alpha[2, 0, 30:, 50:] = random.uniform(0, 1, (HEIGHT - 30, WIDTH - 50))
    return color, alpha


def _grid(rows: int, cols: int, size: int = 13) -> KernelGrid:
    """Kernels of no symmetry, different in each tile."""
    kernels = torch.rand(rows * cols, 2, size, size, generator=torch.Generator().manual_seed(1))
    kernels[:, 0, :, size // 2 + 1 :] *= 0.1
    kernels[:, 1, :, : size // 2] *= 0.1
    return KernelGrid(kernels / kernels.sum(dim=(-2, -1), keepdim=True), rows, cols)


def _aperture(rows: int = 2, cols: int = 3) -> Aperture:
    return Aperture(_grid(rows, cols), TileLayout.regular(HEIGHT, WIDTH, rows, cols))


def _reference(color: np.ndarray, alpha: np.ndarray, aperture: Aperture, blend: int) -> np.ndarray:
    mpi = MultiplaneImage(
        torch.from_numpy(color), torch.from_numpy(alpha), torch.tensor(SCALES, dtype=torch.float32)
    )
    grids = [aperture.grid.scaled(float(scale)) for scale in SCALES]
    return mpi.render(TiledBlur(grids, aperture.layout, blend)).numpy()


@pytest.mark.parametrize("channels", [1, 3])
def test_closed_aperture_is_all_in_focus(channels: int) -> None:
    color, alpha = _layers(channels)
    mpi = MultiplaneImage(*(torch.from_numpy(part) for part in (color, alpha, SCALES)))
    picture = Refocuser(color, alpha, SCALES, _aperture()).render(Shot(focus=0.0, aperture=0.0))
    np.testing.assert_allclose(picture, mpi.all_in_focus().numpy(), atol=1e-6)


@pytest.mark.parametrize("channels", [1, 3])
def test_calibrated_shot_at_the_captured_focus_is_the_published_renderer(channels: int) -> None:
    color, alpha = _layers(channels)
    aperture = _aperture()
    expected = _reference(color, alpha, aperture, blend=0)
    engine = Refocuser(color, alpha, SCALES, aperture, blend_px=0)
    np.testing.assert_allclose(engine.render_views(Shot()), expected, atol=1e-5)
    np.testing.assert_allclose(engine.render(Shot()), expected.mean(0), atol=1e-5)
    right = engine.render(Shot(views=(RIGHT,)))
    np.testing.assert_allclose(right, expected[RIGHT], atol=1e-5)


def test_blended_tiles_agree_with_the_renderer() -> None:
    """Composites are blended instead of layers: the same up to the second order in the change."""
    color, alpha = _layers()
    aperture = _aperture()
    smooth = 0.9 * aperture.grid.kernels.mean(0) + 0.1 * aperture.grid.kernels
    aperture = Aperture(KernelGrid(smooth, 2, 3), aperture.layout)
    expected = _reference(color, alpha, aperture, blend=16)
    hard = _reference(color, alpha, aperture, blend=0)
    views = Refocuser(color, alpha, SCALES, aperture, blend_px=16).render_views(Shot())
    assert np.abs(views - expected).max() < 2e-4
    assert np.abs(hard - expected).max() > 2e-3


def test_threads_do_not_change_the_picture() -> None:
    color, alpha = _layers()
    shot = Shot(focus=0.6, aperture=1.4)
    one, three = (
        Refocuser(color, alpha, SCALES, _aperture(), threads=threads).render(shot)
        for threads in (1, 3)
    )
    np.testing.assert_array_equal(one, three)


def test_layer_at_the_plane_in_focus_is_sharp() -> None:
    color, alpha = _layers()
    alpha[1:] = 0
    picture = Refocuser(color, alpha, SCALES, _aperture()).render(Shot(focus=1.3, aperture=1.7))
    np.testing.assert_allclose(picture, color[0], atol=1e-6)


@pytest.mark.parametrize("shot", [Shot(), Shot(0.8, 1.5), Shot(-0.4, 0.7), Shot(2.0, 1.0)])
def test_a_uniform_scene_stays_uniform(shot: Shot) -> None:
    """No light is lost or made, not at occlusions, tile borders or the rim of the picture."""
    _, alpha = _layers()
    color = np.full((3, 1, HEIGHT, WIDTH), 0.7, np.float32)
    for reduction in (1, 2):
        views = Refocuser(color, alpha, SCALES, _aperture(), reduction).render_views(shot)
        assert views.min() > 0.7 - 1e-4
        # where alphas of two depths overlap, light of both can reach a pixel, never more than all
        assert views.max() < 0.7 + 1e-4


def test_energy_of_a_point_is_kept() -> None:
    color = np.zeros((1, 1, HEIGHT, WIDTH), np.float32)
    color[0, 0, 18, 48] = 5.0  # inside a tile: at a border two kernels share it
    alpha = np.ones_like(color)
    for aperture in (_aperture(), round_aperture((HEIGHT, WIDTH), 9.0)):
        for reduction in (1, 2):
            engine = Refocuser(color, alpha, [1.0], aperture, reduction, blend_px=0)
            total = engine.render(Shot(aperture=1.3)).sum() * reduction**2
            assert total == pytest.approx(5.0, rel=1e-4)


def test_beyond_the_plane_in_focus_left_and_right_swap() -> None:
    color = np.zeros((1, 1, HEIGHT, WIDTH), np.float32)
    color[0, 0, 36, 48] = 1.0
    engine = Refocuser(color, np.ones_like(color), [0.5], _aperture(1, 1))

    def centroid_x(focus: float, view: int) -> float:
        spot = engine.render(Shot(focus=focus, views=(view,)))[0]
        return float((spot.sum(0) * np.arange(WIDTH)).sum() / spot.sum()) - 48

    near, far = centroid_x(0.0, LEFT), centroid_x(1.0, LEFT)
    assert near < -0.5
    assert far == pytest.approx(-near, abs=1e-3)
    assert centroid_x(0.0, RIGHT) > 0.5 > -0.5 > centroid_x(1.0, RIGHT)
    # the whole kernel is turned, not only its centroid moved
    spots = [engine.render(Shot(focus=focus, views=(LEFT,)))[0, 30:43, 42:55] for focus in (0, 1)]
    np.testing.assert_allclose(spots[0], spots[1][::-1, ::-1], atol=1e-7)


@pytest.mark.parametrize("reduction", [1, 2])
@pytest.mark.parametrize("opening", [0.5, 1.0, 2.0])
def test_radius_of_a_round_aperture(opening: float, reduction: int) -> None:
    color = np.zeros((1, 1, 96, 96), np.float32)
    color[..., 48:50, 48:50] = 1.0
    aperture = round_aperture((96, 96), radius_px=10.0)
    engine = Refocuser(color, np.ones_like(color), [1.0], aperture, reduction)
    spot = engine.render(Shot(aperture=opening))[0].astype(float)
    radius_px = 10.0 * opening / reduction
    # the area above half of the plateau is the area of the disc
    plateau = np.median(spot[spot > 0.3 * spot.max()])
    found = np.sqrt((spot > plateau / 2).sum() / np.pi)
    assert found == pytest.approx(radius_px, abs=0.75)
    distance = np.hypot(*(np.indices(spot.shape) - (48.5 if reduction == 1 else 24)))
    assert spot[distance > radius_px + 2.5].sum() < 1e-3 * spot.sum()
    inside = spot[distance < max(radius_px - 2.5, 1.5)]
    assert inside.size >= 4
    assert np.ptp(inside) < 0.25 * plateau


def test_halves_of_a_round_aperture_make_the_whole() -> None:
    disc = np.asarray(round_aperture((32, 32), 6.0).kernels(1.0))[0]
    assert disc[LEFT, :, 8:].sum() < 1e-6 < disc[LEFT, :, :7].sum()
    whole = disc.sum(0)
    np.testing.assert_allclose(whole, whole[:, ::-1], atol=1e-7)
    np.testing.assert_allclose(whole, whole.T, atol=1e-7)
    swapped = np.asarray(round_aperture((32, 32), 6.0, left_side=1).kernels(1.0))[0]
    np.testing.assert_allclose(swapped, disc[::-1], atol=1e-7)


def test_occluder_hides_the_sharp_background() -> None:
    """A near blurred edge lets the background shine through in proportion to its blurred alpha."""
    color = np.stack([np.ones((1, HEIGHT, WIDTH)), np.zeros((1, HEIGHT, WIDTH))]).astype(np.float32)
    alpha = np.ones_like(color)
    alpha[1, :, :, 48:] = 0
    engine = Refocuser(color, alpha, [1.0, 0.0], round_aperture((HEIGHT, WIDTH), 6.0))
    row = engine.render(Shot(focus=1.0))[0, 36]
    assert row[:41].max() < 1e-5
    assert row[55:].min() > 1 - 1e-5
    assert (np.diff(row[41:55]) > -1e-6).all()
    assert row[47:49].mean() == pytest.approx(0.5, abs=1e-3)


def test_preview_is_the_reduced_picture() -> None:
    rows, cols = np.indices((HEIGHT, WIDTH))
    color = np.stack([0.5 + 0.5 * np.sin(rows / 9 + i) * np.cos(cols / 7) for i in range(3)])
    color = color[:, None].astype(np.float32)
    alpha = _layers()[1]
    aperture = round_aperture((HEIGHT, WIDTH), 8.0)
    for shot in (Shot(), Shot(0.8, 1.0), Shot(0.0, 0.0), Shot(1.3, 1.5)):
        full = Refocuser(color, alpha, SCALES, aperture).render(shot)[0]
        small = Refocuser(color, alpha, SCALES, aperture, reduction=2).render(shot)[0]
        means = full.reshape(HEIGHT // 2, 2, WIDTH // 2, 2).mean(axis=(1, 3))
        assert np.abs(small - means).mean() < 0.01
        quick = Refocuser(color, alpha, SCALES, aperture, is_quick=True).render(shot)[0]
        assert np.abs(quick - full).mean() < 0.01


def test_a_preview_takes_layers_of_nearly_the_same_blur_as_one(monkeypatch) -> None:
    assert groups_of_scales(np.array([1.4, 1.35, 1.3, 0.8]), 0.05) == [slice(0, 3), slice(3, 4)]
    assert groups_of_scales(np.array([0.5]), 0.05) == [slice(0, 1)]
    color, alpha = _layers(channels=3)
    color, alpha = (np.concatenate([part, part[1:, :, ::-1, ::-1]]) for part in (color, alpha))
    scales = [1.3, 0.82, 0.8, 0.31, 0.3]
    aperture = round_aperture((HEIGHT, WIDTH), 8.0)
    quick = Refocuser(color, alpha, scales, aperture, reduction=2)
    monkeypatch.setattr(renderer, "PREVIEW_BLUR_PX", 0.0)
    exact = Refocuser(color, alpha, scales, aperture, reduction=2)
    assert (quick.layers, exact.layers) == (3, 5)
    for shot in (Shot(aperture=0.0), Shot(), Shot(0.8, 1.0), Shot(1.3, 1.5)):
        error = np.abs(quick.render(shot) - exact.render(shot))
        assert error.max() < (1e-6 if shot.aperture == 0 else 0.15)
        assert error.mean() < 0.01


def test_odd_sizes_are_reduced_too() -> None:
    color = np.full((1, 1, 33, 47), 0.25, np.float32)
    engine = Refocuser(color, np.ones_like(color), [1.0], round_aperture((33, 47)), reduction=2)
    assert engine.shape == (17, 24)
    np.testing.assert_allclose(engine.render(Shot()), 0.25, atol=1e-5)


def test_superseded_render_is_given_up() -> None:
    color, alpha = _layers()
    answers = [False, False]

    def superseded() -> bool:
        return not (answers and not answers.pop())

    engine = Refocuser(color, alpha, SCALES, _aperture(), threads=1)
    with pytest.raises(Superseded):
        engine.render(Shot(), superseded)
    assert not answers
    assert engine.render(Shot()).shape == (1, HEIGHT, WIDTH)


def _calibration() -> Calibration:
    kernels = _grid(4, 4).kernels.numpy().copy()
    kernels[:8, ..., 9:] = 0  # an offset that both views share
    return Calibration(
        kernels=kernels,
        rows=4,
        cols=4,
        field=Field(0, 0, 144, 192),
        frame_shape=(144, 192),
        camera="test camera",
    )


def test_calibrated_aperture_takes_the_tiles_of_a_crop() -> None:
    calibration = _calibration()
    aperture = calibrated_aperture(calibration, (72, 96), crop=(36, 48, 72, 96))
    assert aperture.layout.row_edges == (0, 36, 72)
    kernels = KernelGrid.from_array(calibration.kernels, 4, 4).centred().kernels
    torch.testing.assert_close(aperture.grid.kernels, kernels[[5, 6, 9, 10]])


def test_calibrated_kernels_are_centred() -> None:
    aperture = calibrated_aperture(_calibration(), (144, 192))
    kernels = aperture.kernels(1.0).mean(axis=1)
    offset = np.arange(kernels.shape[-1]) - kernels.shape[-1] // 2
    raw = _calibration().kernels.mean(axis=1)

    def centroid_x(means: np.ndarray) -> np.ndarray:
        return np.abs((means.sum(axis=1) * offset).sum(axis=-1))

    assert centroid_x(kernels).max() < 0.2 * centroid_x(raw).max()


def test_layers_of_lower_resolution_get_smaller_kernels() -> None:
    aperture = calibrated_aperture(_calibration(), (72, 96))
    assert aperture.pixel_pitch == 2.0
    assert aperture.layout.shape == (72, 96)
    whole = calibrated_aperture(_calibration(), (144, 192))
    np.testing.assert_array_equal(aperture.kernels(1.0), whole.kernels(1.0, reduction=2))


def test_calibration_of_another_size_is_refused() -> None:
    with pytest.raises(CalibrationError, match=r"50 x 60 px does not match .* or a round aperture"):
        calibrated_aperture(_calibration(), (50, 60))


def test_parts_of_different_runs_are_refused() -> None:
    color, alpha = _layers()
    with pytest.raises(ResultError, match="do not match; use the data of one run"):
        Refocuser(color, alpha[:2], SCALES, _aperture())
    with pytest.raises(ResultError, match=r"an aperture for images of shape \(10, 10\)"):
        Refocuser(color, alpha, SCALES, round_aperture((10, 10)))


def test_equivalent_radius_of_a_disc_is_its_own() -> None:
    disc = np.asarray(round_aperture((32, 32), 9.0).grid.kernels)
    calibration = Calibration(
        kernels=disc, rows=1, cols=1, field=Field(0, 0, 32, 32), frame_shape=(32, 32)
    )
    assert equivalent_radius_px(calibration) == pytest.approx(9.0, abs=0.3)


SIGNED = np.array([0.8, 0.0, -0.8])


@pytest.mark.parametrize("focus", [0.0, 0.8, -0.8, 0.3])
def test_layers_on_both_sides_are_what_the_renderer_gives(focus: float) -> None:
    """Nearer layers cover farther ones, and each is blurred by the kernels of its side."""
    color, alpha = _layers()
    aperture = _aperture()
    parts = (torch.from_numpy(part) for part in (color, alpha, SIGNED.astype(np.float32)))
    grids = [aperture.grid.scaled(float(scale - focus)) for scale in SIGNED]
    expected = MultiplaneImage(*parts).render(TiledBlur(grids, aperture.layout, 0)).numpy()
    views = Refocuser(color, alpha, SIGNED, aperture, blend_px=0).render_views(Shot(focus))
    np.testing.assert_allclose(views, expected, atol=1e-5)


def test_a_blurred_object_in_front_covers_one_in_focus() -> None:
    color = np.zeros((2, 1, HEIGHT, WIDTH), np.float32)
    alpha = np.ones((2, 1, HEIGHT, WIDTH), np.float32)
    color[1] = 0.6
    alpha[1, ..., WIDTH // 2 :] = 0
    picture = Refocuser(color, alpha, [0.0, -0.8], _aperture()).render(Shot())[0]
    np.testing.assert_allclose(picture[:, :30], 0.6, atol=1e-4)  # nothing shines through
    assert 0.05 < picture[20, WIDTH // 2] < 0.55  # its edge is soft, as the object is


def test_the_kernel_in_front_is_turned_unless_it_was_measured() -> None:
    aperture = _aperture()
    turned = aperture.kernels(0.7)[..., ::-1, ::-1]
    np.testing.assert_allclose(aperture.kernels(-0.7), turned, atol=1e-7)
    measured = aperture.grid.kernels.flip(0)  # of other tiles: nothing like the turned ones
    grid = KernelGrid(aperture.grid.kernels, 2, 3, front=measured, front_scale=-0.5)
    both_sides = Aperture(grid, aperture.layout)
    np.testing.assert_allclose(both_sides.kernels(0.7), aperture.kernels(0.7))
    np.testing.assert_allclose(both_sides.kernels(-0.5), np.asarray(measured), atol=1e-6)
    right = both_sides.seen_by((RIGHT,)).kernels(-0.5)
    np.testing.assert_allclose(right, np.asarray(measured[:, [RIGHT]]), atol=1e-6)
    one = both_sides.seen_by((LEFT, RIGHT), as_one=True).kernels(-0.5)
    np.testing.assert_allclose(one, np.asarray(measured.mean(1, keepdim=True)), atol=1e-6)


def test_in_focus_a_kernel_is_one_pixel() -> None:
    for reduction in (1, 2):
        kernels = _aperture().kernels(0.0, reduction, rim=0.004)
        np.testing.assert_array_equal(kernels, np.ones((6, 2, 1, 1)))


def test_layers_of_both_signs_close_to_the_focus_are_merged() -> None:
    scales = np.array([0.5, 0.01, -0.01, -0.5])
    assert groups_of_scales(scales, 0.02) == [slice(0, 1), slice(1, 3), slice(3, 4)]


def test_exact_kernels_are_those_of_the_exact_blur() -> None:
    color, alpha = _layers()
    lens = LensModel(is_exact=True, blend_px=0)
    aperture = replace(_aperture(), lens=lens)
    grids = [aperture.grid.defocused(float(scale)) for scale in SCALES]
    parts = (torch.from_numpy(part) for part in (color, alpha, SCALES.astype(np.float32)))
    expected = MultiplaneImage(*parts).render(TiledBlur(grids, aperture.layout, 0)).numpy()
    views = Refocuser(color, alpha, SCALES, aperture).render_views(Shot())
    np.testing.assert_allclose(views, expected, atol=0.01)
    by_area = Refocuser(color, alpha, SCALES, _aperture(), blend_px=0).render_views(Shot())
    assert np.abs(views - expected).mean() < 0.3 * np.abs(by_area - expected).mean()
    np.testing.assert_array_equal(aperture.kernels(0.0), np.ones((6, 2, 1, 1)))


def test_planes_of_a_slanted_layer_do_not_cover_each_other() -> None:
    """A uniform slanted layer stays opaque and uniform: nothing behind it shines through."""
    color = np.stack([np.zeros((1, HEIGHT, WIDTH)), np.full((1, HEIGHT, WIDTH), 0.6)])
    alpha = np.ones((2, 1, HEIGHT, WIDTH), np.float32)
    defocus = np.full_like(alpha, 1.4)
    defocus[1, 0] = np.linspace(1.0, 0.2, WIDTH)
    parts = (color.astype(np.float32), alpha, [1.4, 0.6], _aperture())
    for reduction in (1, 2):
        engine = Refocuser(*parts, reduction, defocus=defocus)
        assert engine.layers > 5
        for focus in (0.0, 0.6):
            picture = engine.render(Shot(focus))
            np.testing.assert_allclose(picture, 0.6, atol=0.012)


def test_a_slanted_layer_is_sharp_where_it_is_in_focus() -> None:
    color, _ = _layers()
    alpha = np.ones((1, 1, HEIGHT, WIDTH), np.float32)
    defocus = np.broadcast_to(np.linspace(1.2, 0.0, WIDTH, dtype=np.float32), alpha.shape)
    engine = Refocuser(color[:1], alpha, [0.6], _aperture(), defocus=defocus)
    error = np.abs(engine.render(Shot(0.6)) - color[0])[0].mean(0)
    assert error[44:52].mean() < 0.4 * error[:8].mean()


def test_planes_of_a_divided_layer_are_not_merged_with_others() -> None:
    scales, layer_of = np.array([0.50, 0.49, 0.48, 0.6, 0.47]), np.array([0, 1, 2, 2, 3])
    groups = groups_of_scales(scales, 0.05, layer_of)
    assert groups == [slice(0, 2), slice(2, 3), slice(3, 4), slice(4, 5)]
