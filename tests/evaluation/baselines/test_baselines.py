"""The methods to compare with, on scenes whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from benchmark_data import calibration, scene_of

from napari_dpdeblur.calibration import Calibration, Field, load_calibration
from napari_dpdeblur.capture import DualPixelCapture, open_capture
from napari_dpdeblur.datasets.synthetic.scene import SyntheticScene, render_capture
from napari_dpdeblur.evaluation import (
    defocus_path,
    defocus_scores,
    image_scores,
    load_defocus,
    load_sharp,
    sharp_path,
)
from napari_dpdeblur.evaluation.baselines import BASELINES, baseline, punnappurath, wadhwa
from napari_dpdeblur.evaluation.baselines.direction import moves_right_behind_focus
from napari_dpdeblur.evaluation.baselines.edge_aware import edge_aware_fill


@pytest.fixture(scope="module")
def captured() -> tuple[DualPixelCapture, Calibration]:
    lens = calibration()
    grid = lens.kernel_grid()
    return render_capture(scene_of(1), grid, lens.vignetting, noise=None, name="001"), lens


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_has_the_same_form(
    name: str, captured: tuple[DualPixelCapture, Calibration]
) -> None:
    prediction = baseline(name)(*captured)
    assert prediction.defocus_map is not None
    assert prediction.defocus_map.shape == (96, 128)
    assert prediction.defocus_map.dtype == np.float32
    assert np.isfinite(prediction.defocus_map).all()
    if prediction.all_in_focus is not None:
        assert prediction.all_in_focus.shape == (1, 96, 128)
        assert prediction.all_in_focus.dtype == np.float32


def test_the_floor_is_the_mean_of_the_views(
    captured: tuple[DualPixelCapture, Calibration],
) -> None:
    capture, lens = captured
    prediction = baseline("input")(capture, lens)
    np.testing.assert_allclose(prediction.all_in_focus, lens.prepare(capture).mean(0), atol=1e-7)
    assert np.ptp(prediction.defocus_map) == 0


def test_wiener_finds_the_blur_of_a_wall_and_removes_it() -> None:
    lens = replace(calibration(), vignetting=None)
    noise = np.random.default_rng(3).standard_normal((96, 128))
    wall = (0.4 + 0.5 * cv2.GaussianBlur(noise, (0, 0), 2.0)).astype(np.float32)
    alpha = np.stack([np.ones_like(wall), np.zeros_like(wall)])[:, None]
    scene = SyntheticScene(np.stack([wall, wall])[:, None], alpha, np.float32([0.8, 0.1]))
    grid = lens.kernel_grid()
    capture = render_capture(scene, grid)
    blurred, found = baseline("input")(capture, lens), baseline("wiener")(capture, lens)
    before, after = (image_scores(p.all_in_focus, wall[None]).psnr_db for p in (blurred, found))
    assert after > before + 0.8
    assert np.median(found.defocus_map) == pytest.approx(0.8, abs=0.2)


@pytest.mark.slow
def test_maps_grow_with_the_blur(pixel4_data: Path) -> None:
    """On the scene in which the published maps are best."""
    folder = pixel4_data / "pixel4"
    lens, capture = load_calibration(folder / "calibration"), open_capture(folder / "015_left.png")
    truth = load_defocus(defocus_path(folder, "015"))
    seen = truth.confidence > 0
    for name in ("wadhwa", "punnappurath"):
        found = baseline(name)(capture, lens).defocus_map
        assert np.corrcoef(found[seen], truth.defocus[seen])[0, 1] > 0.4, name


@pytest.mark.slow
def test_wiener_lands_near_its_published_row(pixel4_data: Path) -> None:
    """One scene, where the mean over 17 scenes was 1.2 dB above the input and the map poor."""
    folder = pixel4_data / "pixel4"
    lens, capture = load_calibration(folder / "calibration"), open_capture(folder / "001_left.png")
    sharp, truth = load_sharp(sharp_path(folder, "001")), load_defocus(defocus_path(folder, "001"))
    prediction = baseline("wiener")(capture, lens)
    blurred = baseline("input")(capture, lens)
    gained_db = (
        image_scores(prediction.all_in_focus, sharp).psnr_db
        - image_scores(blurred.all_in_focus, sharp).psnr_db
    )
    scores = defocus_scores(prediction.defocus_map, truth.defocus, truth.confidence)
    assert 0.5 < gained_db < 4
    assert 0.08 < scores.aiwe1 < 0.2


# parts of Wadhwa et al.


@pytest.mark.parametrize("disparity", [-2.0, 0.0, 1.4, 3.0])
def test_stereo_matching_finds_a_shift(disparity: float) -> None:
    noise = np.random.default_rng(0).standard_normal((64, 160))
    scene = cv2.GaussianBlur(noise, (0, 0), 2.0).astype(np.float32)
    move = np.float32([[1, 0, disparity], [0, 1, 0]])
    left = cv2.warpAffine(scene, move, (160, 64), flags=cv2.INTER_CUBIC)
    found = wadhwa.sub_pixel_minimum(wadhwa.matching_cost(left, scene, direction=1))
    inner = found[:, 2:-2]
    assert np.median(inner) == pytest.approx(disparity, abs=0.15)


def test_filling_stops_at_edges() -> None:
    guide = np.zeros((40, 60), np.float32)
    guide[:, 30:] = 1.0
    confidence = np.zeros_like(guide)
    confidence[:, [5, 55]] = 1.0
    target = np.where(guide > 0, 2.0, -1.0).astype(np.float32)
    filled = edge_aware_fill(target * confidence, confidence, guide, smoothness=1.0, edge=0.05)
    assert np.abs(filled[:, :29] + 1).max() < 0.1
    assert np.abs(filled[:, 31:] - 2).max() < 0.1


# parts of Punnappurath et al.


def test_the_parametric_kernel_is_a_disc_that_rises_to_one_side() -> None:
    kernel = punnappurath.translating_disc(9.0)
    assert kernel.sum() == pytest.approx(0.5, abs=1e-6)
    np.testing.assert_allclose(kernel, punnappurath.translating_disc(-9.0)[:, ::-1], atol=1e-9)
    row = kernel[20, 12:29]
    assert (np.diff(row) > 0).all()
    # both halves together are the whole disc of the lens
    whole = kernel + kernel[:, ::-1]
    assert whole[20, 12:29].std() / whole[20, 20] < 0.05


@pytest.mark.parametrize("radius_px", [-6.0, 3.0, 8.0])
def test_the_radius_of_a_kernel_is_found(radius_px: float) -> None:
    noise = np.random.default_rng(1).standard_normal((150, 180))
    scene = cv2.GaussianBlur(noise, (0, 0), 1.0).astype(np.float32) + 1
    kernel = punnappurath.translating_disc(radius_px)
    left, right = (cv2.filter2D(scene, -1, k[::-1, ::-1]) for k in (kernel, kernel[:, ::-1]))
    found, cost = punnappurath.best_radius(left, right, mirrored=False)
    assert found[2, 2] == pytest.approx(radius_px, abs=0.5)
    assert cost[2, 2] < 1e-6


def test_which_way_the_left_view_moves() -> None:
    kernels = np.zeros((1, 2, 5, 5), np.float32)
    kernels[0, 0, 2, 4] = kernels[0, 1, 2, 0] = 1
    field = Field(0, 0, 32, 32)
    assert moves_right_behind_focus(Calibration(kernels, 1, 1, field, (32, 32)))
    assert not moves_right_behind_focus(Calibration(kernels[:, ::-1], 1, 1, field, (32, 32)))
