"""Ground truth from focus stacks whose truth is known."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from scipy.ndimage import affine_transform

from napari_dpdeblur.cli import main
from napari_dpdeblur.datasets.synthetic.scene import SyntheticScene, synthetic_scene
from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.evaluation import defocus_path, load_defocus, load_sharp, sharp_path
from napari_dpdeblur.evaluation.focus_stack.alignment import Breathing, find_breathing
from napari_dpdeblur.evaluation.focus_stack.files import read_slices, write_truth
from napari_dpdeblur.evaluation.focus_stack.fusion import StackTruth, stack_truth
from napari_dpdeblur.optics import KernelGrid, TiledBlur, TileLayout

NEAR, FAR = 0.1, 1.4
HEIGHT, WIDTH = 128, 160
BLUR_RADIUS_PX = 6.0
SLICES = 24
NOISE = 0.002


def textured_discs() -> SyntheticScene:
    """Four discs before a wall, each with its own texture and distance."""
    random = np.random.default_rng(0)
    rows, cols = np.mgrid[:HEIGHT, :WIDTH]
    noise = random.standard_normal((5, HEIGHT, WIDTH))
    color = np.stack([0.3 + 0.2 * cv2.GaussianBlur(layer, (0, 0), 1.2) for layer in noise])
    alpha = np.ones((5, HEIGHT, WIDTH))
    for layer, (y, x) in enumerate(((35, 40), (95, 50), (90, 120), (40, 115)), start=1):
        alpha[layer] = np.clip(26.5 - np.hypot(rows - y, cols - x), 0, 1)
    scales = np.linspace(FAR, NEAR, 5, dtype=np.float32)
    layers = (a[:, None].astype(np.float32) for a in (color, alpha))
    return SyntheticScene(*layers, scales)


def photographed(scene: SyntheticScene, slices: int = SLICES) -> np.ndarray:
    """The scene focused at evenly spaced defocus scales from near to far: (S, 1, H, W)."""
    height, width = scene.alpha.shape[-2:]
    offset = np.arange(17) - 8
    disc = np.clip(BLUR_RADIUS_PX + 0.5 - np.hypot(offset[:, None], offset), 0, 1)
    grid = KernelGrid.from_array(np.float32([[disc, disc]]), 1, 1)
    layout = TileLayout.regular(height, width, 1, 1)
    random = np.random.default_rng(1)
    stack = []
    for focus in np.linspace(NEAR, FAR, slices):
        blurs = [max(abs(float(scale) - focus), 0.02) for scale in scene.defocus_scales]
        with torch.no_grad():
            blur = TiledBlur([grid.scaled(scale) for scale in blurs], layout)
            view = scene.layers.render(blur)[0].numpy()
        stack.append(view + NOISE * random.standard_normal(view.shape))
    return np.float32(stack)


def breathed(stack: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same stack through a lens that zooms by 4 % while it focuses; its zoom and shift."""
    part = np.linspace(0, 1, len(stack))
    zoom, shift = np.exp(0.03 * part + 0.01 * part**2), np.outer(part, [1.5, -0.8])
    centre = (np.array(stack.shape[-2:]) - 1) / 2
    moved = [
        affine_transform(
            image, np.eye(2) / z, centre - (centre + s[::-1]) / z, order=5, mode="nearest"
        )
        for (image,), z, s in zip(stack, zoom, shift, strict=True)
    ]
    return np.float32(moved)[:, None], zoom, shift


def textured(image: np.ndarray) -> np.ndarray:
    """Where there is something to focus on."""
    mean, square = (cv2.GaussianBlur(a, (0, 0), 3) for a in (image, image**2))
    return np.sqrt(np.maximum(square - mean**2, 0)) > 0.02


def check(truth: StackTruth, scene: SyntheticScene) -> None:
    """At least 40 dB where there is texture, and 5 % of the range where it is confident."""
    sharp = scene.all_in_focus[0]
    seen = truth.confidence > 0
    inner = np.zeros_like(seen)
    inner[8:-8, 8:-8] = True
    error = (truth.all_in_focus[0] - sharp)[textured(sharp) & seen & inner]
    assert -10 * np.log10(np.mean(error**2)) >= 40
    defocus = (scene.defocus_map - NEAR) / (FAR - NEAR)
    off = np.abs(truth.defocus - defocus)[seen & inner]
    assert off.max() < 0.05
    assert seen.mean() > 0.2


@pytest.fixture(scope="module")
def discs() -> SyntheticScene:
    return textured_discs()


@pytest.fixture(scope="module")
def stack(discs: SyntheticScene) -> np.ndarray:
    return photographed(discs)


def test_discs_before_a_wall(discs: SyntheticScene, stack: np.ndarray) -> None:
    truth = stack_truth(stack)
    assert truth.breathing is None
    check(truth, discs)


def test_with_focus_breathing(discs: SyntheticScene, stack: np.ndarray) -> None:
    moved, zoom, shift = breathed(stack)
    truth = stack_truth(moved)
    assert np.abs(truth.breathing.zoom - zoom).max() * WIDTH / 2 < 0.25
    assert np.abs(truth.breathing.shift_px - shift).max() < 0.25
    check(truth, discs)
    lost = stack_truth(moved, align=False)
    error = np.square(lost.all_in_focus - discs.all_in_focus)[:, 8:-8, 8:-8].mean()
    assert error > 4 * np.square(truth.all_in_focus - discs.all_in_focus)[:, 8:-8, 8:-8].mean()


def test_a_still_life_with_slanted_planes_and_flat_areas() -> None:
    scene = synthetic_scene(96, 128, seed=3, layers=8)
    check(stack_truth(photographed(scene, slices=16)), scene)


def test_what_is_flat_is_not_confident(discs: SyntheticScene) -> None:
    flat = SyntheticScene(discs.color.copy(), discs.alpha, discs.defocus_scales)
    flat.color[0] = 0.3
    truth = stack_truth(photographed(flat, slices=12))
    assert truth.confidence[:10, 70:90].max() == 0
    assert truth.confidence[85:105, 45:55].mean() > 0.9


def test_undoing_nothing_changes_nothing(stack: np.ndarray) -> None:
    still = Breathing(np.ones(3), np.zeros((3, 2)))
    np.testing.assert_allclose(still.undone(stack[:3]), stack[:3], atol=1e-5)
    assert still.corner_movement_px(HEIGHT, WIDTH) == 0


def test_slices_that_do_not_match_stay_where_they_are() -> None:
    random = np.random.default_rng(2)
    found = find_breathing(random.standard_normal((4, 1, 40, 50)).astype(np.float32))
    assert np.abs(found.zoom - 1).max() < 0.1


def test_too_few_slices(stack: np.ndarray) -> None:
    with pytest.raises(EvaluationError, match=r"needs at least 3 slices of equal size, but"):
        stack_truth(stack[:2])


def test_a_slice_with_a_hole(stack: np.ndarray) -> None:
    spoiled = stack[:3].copy()
    spoiled[1, 0, 5, 5] = np.nan
    with pytest.raises(EvaluationError, match="pixels that are not finite"):
        stack_truth(spoiled)


# files


@pytest.fixture
def slices(stack: np.ndarray, tmp_path: Path) -> Path:
    folder = tmp_path / "slices"
    folder.mkdir()
    for number, (image,) in enumerate(stack[::3]):
        pixels = np.round(65535 * np.clip(image, 0, 1)).astype(np.uint16)
        cv2.imwrite(str(folder / f"{number:02d}.png"), pixels)
    return folder


def test_the_command_writes_truth_where_a_benchmark_looks(
    slices: Path, discs: SyntheticScene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["focus-stack", str(slices), "-o", str(tmp_path / "data"), "--name", "001"]
    assert main(arguments) == 0
    assert "slices" in capsys.readouterr().out
    sharp = load_sharp(sharp_path(tmp_path / "data", "001"))
    defocus = load_defocus(defocus_path(tmp_path / "data", "001"))
    assert sharp.shape == (1, HEIGHT, WIDTH)
    seen = defocus.confidence > 0
    true_defocus = discs.defocus_map[seen]
    assert np.corrcoef(defocus.defocus[seen], true_defocus)[0, 1] > 0.98
    assert main(arguments) == 2
    assert "already exists; choose another name" in capsys.readouterr().err
    assert main([*arguments, "--overwrite", "--no-align"]) == 0


def test_slices_of_different_size(
    slices: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cv2.imwrite(str(slices / "99.png"), np.zeros((20, 20), np.uint16))
    assert main(["focus-stack", str(slices), "-o", str(tmp_path), "--name", "001"]) == 2
    assert "all slices of a stack must have the same size" in capsys.readouterr().err


def test_no_slices(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="No slices were given"):
        read_slices([])


def test_a_folder_that_cannot_be_written(stack: np.ndarray, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    truth = stack_truth(stack[::6], align=False)
    with pytest.raises(EvaluationError, match="cannot be written"):
        write_truth(truth, blocked, "001")


def test_the_name_of_a_scene_does_not_lead_elsewhere(tmp_path: Path) -> None:
    plane = np.ones((4, 4), np.float32)
    truth = StackTruth(plane[None], plane, plane, None)
    with pytest.raises(EvaluationError, match=r"'\.\./001' is not a valid scene name"):
        write_truth(truth, tmp_path, "../001")
    assert not list(tmp_path.iterdir())
