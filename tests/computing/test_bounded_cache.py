"""BoundedCache: what is kept, and how much."""

from __future__ import annotations

import torch

from napari_dpdeblur.computing.bounded_cache import BoundedCache


def test_keeps_what_came_first_and_no_more_than_it_may() -> None:
    cache, computed = BoundedCache(max_bytes=100), []

    def get(key: str) -> torch.Tensor:
        return cache.get(key, lambda: computed.append(key) or torch.zeros(10))

    first = get("a")
    get("b"), get("c")  # two of 40 bytes fit
    assert get("a") is first
    get("b"), get("c"), get("c")
    assert computed == ["a", "b", "c", "c", "c"]
