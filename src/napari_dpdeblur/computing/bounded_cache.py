"""BoundedCache: tensors that several stages need, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from torch import Tensor

MAX_BYTES = 2**28


class BoundedCache:
    """Keeps what was computed first, up to ``max_bytes``; the rest is computed each time.

    Stages need the same tensors in the same order: dropping the oldest for the newest would drop
    each one just before it is needed again.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._left = max_bytes
        self._kept: dict[Hashable, Tensor] = {}

    def get(self, key: Hashable, compute: Callable[[], Tensor]) -> Tensor:
        """The tensor of this key, kept or computed."""
        kept = self._kept.get(key)
        if kept is not None:
            return kept
        computed = compute()
        size = computed.numel() * computed.element_size()
        if size <= self._left:
            self._left -= size
            self._kept[key] = computed
        return computed
