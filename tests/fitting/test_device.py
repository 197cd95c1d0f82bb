"""Devices that are not here: the whole fit on one that only pretends to be elsewhere.

Tensors of the pretended device compute with real numbers, but refuse to meet tensors that are on
the CPU, as those of an accelerator do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from napari_dpdeblur.computing.memory import is_out_of_memory
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.errors import SettingsError
from napari_dpdeblur.fitting import Checkpoint, FitSettings, device, fit
from napari_dpdeblur.fitting import run as run_module
from napari_dpdeblur.fitting.device import available_devices, resolve_device
from napari_dpdeblur.fitting.paper import preset as preset_module

ELSEWHERE = torch.device("meta")  # the one device for which torch needs no hardware
WAITING = {"aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::equal"}
MOST_TRANSFERS = 700  # of a fit, which waits after each step anyway, to report it


class RemoteTensor(torch.Tensor):
    """Says that it is elsewhere; its values are in ``here``."""

    here: torch.Tensor

    @staticmethod
    def __new__(cls, here: torch.Tensor) -> RemoteTensor:
        remote = torch.Tensor._make_wrapper_subclass(
            cls,
            here.shape,
            strides=here.stride(),
            storage_offset=here.storage_offset(),
            dtype=here.dtype,
            device=ELSEWHERE,
        )
        remote.here = here
        return remote

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise AssertionError(f"{func} on a remote tensor outside the mode")


class PretendedDevice(TorchDispatchMode):
    """Computes operations of remote tensors, and refuses what an accelerator would refuse."""

    def __init__(self) -> None:
        super().__init__()
        self.operations = 0
        self.transfers = 0  # copies between devices, and values that the CPU waits for

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        tensors = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
        remote = any(isinstance(t, RemoteTensor) for t in tensors)
        asked = kwargs.get("device")
        self.transfers += remote and func.name() in WAITING
        if tensors and asked is not None:
            self.transfers += remote != (asked == ELSEWHERE)
        if remote:
            strays = [
                tuple(t.shape) for t in tensors if not isinstance(t, RemoteTensor) and t.dim()
            ]
            copies = func.name() in ("aten::copy_", "aten::_to_copy")
            assert not strays or copies, f"{func} mixes devices: CPU tensor of shape {strays[0]}"
            self.transfers += bool(strays)
        if not tensors and asked is not None:
            assert asked == ELSEWHERE, f"{func}{args} creates a tensor on {asked}"
        if asked is not None:
            remote = asked == ELSEWHERE
            kwargs["device"] = torch.device("cpu")
        self.operations += remote
        if func is torch.ops.aten._conj.default:
            func = torch.ops.aten.conj_physical.default  # a mode does not see lazy conjugation
        found = func(*tree_map(_here, args), **tree_map(_here, kwargs))
        return tree_map(lambda t: _there(t, tensors), found) if remote else found


class ListsElsewhere(TorchFunctionMode):
    """Lists come and go without asking a dispatch mode: let them be copied instead."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.tolist:
            return args[0].cpu().tolist()
        if func is torch.Tensor.__getitem__ and isinstance(args[1], list):
            return args[0][torch.tensor(args[1]).to(ELSEWHERE)]
        if func is not torch.tensor:
            return func(*args, **kwargs)
        assert kwargs.pop("device", None) == ELSEWHERE, "torch.tensor creates a tensor on the CPU"
        return func(*args, **kwargs).to(ELSEWHERE)


@contextmanager
def pretended_device() -> Iterator[PretendedDevice]:
    with PretendedDevice() as device, ListsElsewhere():
        yield device


def _here(value: Any) -> Any:
    return value.here if isinstance(value, RemoteTensor) else value


def _there(value: Any, given: list[torch.Tensor]) -> Any:
    """The remote tensor that holds a result; one of those given when it was changed in place."""
    if not isinstance(value, torch.Tensor):
        return value
    for tensor in given:
        if isinstance(tensor, RemoteTensor) and tensor.here is value:
            return tensor
    return RemoteTensor(value)


def settings_of(preset: str, **values: Any) -> FitSettings:
    return FitSettings.of({"preset": preset, "layers": 4, "steps": 3} | values)


def assert_same(there: Any, here: Any) -> None:
    for name in ("all_in_focus", "defocus_map", "confidence", "mpi_alpha"):
        np.testing.assert_allclose(
            getattr(there, name), getattr(here, name), atol=1e-4, err_msg=name
        )


@pytest.mark.parametrize(
    ("preset", "options"),
    [("preview", {"channels": 3}), ("standard", {"pixel_aspect": 2}), ("paper", {})],
)
def test_nothing_of_a_fit_stays_on_the_cpu(
    simulated: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    preset: str,
    options: dict[str, int],
) -> None:
    scene = simulated(48, 64, **options)
    settings = settings_of(preset, guided_filter=True, smooth_image=0.05)
    expected = fit(scene.capture, scene.calibration, settings)
    monkeypatch.setattr(run_module, "resolve_device", lambda name: ELSEWHERE)
    with pretended_device() as elsewhere:
        result = fit(scene.capture, scene.calibration, settings)
    assert elsewhere.operations > 500
    assert result.provenance["device"] == ELSEWHERE.type
    assert not isinstance(result.mpi.color, RemoteTensor), "results are brought home"
    assert_same(result, expected)


def test_tiles_need_no_transfers_of_their_own(
    simulated: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of copies and waits depends on scales and steps, not on tiles."""
    scene = simulated(48, 64)
    monkeypatch.setattr(run_module, "resolve_device", lambda name: ELSEWHERE)
    transfers = {}
    for tiles in ((1, 1), (2, 3)):
        lens = replace(synthetic_calibration(48, 64, *tiles), vignetting=None)
        with pretended_device() as elsewhere:
            fit(scene.capture, lens, settings_of("standard"))
        transfers[tiles] = elsewhere.transfers
    assert transfers[2, 3] <= 1.2 * transfers[1, 1] <= MOST_TRANSFERS, transfers


@pytest.mark.parametrize("preset", ["standard", "paper"])
def test_resumed_on_another_device(
    simulated: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, preset: str
) -> None:
    monkeypatch.setattr(preset_module, "SAVE_EVERY", 1)
    scene, settings = simulated(48, 64), settings_of(preset)
    path = tmp_path / "state"
    expected = fit(scene.capture, scene.calibration, settings, checkpoint=Checkpoint(path))
    monkeypatch.setattr(run_module, "resolve_device", lambda name: ELSEWHERE)
    with pretended_device():
        result = fit(
            scene.capture,
            scene.calibration,
            settings,
            checkpoint=Checkpoint(path, resume=True),
        )
    assert_same(result, expected)


def test_the_pretended_device_notices_strays() -> None:
    with pretended_device():
        there = torch.ones(3, device=ELSEWHERE)
        assert float((there * 2 + torch.tensor(1.0, device=ELSEWHERE)).sum()) == 9
        with pytest.raises(AssertionError, match="creates a tensor on cpu"):
            torch.arange(3)
        with pytest.raises(AssertionError, match="creates a tensor on the CPU"):
            torch.tensor([1.0, 2.0])
        with pytest.raises(AssertionError, match="mixes devices"):
            there + torch.from_numpy(np.ones(3, np.float32))


def test_the_cpu_is_always_there() -> None:
    assert available_devices()["cpu"] == "CPU"
    assert resolve_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_auto_prefers_an_accelerator(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "available_devices", lambda: {"cpu": "CPU", name: "fast"})
    assert resolve_device("auto").type == name
    assert resolve_device("cpu").type == "cpu"


def test_a_device_that_is_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "available_devices", lambda: {"cpu": "CPU"})
    assert resolve_device("auto").type == "cpu"
    with pytest.raises(SettingsError, match="device cuda is not available; choose one of cpu"):
        resolve_device("cuda")


def test_only_memory_errors_count_as_out_of_memory() -> None:
    assert is_out_of_memory(torch.OutOfMemoryError("HIP out of memory"))
    assert is_out_of_memory(RuntimeError("MPS backend out of memory (MPS allocated: 9 GB)"))
    assert is_out_of_memory(MemoryError())
    assert not is_out_of_memory(RuntimeError("shape mismatch"))
    assert not is_out_of_memory(ValueError("out of memory"))
