"""Dask clusters: local worker processes, or an existing scheduler."""

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
HERE = "127.0.0.1"  # reachable from this computer only
# A local cluster answers no HTTP requests, and every worker is busy with one capture at a time.
LOCAL_CONFIG = {
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}


def local_workers(asked: int | None, memory_bytes: int, settings: FitSettings, tasks: int) -> int:
    """Number of worker processes: as requested, else one per core as memory permits.

    A GPU always gets one worker, because it fits one capture at a time.
    """
    if asked is not None and asked < 1:
        raise SettingsError(f"The number of workers must be at least 1, not {asked}.")
    from napari_dpdeblur.fitting.device import resolve_device

    if resolve_device(settings.device).type != "cpu":
        return 1
    if asked is not None:
        return asked
    fitting = int(SPARE_SHARE * available_memory() // memory_bytes)
    return max(min(usable_threads(), fitting, tasks), 1)


def threads_each(settings: FitSettings, workers: int) -> int:
    """CPU threads of each local worker."""
    return settings.threads or max(usable_threads() // workers, 1)


@contextmanager
def connected(scheduler: str, workers: int) -> Iterator[Any]:
    """A dask client of a new local cluster, or of the scheduler at an address.

    A scheduler runs any code that a client sends. A local one therefore accepts only clients with
    a certificate that exists in the memory of these processes alone.
    """
    distributed = _distributed()
    # Lost workers are reported through the status of the captures instead.
    level = logging.CRITICAL
    with _quiet(level):
        if scheduler != LOCAL:
            with _client_of(distributed, scheduler) as client:
                yield client
            return
        with (
            import_module("dask").config.set(LOCAL_CONFIG),
            distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=None,
                host=HERE,
                security=_temporary_security(distributed),
                dashboard_address=f"{HERE}:0",  # any free port: another batch may be running
                scheduler_kwargs={"dashboard": False},
                silence_logs=level,
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client


def has_workers(client: Any) -> bool:
    """Whether the scheduler has workers at this moment."""
    return bool(client.nthreads())


def _client_of(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=CONNECT_S)
    except TypeError as error:  # no certificate for tls://
        raise SettingsError(
            f"The dask scheduler at {address} requires a TLS certificate; set "
            "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, ...__CLIENT__KEY and ...__CLIENT__CERT to the "
            "files that the scheduler uses."
        ) from error
    except (OSError, ValueError, TimeoutError) as error:
        raise SettingsError(
            f"There is no dask scheduler at {address}; start one with `dask scheduler`, or use "
            "--scheduler local."
        ) from error


def _temporary_security(distributed: Any) -> Any:
    """A new key pair for TLS, which is never written to disk."""
    try:
        return distributed.Security.temporary()
    except ImportError as error:
        raise SettingsError(
            "A local batch encrypts its connections with the package cryptography; install it "
            "with pip install 'napari-dpdeblur[distributed]'."
        ) from error


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError as error:
        raise SettingsError(
            "A batch requires dask.distributed; install it with "
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
