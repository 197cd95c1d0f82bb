"""When memory runs out, the blur goes on with fewer tiles at a time."""

from __future__ import annotations

import pytest
import torch
from little_memory import LittleMemory

from napari_dpdeblur.computing.memory import concatenated, in_groups, is_out_of_memory
from napari_dpdeblur.optics import KernelGrid, TiledBlur, TileLayout


@pytest.fixture
def blur() -> TiledBlur:
    kernels = torch.rand(6, 2, 5, 5, dtype=torch.float64)
    grid = KernelGrid(kernels / kernels.sum((-2, -1), keepdim=True), 2, 3)
    return TiledBlur([grid], TileLayout.regular(20, 30, 2, 3), blend_px=4)


def test_fewer_tiles_at_a_time_give_the_same_result(blur):
    layers = torch.rand(1, 1, 20, 30, dtype=torch.float64)
    views = blur(layers)
    gathered = blur.adjoint(views)
    with LittleMemory(windows=2) as memory:
        again, gathered_again = blur(layers), blur.adjoint(views)
    assert memory.failures >= 2
    torch.testing.assert_close(again, views)
    torch.testing.assert_close(gathered_again, gathered)


def test_a_group_that_fails_while_it_is_kept_is_not_computed_again():
    def keep(group, items):
        raise torch.OutOfMemoryError("out of memory")

    computed = []
    with pytest.raises(torch.OutOfMemoryError):
        in_groups(4, 2, computed.append, keep)
    assert computed == [range(2)]


def test_groups_are_halved_until_they_fit():
    def squares(group):
        if len(group) > 3:
            raise MemoryError
        return torch.tensor([i * i for i in group])

    assert concatenated(8, squares).tolist() == [i * i for i in range(8)]


def test_without_memory_for_one_tile_the_error_is_passed_on(blur):
    with LittleMemory(windows=0), pytest.raises(torch.OutOfMemoryError):
        blur(torch.rand(1, 1, 20, 30, dtype=torch.float64))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (MemoryError(), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), True),
        (RuntimeError("MPS backend out of memory"), True),
        (RuntimeError("size mismatch"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_what_counts_as_out_of_memory(error, expected):
    assert is_out_of_memory(error) is expected
