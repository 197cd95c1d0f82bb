"""Download published files into the user's cache, and check them against their sums."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pooch

from napari_dpdeblur.errors import DownloadError
from napari_dpdeblur.files.cache import CACHE_VARIABLE, user_cache
from napari_dpdeblur.files.destination import place_problem
from napari_dpdeblur.progress_bar import count_bar

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


@dataclass(frozen=True)
class PublishedFiles:
    """A set of files at one address; ``registry`` lists their names and SHA-256.

    ``mirror_variable`` is the environment variable that names another address or a folder.
    """

    name: str
    url: str
    mirror_variable: str
    registry: Path

    def files(self) -> dict[str, str]:
        """SHA-256 of each file, by its name."""
        return dict(self._store(self.url).registry)

    def cache_folder(self) -> Path:
        """The folder of downloaded files."""
        return user_cache(self.name)

    def run(self, steps: Iterable[tuple[int, int, str]], progress: bool) -> Path:
        """Download with a progress bar; returns the folder."""
        total = 0
        with count_bar(f"Fetching {self.name}", "file", is_quiet=not progress, delay_s=0) as show:
            for done, total, file in steps:
                show(done, total, file)
            show(total, total)
        return self.cache_folder()

    def fetch_steps(self, names: Sequence[str]) -> Iterator[tuple[int, int, str]]:
        """Download file by file; yields before each: files done, files in total, file name."""
        source = os.environ.get(self.mirror_variable) or self.url
        return self._fetched(self._store(source), names, source)

    def _fetched(
        self, store: pooch.Pooch, names: Sequence[str], source: str
    ) -> Iterator[tuple[int, int, str]]:
        for done, name in enumerate(names):
            yield done, len(names), name
            self._fetch(store, name, source)

    def _store(self, source: str) -> pooch.Pooch:
        # A network may fail temporarily, a local mirror does not.
        store = pooch.create(
            self.cache_folder(),
            source.rstrip("/") + "/",
            retry_if_failed=1 if _is_url(source) else 0,
            allow_updates=True,
        )
        store.load_registry(self.registry)
        return store

    def _fetch(self, store: pooch.Pooch, name: str, source: str) -> None:
        downloader = None if _is_url(source) else _copy
        log_level = pooch.get_logger().level
        pooch.get_logger().setLevel("ERROR")  # the progress bar shows what is fetched
        try:
            store.fetch(name, downloader=downloader)
        except OSError as error:
            self._check_cache(name, error)
            raise DownloadError(
                f"{name} cannot be downloaded ({_reason(error)}); check the network connection, or "
                f"set {self.mirror_variable} to a folder or URL with the files of {source}."
            ) from error
        except ValueError as error:
            raise DownloadError(
                f"{name} from {source} does not match its published checksum; the file is damaged "
                "or has been changed, and was discarded."
            ) from error
        finally:
            pooch.get_logger().setLevel(log_level)

    def _check_cache(self, name: str, error: OSError) -> None:
        """Raise DownloadError if a download failed because the cache cannot be written."""
        path = self.cache_folder() / name
        problem = place_problem(path)
        if problem is None and error.errno in _NO_SPACE:
            problem = f"of the error '{error.strerror}'"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as reason:  # on a file system of its own kind, such as /proc
            problem = problem or f"of the error '{reason.strerror}'"
        if problem is not None:
            raise DownloadError(
                f"{name} cannot be kept in the cache {self.cache_folder()} because {problem}; set "
                f"{CACHE_VARIABLE} to a folder that can be written."
            ) from error


def _is_url(source: str) -> bool:
    return urlsplit(source).scheme in ("http", "https")


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
