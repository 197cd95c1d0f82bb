from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from napari_dpdeblur.calibration.estimate.entry import estimate_lens
from napari_dpdeblur.calibration.estimate.run import estimate_events
from napari_dpdeblur.calibration.estimate.settings import EstimateSettings
from napari_dpdeblur.cancellation import Control
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.datasets.synthetic.simulation import Simulation, simulate
from napari_dpdeblur.errors import CalibrationError, OperationCancelled
from napari_dpdeblur.optics import KernelGrid

QUICK = EstimateSettings(steps=12, profile="neutral")


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    return simulate(384, 512, seed=3)


@pytest.fixture(scope="module")
def capture(simulation: Simulation) -> DualPixelCapture:
    return simulation.capture


def kernel_error(found: KernelGrid, true: KernelGrid) -> float:
    """Relative L2 distance of centred kernels that are scaled to the same disparity."""
    ratio = float(true.disparity_px().mean() / found.disparity_px().mean())
    a, b = (_placed(grid.centred().kernels) for grid in (found.scaled(ratio), true))
    return float((a.mean(0) - b.mean(0)).norm() / b.mean(0).norm())


def _placed(kernels: torch.Tensor, size: int = 61) -> torch.Tensor:
    rows, cols = ((size - side) // 2 for side in kernels.shape[-2:])
    return torch.nn.functional.pad(kernels, (cols, cols, rows, rows))


def test_an_estimate_is_closer_to_the_lens_than_where_it_started(simulation: Simulation) -> None:
    events = []
    found = estimate_lens(simulation.capture, QUICK, progress=events.append)
    losses = [event.loss for event in events if event.loss is not None]
    assert losses[-1] < losses[0] - 0.05
    true = simulation.calibration.kernel_grid()
    assert kernel_error(found.kernel_grid(), true) < 0.25
    assert found.frame_shape == (384, 512)
    assert found.is_estimated
    assert found.source["captures"] == [simulation.capture.name]
    assert {check["name"] for check in found.verdict["checks"]} >= {"held_out_gain"}
    ratio = found.vignetting_ratio / simulation.calibration.vignetting_ratio
    assert np.abs(np.log(ratio / np.median(ratio))).mean() < 0.05


def test_an_estimate_is_deterministic_and_resumes(
    capture: DualPixelCapture, tmp_path: Path
) -> None:
    whole = estimate_lens(capture, QUICK, progress=False)
    path = tmp_path / "lens.checkpoint"
    events = estimate_events([capture], QUICK, checkpoint=path)
    for event in events:
        if event.stage == "lens" and event.step == 7:
            break
    events.close()
    assert path.exists()
    steps = []
    resumed = estimate_lens(
        capture,
        QUICK,
        checkpoint=path,
        progress=lambda event: steps.append((event.stage, event.step)),
    )
    assert ("lens", 1) not in steps, "it goes on after the saved steps"
    assert resumed.content_hash() == whole.content_hash()
    assert not path.exists()


def test_an_estimate_can_be_cancelled(capture: DualPixelCapture) -> None:
    control = Control()
    with pytest.raises(OperationCancelled):
        estimate_lens(capture, QUICK, control=control, progress=lambda event: control.cancel())


def test_a_calibration_that_fits_is_hardly_changed(simulation: Simulation) -> None:
    start = simulation.calibration
    found = estimate_lens(simulation.capture, QUICK, start=start, progress=False)
    note = found.verdict["notes"][-1]
    assert "kept as it is" in note or "Adapted to 1 capture" in note
    assert kernel_error(found.kernel_grid(), start.kernel_grid()) < 0.15


def test_identical_views_are_refused(capture: DualPixelCapture) -> None:
    same = replace(capture, raw=np.stack([capture.raw[0], capture.raw[0]]))
    with pytest.raises(CalibrationError, match=r"The two views of .* are identical, so there is"):
        estimate_lens(same, QUICK, progress=False)


def test_captures_of_different_sizes_are_refused(capture: DualPixelCapture) -> None:
    other = capture.cropped(0, 0, 100, 200)
    with pytest.raises(CalibrationError, match="differ in size or orientation"):
        estimate_lens([capture, other], QUICK, progress=False)


def test_no_capture_is_refused() -> None:
    with pytest.raises(CalibrationError, match="No capture was given"):
        estimate_lens([], QUICK, progress=False)


def test_a_capture_in_focus_gets_a_generic_lens_and_a_note(capture: DualPixelCapture) -> None:
    sharp = capture.raw[:1].repeat(2, axis=0).astype(np.float32)
    noise = np.random.default_rng(0).normal(0, 30, sharp.shape)
    found = estimate_lens(
        replace(capture, raw=np.clip(sharp + noise, 0, 65535).astype(np.float32)),
        QUICK,
        progress=False,
    )
    assert found.verdict["grade"] == "bad"
    assert found.verdict["notes"][0].startswith("Everything is in focus")


def test_a_capture_without_texture_gets_a_generic_lens_and_a_note(
    capture: DualPixelCapture,
) -> None:
    noise = np.random.default_rng(0).normal(20000, 200, capture.raw.shape).astype(np.float32)
    found = estimate_lens(replace(capture, raw=noise), QUICK, progress=False)
    assert found.verdict["grade"] == "bad"
