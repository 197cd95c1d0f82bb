"""Where the work is done: processes on this computer, or a cluster that runs already."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from napari_dpdeblur.errors import SettingsError
from napari_dpdeblur.fitting.resources import SPARE_SHARE, available_memory, usable_threads
from napari_dpdeblur.fitting.settings import FitSettings

LOCAL = "local"
CONNECT_S = 20


def local_workers(asked: int | None, memory_bytes: int, settings: FitSettings, tasks: int) -> int:
    """How many worker processes: as asked, else one for each core that has enough memory.

    An accelerator takes one capture at a time, whatever is asked.
    """
    if asked is not None and asked < 1:
        raise SettingsError(f"{asked} workers cannot work; give at least one.")
    from napari_dpdeblur.fitting.device import resolve_device

    if resolve_device(settings.device).type != "cpu":
        return 1
    if asked is not None:
        return asked
    fitting = int(SPARE_SHARE * available_memory() // memory_bytes)
    return max(min(usable_threads(), fitting, tasks), 1)


def threads_each(settings: FitSettings, workers: int) -> int:
    """CPU threads of each worker on this computer."""
    return settings.threads or max(usable_threads() // workers, 1)


@contextmanager
def connected(scheduler: str, workers: int) -> Iterator[Any]:
    """A dask client: of a cluster made for this batch, or of the one at an address."""
    distributed = _distributed()
    # What dask says about workers that come and go is told by the status of the captures.
    level = logging.CRITICAL
    with _quiet(level):
        if scheduler != LOCAL:
            with _client_of(distributed, scheduler) as client:
                yield client
            return
        with (
            import_module("dask").config.set({"distributed.scheduler.worker-saturation": 1.0}),
            distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=None,
                dashboard_address=":0",  # any free port: there may be another batch
                silence_logs=level,
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client


def has_workers(client: Any) -> bool:
    """Whether anybody is there to work at this moment; a scheduler alone only waits."""
    return bool(client.nthreads())


def _client_of(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=CONNECT_S)
    except (OSError, ValueError, TimeoutError) as error:
        raise SettingsError(
            f"There is no dask scheduler at {address}; start one with `dask scheduler`, or use "
            "--scheduler local."
        ) from error


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError as error:
        raise SettingsError(
            "A batch needs the package distributed; install it with "
            "pip install 'napari-dpdeblur[distributed]'."
        ) from error


@contextmanager
def _quiet(level: int) -> Iterator[None]:
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)
