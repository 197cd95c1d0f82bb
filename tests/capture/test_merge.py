from __future__ import annotations

import cv2
import numpy as np
import pytest

from napari_dpdeblur.capture import merge_captures
from napari_dpdeblur.capture.merge import _median
from napari_dpdeblur.errors import CaptureError

HEIGHT, WIDTH = 160, 200
DISPARITY_PX = 3


def _texture(seed: int) -> np.ndarray:
    """Smooth random detail, larger than the frame by a margin of 20 px."""
    noise = np.random.default_rng(seed).normal(size=(HEIGHT + 40, WIDTH + 40))
    smooth = cv2.GaussianBlur(noise, (0, 0), 2.5)
    return 20000 + 8000 * smooth / smooth.std()


def _shot(texture, shift_x=0.0, shift_y=0.0, angle=0.0, noise=0.0, seed=0):
    """Raw values (2, 1, H, W) of a camera that moved: scene position = turned + shift + 20."""
    turn = np.deg2rad(angle)
    warp = np.array(
        [[np.cos(turn), -np.sin(turn), shift_x + 20], [np.sin(turn), np.cos(turn), shift_y + 20]]
    )
    views = []
    for disparity in (0, DISPARITY_PX):
        moved = warp + np.array([[0, 0, disparity], [0, 0, 0]])
        flags = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
        views.append(cv2.warpAffine(texture, moved, (WIDTH, HEIGHT), flags=flags))
    raw = np.stack(views)[:, None] + np.random.default_rng(seed).normal(
        0, noise, (2, 1, HEIGHT, WIDTH)
    )
    return np.clip(raw, 0, 65535).astype(np.uint16)


def _error(capture, expected) -> float:
    inner = np.s_[..., 10:-10, 10:-10]
    return float(np.sqrt(np.mean((capture.raw[inner] - expected[inner].astype(float)) ** 2)))


def test_merging_shifted_and_turned_shots_lowers_the_noise_and_keeps_disparity(make_capture):
    texture = _texture(0)
    moves = [(0, 0, 0), (2.4, -1.7, 0.3), (-3.3, 0.6, -0.4), (0.5, 4.2, 0.2), (5.1, 2.2, 0)]
    shots = [
        make_capture(_shot(texture, *move, noise=2000, seed=i), f"s{i}")
        for i, move in enumerate(moves)
    ]
    merged = merge_captures(shots)
    clean = _shot(texture)
    assert merged.raw.dtype == np.float32
    assert _error(shots[0], clean) == pytest.approx(2000, rel=0.1)
    assert _error(merged, clean) < 2000 / np.sqrt(len(moves)) * 1.1
    shift = cv2.phaseCorrelate(merged.views[0, 0], merged.views[1, 0])[0]
    assert shift == pytest.approx((-DISPARITY_PX, 0), abs=0.1)


def test_alignment_is_right_when_pixels_are_not_square(make_capture):
    texture = _texture(1)
    tall = [_shot(texture, *move) for move in [(0, 0, 0), (3.0, 2.5, 1.0)]]
    halves = [raw.reshape(2, 1, HEIGHT // 2, 2, WIDTH).mean(3).astype(np.uint16) for raw in tall]
    captures = [make_capture(raw, f"s{i}", pixel_aspect=2.0) for i, raw in enumerate(halves)]
    merged = merge_captures(captures)
    assert _error(merged, halves[0]) < 0.25 * _error(captures[1], halves[0])


def test_something_that_moves_through_one_shot_disappears(make_capture):
    raws = [_shot(_texture(2), noise=300, seed=i) for i in range(4)]
    raws[2][:, :, 60:90, 80:120] = 65535
    merged = merge_captures([make_capture(raw, f"s{i}") for i, raw in enumerate(raws)])
    clean = _shot(_texture(2))
    patch = np.s_[:, :, 60:90, 80:120]
    assert np.abs(merged.raw[patch] - clean[patch].astype(float)).mean() < 300


def test_merged_capture_keeps_levels_and_lists_all_files(make_capture):
    captures = [make_capture(_shot(_texture(0)), f"s{i}", black=5.0, white=6e4) for i in range(3)]
    merged = merge_captures(captures)
    assert (merged.black, merged.white, merged.name) == (5.0, 6e4, "s0_mean_of_3")
    assert merged.source.files == tuple(f for c in captures for f in c.source.files)
    assert len(merged.source.sha256) == 6


def test_invalid_pixels_of_any_shot_are_invalid(make_capture):
    masks = np.zeros((2, HEIGHT, WIDTH), bool)
    masks[0, 50, 60] = masks[1, 70, 80] = True
    captures = [make_capture(_shot(_texture(0)), f"s{i}", invalid=m) for i, m in enumerate(masks)]
    merged = merge_captures(captures, align=False)
    np.testing.assert_array_equal(merged.invalid, masks.any(0))


def test_one_capture_is_its_own_mean(make_capture):
    capture = make_capture(_shot(_texture(0)))
    assert merge_captures([capture]) is capture


def test_white_sheets_are_averaged_without_alignment(make_capture):
    raws = [np.full((2, 1, 30, 40), value, np.uint16) for value in (1000, 1004)]
    merged = merge_captures([make_capture(raw) for raw in raws], align=False)
    np.testing.assert_array_equal(merged.raw, 1002)


def test_nothing_to_merge():
    with pytest.raises(CaptureError, match="No captures to merge"):
        merge_captures([])


def test_another_scene_is_refused_by_name(make_capture):
    captures = [make_capture(_shot(_texture(i), noise=500, seed=i), f"s{i}") for i in (0, 1)]
    with pytest.raises(CaptureError, match=r"s1_left\.pgm cannot be aligned with s0: "):
        merge_captures(captures)


def test_flat_picture_is_refused_by_name(make_capture):
    flat = make_capture(np.full((2, 1, HEIGHT, WIDTH), 900, np.uint16), "flat")
    with pytest.raises(CaptureError, match=r"flat_left\.pgm cannot be aligned with s0: "):
        merge_captures([make_capture(_shot(_texture(0)), "s0"), flat])


def test_large_shift_is_refused(make_capture):
    texture = _texture(0)
    raws = [_shot(texture, -15), _shot(texture, 17)]
    captures = [make_capture(raw, f"s{i}") for i, raw in enumerate(raws)]
    with pytest.raises(CaptureError, match="shifted by more than a tenth of the frame"):
        merge_captures(captures)


@pytest.mark.parametrize("change", [{"black": 9.0}, {"pixel_aspect": 2.0}, {"encoding": "srgb"}])
def test_captures_of_another_kind_are_refused(make_capture, change):
    captures = [
        make_capture(_shot(_texture(0)), "s0"),
        make_capture(_shot(_texture(0)), "s1", **change),
    ]
    with pytest.raises(CaptureError, match="s1 cannot be merged with s0: size, levels"):
        merge_captures(captures)


@pytest.mark.parametrize("count", [3, 4, 5])
def test_median_ignores_what_lies_outside_of_a_frame(count: int):
    stack = np.random.default_rng(count).normal(size=(count, 8, 9))
    stack[1:][stack[1:] > 0.5] = np.nan
    np.testing.assert_allclose(_median(stack), np.nanmedian(stack, axis=0))
