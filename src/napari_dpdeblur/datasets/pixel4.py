"""Download the Pixel 4 calibration and scenes published by Xin et al. (ICCV 2021).

They are not part of this package: files are fetched from the authors' repository into the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from napari_dpdeblur.datasets.download import PublishedFiles
from napari_dpdeblur.errors import DownloadError

MIRROR_VARIABLE = "DPDEBLUR_PIXEL4_MIRROR"
COMMIT = "d6a92620163cb462ff5b77a813bc5c03b0dab240"
PUBLISHED_URL = (
    "https://raw.githubusercontent.com/cmu-ci-lab/dual_pixel_defocus_estimation_deblurring/"
    f"{COMMIT}/DP_data_pixel_4/"
)
SCENES = tuple(f"{number:03d}" for number in range(1, 18))
PIXEL4 = PublishedFiles(
    name="pixel4",
    url=PUBLISHED_URL,
    mirror_variable=MIRROR_VARIABLE,
    registry=Path(__file__).with_name("pixel4_sha256.txt"),
)
_CALIBRATION_FOLDER = "calibration/"


def fetch_pixel4(scenes: Iterable[str | int] | None = None, progress: bool = True) -> Path:
    """Download the published calibration and scenes, and return their folder.

    ``scenes`` are numbers from 1 to 17 (None: all; empty: only the calibration). Each scene
    includes its ground truth. Files that exist and match their checksum are not downloaded again.
    """
    return PIXEL4.run(fetch_steps(scenes), progress)


def fetch_steps(scenes: Iterable[str | int] | None = None) -> Iterator[tuple[int, int, str]]:
    """Download file by file, as :func:`fetch_pixel4` does.

    Yields before each file: files done, files in total, file name. An unknown scene is refused
    immediately.
    """
    return PIXEL4.fetch_steps(_names(_scene_names(scenes), PIXEL4.files()))


def cache_folder() -> Path:
    """The folder of downloaded files."""
    return PIXEL4.cache_folder()


def calibration_folder() -> Path:
    """The folder of the downloaded calibration."""
    return cache_folder() / _CALIBRATION_FOLDER


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
