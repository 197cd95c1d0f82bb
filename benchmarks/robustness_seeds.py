"""Small valid files of every kind that the project reads, to be damaged by the fuzzing."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
from PIL import ExifTags, Image

from napari_dpdeblur.calibration import save_calibration
from napari_dpdeblur.calibration.target.pattern import Target, save_target
from napari_dpdeblur.capture.dual_pixel import DualPixelCapture, Source
from napari_dpdeblur.capture.pgm import write_pgm_pair
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results import Result, write_run

SIZE = (12, 16)
CHECKPOINT_SIGNATURE = "signature"
CAPTURE = {  # as run.yaml describes the stored views
    "name": "scene",
    "format": "synthetic",
    "dtype": "uint16",
    "black": 0.0,
    "white": 16383.0,
    "pixel_aspect": 1.0,
    "row_upsampling": 1,
    "orientation": "landscape",
    "encoding": "linear",
    "unit": "share of white",
}


def pixels(dtype: type, channels: int = 1, seed: int = 0) -> np.ndarray:
    """Random values between black and white of every format, (H, W) or (H, W, 3)."""
    high = 250 if dtype is np.uint8 else 16000
    shape = SIZE if channels == 1 else (*SIZE, channels)
    return np.random.default_rng(seed).integers(high // 5, high, shape).astype(dtype)


def _write_picture(path: Path, picture: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(cv2.imencode(path.suffix, picture)[1].tobytes())


def app_pair(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    views = (pixels(np.uint16, seed=seed) for seed in (0, 1))
    write_pgm_pair(folder, "20210705_161427_778", *views)


def published_pair(folder: Path) -> None:
    for seed, side in enumerate(("left", "right")):
        _write_picture(folder / f"001_{side}.png", pixels(np.uint16, seed=seed))


def portrait_pair(folder: Path) -> None:
    for seed, side in enumerate(("left", "right")):
        path = folder / f"{side}_pd" / "scene" / f"result_{side}Pd_center.png"
        _write_picture(path, pixels(np.uint8, seed=seed))


def colour_pair(folder: Path) -> None:
    for seed, side in enumerate("LR"):
        _write_picture(folder / f"1P0A0917_{side}.png", pixels(np.uint16, 3, seed))


def jpeg_pair(folder: Path) -> None:
    for seed, side in enumerate("LR"):
        _write_picture(folder / f"001_{side}.jpg", pixels(np.uint8, 3, seed))


def picture_pair(folder: Path) -> None:
    """TIFF files with EXIF data, as software of any camera writes them."""
    folder.mkdir(parents=True, exist_ok=True)
    exif = Image.Exif()
    exif[ExifTags.IFD.Exif] = {ExifTags.Base.FocalLength: 50.0, ExifTags.Base.FNumber: 4.0}
    for seed, side in enumerate("lr"):
        picture = Image.fromarray(pixels(np.uint8, 3, seed))
        picture.save(folder / f"{side}.tif", exif=exif.tobytes())


def raw_file(folder: Path) -> None:
    """A TIFF with the signature of a Canon raw file; no real one can be part of the project."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, cols = SIZE
    data = pixels(np.uint16).tobytes()
    tags = [
        (256, 4, 1, cols),
        (257, 4, 1, rows),
        (258, 3, 1, 16),
        (259, 3, 1, 1),
        (262, 3, 1, 32803),
        (273, 4, 1, 256),
        (277, 3, 1, 1),
        (278, 4, 1, rows),
        (279, 4, 1, len(data)),
    ]
    entries = b"".join(struct.pack("<HHII", *tag) for tag in tags)
    directory = struct.pack("<H", len(tags)) + entries + struct.pack("<I", 0)
    content = b"II*\0" + struct.pack("<I", 16) + b"CR\x02\0\0\0\0\0" + directory
    (folder / "IMG_0001.CR2").write_bytes(content.ljust(256, b"\0") + data)


def calibration_file(folder: Path) -> None:
    """A calibration with all that a calibration run adds: verdict and diagnostics."""
    folder.mkdir(parents=True, exist_ok=True)
    check = {"name": "noise", "value": 0.1, "grade": "bad", "meaning": "m", "remedy": "Again."}
    random = np.random.default_rng(0)
    diagnostics = {
        "thumbnail": random.uniform(0, 1, SIZE).astype(np.float32),
        "residual": random.uniform(-1, 1, (2, *SIZE)).astype(np.float32),
        "discs": random.uniform(0, 12, (5, 4)).astype(np.float32),
    }
    calibration = replace(
        synthetic_calibration(48, 64, 1, 2),
        verdict={"grade": "bad", "checks": [check], "filled_tiles": [1], "notes": ["n"]},
        diagnostics=diagnostics,
    )
    save_calibration(calibration, folder / "a.dpcal")


def calibration_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    kernels = synthetic_calibration(48, 64, 6, 8).kernels
    for index, view in enumerate(("left", "right")):
        np.save(folder / f"blur_kernels_{view}.npy", kernels[:, index])
        _write_picture(folder / f"white_sheet_{view}.png", np.full((1512, 2016), 9000, np.uint16))


def small_run(folder: Path, is_full: bool = False) -> Path:
    """A run folder of a few kilobytes."""
    rows, cols = SIZE
    layers = 3
    random = np.random.default_rng(0)

    def values(*shape: int) -> np.ndarray:
        return random.uniform(0, 1, shape).astype(np.float32)

    result = Result(
        all_in_focus=values(1, rows, cols),
        defocus_map=values(rows, cols),
        confidence=values(rows, cols),
        mpi=MultiplaneImage(
            values(layers, 1, rows, cols),
            values(layers, 1, rows, cols),
            np.linspace(1.2, 0.1, layers),
        ),
        provenance={
            "settings": FitSettings().model_dump(),
            "capture": CAPTURE if is_full else {"name": "scene", "sha256": ["ab", "cd"]},
            "loss_history": [{"stage": "image", "step": 1, "data": 0.25}],
        },
    )
    return write_run(replace(result, **_optional_parts(values)) if is_full else result, folder)


def full_run(folder: Path) -> Path:
    """The same with every optional file: views, truth, lens, distances, residual and gain."""
    return small_run(folder, is_full=True)


def _optional_parts(values: Callable[..., np.ndarray]) -> dict[str, object]:
    raw = np.stack([pixels(np.uint16, seed=seed)[None] for seed in (0, 1)])
    lens = replace(synthetic_calibration(48, 64, 1, 2), lens_constants=(1.8, -0.25))
    maps = ("residual", "gain", "color_filled", "true_defocus")
    return {
        "calibration": lens,
        "capture": DualPixelCapture(raw, 0.0, 16383.0, "scene", Source("synthetic", (), ())),
        "true_image": values(1, *SIZE),
        **{name: values(*SIZE) for name in maps},
    }


def photo_files(folder: Path) -> None:
    """A colour photo of each kind, with EXIF data."""
    folder.mkdir(parents=True, exist_ok=True)
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    for suffix in ("jpg", "png", "tif"):
        picture = Image.fromarray(pixels(np.uint8, 3, 2))
        picture.save(folder / f"photo.{suffix}", exif=exif.tobytes())


def settings_file(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.yaml").write_text(FitSettings(layers=8, front_scale=0.2).to_yaml())


def checkpoint_file(folder: Path) -> None:
    import torch

    from napari_dpdeblur.fitting import Checkpoint
    from napari_dpdeblur.fitting.checkpoint import FitState

    tensors = {name: torch.rand(1, *SIZE) for name in ("centre", "weight", "defocus_map", "start")}
    history = [{"stage": "image", "step": 1, "data": 0.25}]
    state = FitState(tensors, {"defocus map": 1, "deblur": 1}, history)
    Checkpoint(folder / "run.checkpoint").save(CHECKPOINT_SIGNATURE, state)


def target_file(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    save_target(Target.for_screen(1920, 1080, 48.0), folder / "target.json")


def ground_truth(folder: Path) -> None:
    _write_picture(folder / "sharp.png", pixels(np.uint16))
    _write_picture(folder / "defocus.png", pixels(np.uint8))
    _write_picture(folder / "sharp.tif", pixels(np.uint16, 3))


def batch_index(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    entry = {"key": "ab" * 32, "name": "scene", "files": ["a", "b"], "folder": "scene"}
    content = {
        "format": "napari-dpdeblur batch",
        "version": 1,
        "captures": [{**entry, "status": "done", "message": "", "elapsed_s": 1.5}],
    }
    (folder / "index.json").write_text(json.dumps(content))


Maker = Callable[[Path], object]
