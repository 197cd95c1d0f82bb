"""Download the Pixel 4 calibration and scenes published by Xin et al. (ICCV 2021).

They are not part of this package: files are fetched from the authors' repository into the cache.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pooch

from napari_dpdeblur.errors import DownloadError
from napari_dpdeblur.files.cache import user_cache
from napari_dpdeblur.progress_bar import count_bar

MIRROR_VARIABLE = "DPDEBLUR_PIXEL4_MIRROR"
COMMIT = "d6a92620163cb462ff5b77a813bc5c03b0dab240"
PUBLISHED_URL = (
    "https://raw.githubusercontent.com/cmu-ci-lab/dual_pixel_defocus_estimation_deblurring/"
    f"{COMMIT}/DP_data_pixel_4/"
)
SCENES = tuple(f"{number:03d}" for number in range(1, 18))
_REGISTRY = Path(__file__).with_name("pixel4_sha256.txt")
_CALIBRATION_FOLDER = "calibration/"


def fetch_pixel4(scenes: Iterable[str | int] | None = None, progress: bool = True) -> Path:
    """Download the published calibration and scenes, and return their folder.

    ``scenes`` are numbers from 1 to 17 (None: all; empty: only the calibration). Each scene
    includes its ground truth. Files that exist and match their checksum are not downloaded again.
    """
    steps = fetch_steps(scenes)
    with count_bar("Fetching pixel4", "file", is_quiet=not progress, delay_s=0) as show:
        for done, total, name in steps:
            show(done, total, name)
        show(total, total)
    return cache_folder()


def fetch_steps(scenes: Iterable[str | int] | None = None) -> Iterator[tuple[int, int, str]]:
    """Download file by file, as :func:`fetch_pixel4` does.

    Yields before each file: files done, files in total, file name. An unknown scene is refused
    immediately.
    """
    source = os.environ.get(MIRROR_VARIABLE) or PUBLISHED_URL
    store = _store(source)
    return _fetched(store, _names(_scene_names(scenes), store.registry), source)


def _fetched(
    store: pooch.Pooch, names: Sequence[str], source: str
) -> Iterator[tuple[int, int, str]]:
    for done, name in enumerate(names):
        yield done, len(names), name
        _fetch(store, name, source)


def cache_folder() -> Path:
    """The folder of downloaded files."""
    return user_cache("pixel4")


def calibration_folder() -> Path:
    """The folder of the downloaded calibration."""
    return cache_folder() / _CALIBRATION_FOLDER


def _store(source: str) -> pooch.Pooch:
    # A network may fail temporarily, a local mirror does not.
    retries = 1 if _is_url(source) else 0
    store = pooch.create(
        cache_folder(),
        source.rstrip("/") + "/",
        retry_if_failed=retries,
        allow_updates=True,
    )
    store.load_registry(_REGISTRY)
    return store


def _is_url(source: str) -> bool:
    return urlsplit(source).scheme in ("http", "https")


def _scene_names(scenes: Iterable[str | int] | None) -> list[str]:
    if scenes is None:
        return list(SCENES)
    names = [str(scene).zfill(3) for scene in scenes]
    for name in names:
        if name not in SCENES:
            raise DownloadError(
                f"There is no published Pixel 4 scene {name}; choose one from {SCENES[0]} to "
                f"{SCENES[-1]}."
            )
    return names


def _names(scenes: list[str], registry: Iterable[str]) -> list[str]:
    """The calibration first, then all files whose name starts with one of the scene numbers."""
    calibration = [name for name in registry if name.startswith(_CALIBRATION_FOLDER)]
    wanted = [name for name in registry if name.rsplit("/")[-1][:3] in scenes]
    return calibration + wanted


def _fetch(store: pooch.Pooch, name: str, source: str) -> None:
    downloader = None if _is_url(source) else _copy
    log_level = pooch.get_logger().level
    pooch.get_logger().setLevel("ERROR")  # the progress bar shows what is fetched
    try:
        store.fetch(name, downloader=downloader)
    except OSError as error:
        raise DownloadError(
            f"{name} cannot be downloaded from {source}: {_reason(error)}; check the network "
            f"connection, or set {MIRROR_VARIABLE} to a folder or URL with the files."
        ) from error
    except ValueError as error:
        raise DownloadError(
            f"{name} from {source} does not match its published checksum; the file is damaged or "
            "has been changed, and was discarded."
        ) from error
    finally:
        pooch.get_logger().setLevel(log_level)


def _copy(url: str, output_file: Any, _: object) -> None:
    """A downloader for pooch that copies from a folder."""
    shutil.copyfile(url, output_file)


def _reason(error: OSError) -> str:
    """A short description of the error."""
    if error.strerror:
        return error.strerror
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answered {response.status_code} {response.reason}"
    return "no connection"
