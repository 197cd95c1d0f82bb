from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting import Checkpoint, FitEvent, FitSettings, fit, fit_events
from napari_dpdeblur.fitting.checkpoint import FitState
from napari_dpdeblur.fitting.paper import preset as preset_module
from napari_dpdeblur.fitting.result import signature
from napari_dpdeblur.results import Result

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _frequent_saves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preset_module, "SAVE_EVERY", 2)


@pytest.fixture
def scene(simulated: Callable[..., Any]) -> Any:
    return simulated(64, 96)


def settings_of(preset: str) -> FitSettings:
    return FitSettings.of({"preset": preset, "layers": 4, "steps": 6})


def interrupted(scene: Any, settings: FitSettings, path: Path, last_stage: str, steps: int) -> None:
    """Run a fit up to a step of a stage, then drop it."""
    events = fit_events(scene.capture, scene.calibration, settings, checkpoint=Checkpoint(path))
    for event in events:
        if (event.stage, event.step) == (last_stage, steps):
            break
    events.close()


def assert_same(first: Result, second: Result) -> None:
    for name in ("all_in_focus", "defocus_map", "confidence", "mpi_alpha"):
        np.testing.assert_allclose(
            getattr(first, name), getattr(second, name), rtol=0, atol=1e-5, err_msg=name
        )
    assert first.loss_history == second.loss_history


@pytest.mark.parametrize(
    ("preset", "stage", "step"),
    [
        ("preview", "image", 3),
        ("standard", "draft image", 5),
        ("standard", "detail", 2),
        ("standard", "refine", 2),
        ("paper", "optimise", 5),
    ],
)
def test_resumed_as_if_never_interrupted(
    scene: Any, tmp_path: Path, preset: str, stage: str, step: int
) -> None:
    path, settings = tmp_path / "state", settings_of(preset)
    whole = fit(scene.capture, scene.calibration, settings)
    interrupted(scene, settings, path, stage, step)
    events: list[FitEvent] = []
    resumed = fit(
        scene.capture,
        scene.calibration,
        settings,
        checkpoint=Checkpoint(path, resume=True),
        progress=events.append,
    )
    assert_same(resumed, whole)
    assert events[0].stage == stage, "finished stages are not repeated"
    if stage == "optimise":
        assert events[0].step == 5, "nor are finished steps"


def test_an_old_state_is_only_used_when_asked(scene: Any, tmp_path: Path) -> None:
    path, settings = tmp_path / "state", settings_of("preview")
    interrupted(scene, settings, path, "image", 2)
    events = fit_events(scene.capture, scene.calibration, settings, checkpoint=Checkpoint(path))
    assert next(events).stage == "cost volume"
    events.close()


def test_device_and_threads_may_change(scene: Any, tmp_path: Path) -> None:
    path, settings = tmp_path / "state", settings_of("preview")
    interrupted(scene, settings, path, "image", 2)
    elsewhere = settings.changed(device="cpu", threads=2)
    events = fit_events(
        scene.capture, scene.calibration, elsewhere, checkpoint=Checkpoint(path, resume=True)
    )
    assert next(events).stage == "image"
    events.close()


@pytest.mark.parametrize("what", ["settings", "parameters", "calibration", "crop", "levels"])
def test_the_state_of_another_fit_is_refused(scene: Any, tmp_path: Path, what: str) -> None:
    path, settings = tmp_path / "state", settings_of("preview")
    interrupted(scene, settings, path, "image", 2)
    capture, calibration, crop = scene.capture, scene.calibration, None
    if what == "settings":
        settings = settings.changed(layers=5)
    elif what == "parameters":
        settings = settings.changed(parameters={"wiener": {"noise_to_signal": 0.02}})
    elif what == "calibration":
        calibration = replace(calibration, kernels=calibration.kernels[..., ::-1])
    elif what == "crop":
        crop = (0, 0, 48, 64)
    else:
        capture = replace(capture, black=capture.black + 1)
    with pytest.raises(FitError, match=r"state belongs to another capture.*delete it to start"):
        fit(capture, calibration, settings, crop=crop, checkpoint=Checkpoint(path, resume=True))


@pytest.mark.parametrize("damage", ["empty", "cut", "text", "no header", "no history", "objects"])
def test_a_damaged_file_is_refused(scene: Any, tmp_path: Path, damage: str) -> None:
    path, settings = tmp_path / "state", settings_of("preview")
    interrupted(scene, settings, path, "image", 2)
    whole = path.read_bytes()
    if damage in ("empty", "cut", "text"):
        content = {"empty": b"", "cut": whole[: len(whole) // 2], "text": b"no archive\n" * 40}
        path.write_bytes(content[damage])
    else:
        header: Any = {"no header": None, "no history": json.dumps({"format": 1}), "objects": {}}
        arrays = {} if header[damage] is None else {"header": np.array(header[damage])}
        with path.open("wb") as file:
            np.savez(file, **arrays)
    with pytest.raises(FitError, match=r"checkpoint .*state is damaged; delete it to start again"):
        fit(
            scene.capture,
            scene.calibration,
            settings,
            checkpoint=Checkpoint(path, resume=True),
        )


def test_a_flipped_bit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "state"
    Checkpoint(path).save("here", FitState({"image": torch.rand(1, 20, 20)}, {"image": 1}))
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo("tensor_image.npy").header_offset
    content[start + 600] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(FitError, match="is damaged"):
        Checkpoint(path, resume=True).load("here", CPU)


def test_state_round_trip(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "state", resume=True)
    assert checkpoint.load("here", CPU) == FitState()
    image = torch.rand(3, 4, 5)
    history = [{"stage": "image", "step": 1, "data": 0.25}]
    checkpoint.save("here", FitState({"image": image}, {"image": 2}, history))
    state = checkpoint.load("here", CPU)
    assert torch.equal(state.tensors["image"], image)
    assert (state.steps, state.history) == ({"image": 2}, history)
    assert [path.name for path in tmp_path.iterdir()] == ["state"], "nothing partial is left"
    checkpoint.remove()
    checkpoint.remove()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written(scene: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    path = tmp_path / "file" / "state"
    with pytest.raises(FitError, match=r"state cannot be written: (File exists|Not a directory)"):
        fit(
            scene.capture,
            scene.calibration,
            settings_of("preview"),
            checkpoint=Checkpoint(path),
        )


def test_captures_without_files_are_told_apart(scene: Any) -> None:
    capture, calibration = scene.capture, scene.calibration
    other = replace(capture, raw=capture.raw + np.asarray(1, capture.raw.dtype))
    settings = FitSettings()
    first, second = (signature(given, calibration, settings, None) for given in (capture, other))
    assert first != second
    assert first == signature(capture, calibration, settings, None)
