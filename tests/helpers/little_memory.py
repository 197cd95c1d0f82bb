"""A device with little memory, as far as Fourier transforms are concerned."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class LittleMemory(TorchDispatchMode):
    """Fails every Fourier transform of more than so many windows."""

    def __init__(self, windows: int) -> None:
        super().__init__()
        self.windows = windows
        self.failures = 0

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if "_fft_" in str(func) and args[0].shape[0] > self.windows:
            self.failures += 1
            raise torch.OutOfMemoryError("out of memory, as far as this test is concerned")
        return func(*args, **(kwargs or {}))
