"""Out-of-memory errors of all devices, and computing in smaller groups after them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor

from napari_dpdeblur.computing.cores import in_order

Computed = TypeVar("Computed")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out, on any device."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and (
        "out of memory" in text or "can't allocate memory" in text
    )


def in_groups(
    total: int,
    size: int,
    compute: Callable[[range], Computed],
    keep: Callable[[range, Computed], None],
    device: torch.device | None = None,
) -> None:
    """Compute items in groups of ``size``; when memory runs out, in smaller ones, down to one.

    A group is kept only when all of it is computed, so that no item counts twice. The cores of a
    CPU share the groups, as long as there is memory.
    """
    start = 0
    while start < total:
        groups = [range(i, min(i + size, total)) for i in range(start, total, size)]
        computed = in_order(compute, groups, device if len(groups) > 1 else None)
        for group in groups:
            try:
                found = next(computed)
            except (RuntimeError, MemoryError) as error:
                is_smallest = len(group) == 1 and device is None
                if is_smallest or not is_out_of_memory(error):
                    raise
                size, device = max(len(group) // 2, 1), None
                break
            keep(group, found)
            start = group.stop


def concatenated(total: int, compute: Callable[[range], Tensor], dim: int = 0) -> Tensor:
    """All items along an axis, computed at once or, when memory runs out, in groups."""
    parts: list[Tensor] = []
    in_groups(total, total, compute, lambda group, part: parts.append(part))
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim)
