"""Download the captures of a Canon EOS R6 Mark II published by He et al. (ICCV 2025).

They are not part of this package: files are fetched from the authors' repository into the cache.
Each scene has two views, 768 x 512 px as the maker's software develops them, and most have the
depth measured by another device. The lens was at 50 mm and focused at 1.0 m.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.capture import DualPixelCapture, open_capture
from napari_dpdeblur.capture.picture import decode_picture
from napari_dpdeblur.datasets.download import PublishedFiles
from napari_dpdeblur.errors import DownloadError, EvaluationError

COMMIT = "5fa8ff51b0e113303fb059a74347da90a5b1a58a"
PUBLISHED_URL = f"https://raw.githubusercontent.com/LinYark/Sdirt/{COMMIT}/real_sample_set/"
MIRROR_VARIABLE = "DPDEBLUR_CANON_R6_MIRROR"
LICENCE = "MIT, Copyright (c) 2025 Fengchen He"
CITATION = (
    "He et al., Simulating Dual-Pixel Images From Ray Tracing For Depth Estimation, ICCV 2025"
)
CANON_R6 = PublishedFiles(
    name="canon_r6",
    url=PUBLISHED_URL,
    mirror_variable=MIRROR_VARIABLE,
    registry=Path(__file__).with_name("canon_r6_sha256.txt"),
)
FOLDERS = {
    **{f"box_{n:03d}": f"box/{n:03d}" for n in range(1, 6)},
    **{f"iphone_{n:03d}": f"casual/iphone/{n:03d}" for n in range(1, 7)},
    **{f"orbbec_{n:03d}": f"casual/orbbec/{n:03d}" for n in range(1, 7)},
    **{f"flat_{z}_f{f}": f"flat/001/{z}/f{f}" for z in ("0600", "1500") for f in (4, 20)},
}
SCENES = tuple(FOLDERS)
DEPTH_FILE = "d.png"
FOCAL_LENGTH_MM, FOCUS_DISTANCE_M, SENSOR_WIDTH_MM = 50.0, 1.0, 36.0
F_NUMBER, SHARP_F_NUMBER = 4.0, 20.0
CAMERA = "Canon EOS R6 Mark II"
DEEPEST_8_BIT_M = 10.0  # the depth that 255 stands for


def fetch_canon_r6(scenes: Iterable[str] | None = None, progress: bool = True) -> Path:
    """Download the published scenes, and return their folder.

    ``scenes`` are names such as "box_001" (None: all). Files that exist and match their checksum
    are not downloaded again.
    """
    return CANON_R6.run(fetch_steps(scenes), progress)


def fetch_steps(scenes: Iterable[str] | None = None) -> Iterator[tuple[int, int, str]]:
    """Download file by file, as :func:`fetch_canon_r6` does.

    Yields before each file: files done, files in total, file name. An unknown scene is refused
    immediately.
    """
    folders = [scene_folder(scene) for scene in (SCENES if scenes is None else scenes)]
    wanted = [n for folder in folders for n in CANON_R6.files() if n.startswith(f"{folder}/")]
    return CANON_R6.fetch_steps(wanted)


def scene_folder(scene: str) -> str:
    """The folder of a scene below the cache folder."""
    if scene not in FOLDERS:
        raise DownloadError(
            f"There is no published Canon R6 scene {scene}; choose one of {', '.join(SCENES)}."
        )
    return FOLDERS[scene]


def open_scene(scene: str) -> DualPixelCapture:
    """A downloaded scene, with the optics that its authors state."""
    capture = open_capture(CANON_R6.cache_folder() / scene_folder(scene) / "l.png")
    return replace(capture, name=scene).with_optics(
        sensor_width_mm=SENSOR_WIDTH_MM,
        focal_length_mm=FOCAL_LENGTH_MM,
        f_number=SHARP_F_NUMBER if scene.endswith("_f20") else F_NUMBER,
        focus_distance_m=FOCUS_DISTANCE_M,
        camera=CAMERA,
    )


def depth_path(scene: str) -> Path | None:
    """The measured depth of a downloaded scene; None for the flat boards."""
    name = f"{scene_folder(scene)}/{DEPTH_FILE}"
    return CANON_R6.cache_folder() / name if name in CANON_R6.files() else None


def read_depth_m(path: Path) -> FloatArray:
    """Measured depth (H, W) in metres, NaN where it is unknown.

    8 bits: 255 stands for 10 m; 16 bits: millimetres. 0 is unknown in both.
    """
    pixels = decode_picture(Path(path)) if Path(path).is_file() else None
    if pixels is None or pixels.dtype not in (np.uint8, np.uint16):
        raise EvaluationError(
            f"The depth {path} cannot be read; expected an 8-bit or 16-bit greyscale PNG."
        )
    plane = pixels if pixels.ndim == 2 else pixels[..., 0]
    unit_m = DEEPEST_8_BIT_M / 255 if pixels.dtype == np.uint8 else 1e-3
    depth = plane.astype(np.float32) * np.float32(unit_m)
    depth[plane == 0] = np.nan
    return depth
