"""Items computed by several threads: order, errors, gradients, cancellation."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
import torch

from napari_dpdeblur.cancellation import Control, check_cancelled, obeying
from napari_dpdeblur.computing.cores import begun, in_background, in_order
from napari_dpdeblur.errors import OperationCancelled

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_results_come_in_order_from_several_threads() -> None:
    threads = set()

    def slow_at_first(item: int) -> int:
        threads.add(threading.get_ident())
        time.sleep(0.02 if item % 2 == 0 else 0)
        return item * item

    assert list(in_order(slow_at_first, range(9), CPU)) == [i * i for i in range(9)]
    assert len(threads) == 2
    assert threading.get_ident() not in threads


@pytest.mark.parametrize("device", [None, torch.device("meta")])
def test_other_devices_stay_in_this_thread(device: torch.device | None) -> None:
    threads = list(in_order(lambda item: threading.get_ident(), range(3), device))
    assert set(threads) == {threading.get_ident()}


def test_each_thread_uses_one_core_and_may_ask_for_more_items() -> None:
    def nested(item: int) -> tuple[int, list[int]]:
        return torch.get_num_threads(), list(in_order(lambda i: i + item, range(3), CPU))

    assert list(in_order(nested, range(4), CPU)) == [(1, [i, i + 1, i + 2]) for i in range(4)]
    assert torch.get_num_threads() == 2


def test_no_gradients_are_recorded() -> None:
    weight = torch.ones(3, requires_grad=True)
    products = list(in_order(lambda item: item * weight, range(3), CPU))
    assert not any(product.requires_grad for product in products)


def test_an_error_is_raised_where_its_result_would_be() -> None:
    def fails_at_two(item: int) -> int:
        if item == 2:
            raise ValueError("two")
        return item

    found = in_order(fails_at_two, range(5), CPU)
    assert [next(found), next(found)] == [0, 1]
    with pytest.raises(ValueError, match="two"):
        next(found)


def test_threads_obey_the_control_of_the_computation() -> None:
    control = Control()

    def cancelled(item: int) -> None:
        control.cancel()
        check_cancelled()

    with obeying(control), pytest.raises(OperationCancelled):
        list(in_order(cancelled, range(3), CPU))


def test_no_more_is_computed_than_is_asked_for() -> None:
    computed = []
    found = in_order(computed.append, range(100), CPU)
    next(found)
    found.close()  # type: ignore[attr-defined]
    assert len(computed) <= 4


def test_a_task_runs_in_the_background() -> None:
    done = threading.Event()
    in_background(done.set)
    assert done.wait(timeout=60)


def test_something_begins_on_another_core() -> None:
    thread = begun(threading.get_ident, CPU)
    assert thread() != threading.get_ident()
    assert begun(threading.get_ident, torch.device("meta"))() == threading.get_ident()
    weight = torch.ones(3, requires_grad=True)
    assert not begun(lambda: 2 * weight, CPU)().requires_grad
