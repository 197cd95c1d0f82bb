"""Run folders: results of a fit on disk.

| file | content |
|---|---|
| `all_in_focus.tif` | (H, W) or (H, W, 3) float32, linear, in the unit of the capture |
| `defocus_map.tif` | (H, W) float32, in defocus scales: negative in front of the focus plane |
| `confidence.tif` | (H, W) float32, 0 to 1 |
| `mpi.tif` | RGBA pages, back to front, each with its defocus scale, some with that of each pixel |
| `preview.png` | input, all-in-focus image and defocus map side by side |
| `run.yaml` | settings, versions, hashes, timings, loss history |
| `residual.tif` | optional: (H, W) float32, error of the rendered views over noise |
| `gain.tif` | optional: (H, W) float32, left view over the mean of both, minus 1 |
| `color_filled.tif` | optional: (H, W) float32, 1 where a photo gave no colour |
| `lens.dpcal` | optional: the calibration of the fit |
| `distance_map.tif` | optional: (H, W) float32, in metres, if the lens constants are known |
| `left_view.tif`, `right_view.tif` | optional: raw values of a capture that came from no files |
| `true_all_in_focus.tif`, `true_defocus_map.tif` | optional: ground truth, as the two above |

`lens.dpcal` holds the kernels, which refocusing needs. A vignetting of more than
:data:`MAX_VIGNETTING_BYTES` is left out unless the lens was estimated, because such a lens has no
other file; run.yaml says so, and has the hash of what is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from napari_dpdeblur.array_types import Crop, FloatArray
from napari_dpdeblur.calibration import Calibration, load_calibration, save_calibration
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.capture.dual_pixel import Source
from napari_dpdeblur.errors import CalibrationError, CaptureError, ResultError
from napari_dpdeblur.files import check_inside
from napari_dpdeblur.files.reading import accessing
from napari_dpdeblur.optics.lens_model import LensModel
from napari_dpdeblur.results import atomic_folder
from napari_dpdeblur.results.preview import write_preview
from napari_dpdeblur.results.provenance import read_provenance, write_provenance
from napari_dpdeblur.results.result import Result, stored_lens_model
from napari_dpdeblur.results.tiff_files import (
    read_image,
    read_multiplane_image,
    write_image,
    write_mpi,
)

OPTIONAL_MAPS = {
    "residual": "residual over noise",
    "gain": "gain of the left view",
    "color_filled": "colour filled in from around",
}
RUN_FILES = (
    "all_in_focus.tif",
    "defocus_map.tif",
    "confidence.tif",
    "mpi.tif",
    "preview.png",
    "run.yaml",
)
LENS_FILE, DISTANCE_FILE = "lens.dpcal", "distance_map.tif"
VIEW_FILES = ("left_view.tif", "right_view.tif")
TRUTH_FILES = {"true_image": "true_all_in_focus.tif", "true_defocus": "true_defocus_map.tif"}
OPTIONAL_FILES = (
    *(f"{name}.tif" for name in OPTIONAL_MAPS),
    LENS_FILE,
    DISTANCE_FILE,
    *VIEW_FILES,
    *TRUTH_FILES.values(),
)
RAW_TYPES = ("uint8", "uint16", "float32")  # that float32 holds exactly
KNOWN_FILES = (*RUN_FILES, *OPTIONAL_FILES)
LENS = "lens"  # its entry in run.yaml
MAX_VIGNETTING_BYTES = 5_000_000
WRITERS = 2  # threads that write files beside that of the layers


def check_run_folder(folder: Path, overwrite: bool = False) -> None:
    """Refuse an output folder that `write_run` would refuse; for use before a long fit."""
    atomic_folder.check_output_folder(Path(folder), overwrite, KNOWN_FILES)


def write_run(result: Result, folder: Path, overwrite: bool = False) -> Path:
    """Write a run folder atomically and return its path."""
    folder = Path(folder)
    with (
        atomic_folder.atomic_folder(folder, overwrite, KNOWN_FILES) as beside,
        ThreadPoolExecutor(WRITERS) as pool,
    ):
        others = [pool.submit(write) for write in _other_files(result, beside)]
        mpi = result.mpi
        write_mpi(beside / "mpi.tif", mpi.color, mpi.alpha, mpi.defocus_scales, mpi.defocus)
        for written in others:
            written.result()
    return folder


def _other_files(result: Result, folder: Path) -> list[Callable[[], object]]:
    """Functions that write everything but the layers; they may run at the same time."""
    images: list[tuple[str, FloatArray | None, str, str]] = [
        ("all_in_focus", result.all_in_focus, "all-in-focus image", _unit(result.provenance)),
        ("defocus_map", result.defocus_map, "defocus map", "defocus scale"),
        ("confidence", result.confidence, "confidence", "0 to 1"),
        *((name, getattr(result, name), text, "relative") for name, text in OPTIONAL_MAPS.items()),
    ]
    return [
        lambda: write_preview(folder / "preview.png", result.picture()),
        lambda: _write_provenance(folder, result),
        *(
            partial(write_image, folder / f"{name}.tif", image, content=content, unit=unit)
            for name, image, content, unit in images
            if image is not None
        ),
        lambda: _write_distances(folder, result),
        lambda: _write_views(folder, result.capture),
        lambda: _write_truth(folder, result),
    ]


def _write_provenance(folder: Path, result: Result) -> None:
    """Write the lens, and run.yaml, which describes it."""
    others = {name: value for name, value in result.provenance.items() if name != LENS}
    lens = _write_lens(folder, result.calibration)
    write_provenance(folder / "run.yaml", others | lens)


def _write_distances(folder: Path, result: Result) -> None:
    distances = result.distance_map
    if distances is not None:
        write_image(folder / DISTANCE_FILE, distances, content="distance map", unit="m")


def _write_views(folder: Path, capture: DualPixelCapture | None) -> None:
    """Store the views of a capture that cannot be read from files again."""
    if capture is None or capture.source.files or str(capture.raw.dtype) not in RAW_TYPES:
        return
    for name, view in zip(VIEW_FILES, capture.raw, strict=True):
        write_image(folder / name, view, content="raw view", unit="raw")


def _write_truth(folder: Path, result: Result) -> None:
    for name, file in TRUTH_FILES.items():
        if (values := getattr(result, name)) is not None:
            write_image(folder / file, values, content="ground truth", unit="as in the result")


def _read_views(folder: Path, provenance: Mapping[str, Any]) -> DualPixelCapture | None:
    """The stored capture; None if there is none, or its description was changed."""
    if not all((folder / name).is_file() for name in VIEW_FILES):
        return None
    views = [read_image(folder / name) for name in VIEW_FILES]
    if views[0].shape != views[1].shape or not all(np.isfinite(view).all() for view in views):
        raise ResultError(
            f"{' and '.join(VIEW_FILES)} in {folder} are not the views of one capture: they differ "
            "in size or hold infinite values; delete both to open the run without them."
        )
    raw = np.stack(views)
    try:
        known = provenance["capture"]
        if known["dtype"] not in RAW_TYPES or not _holds(known["dtype"], raw):
            return None
        return DualPixelCapture(
            raw.astype(known["dtype"]),
            float(known["black"]),
            float(known["white"]),
            str(known["name"]),
            Source(str(known["format"]), (), ()),
            pixel_aspect=float(known["pixel_aspect"]),
            row_upsampling=int(known["row_upsampling"]),
            orientation=str(known["orientation"]),
            encoding=str(known["encoding"]),
            unit=str(known["unit"]),
        )
    except (CaptureError, KeyError, TypeError, ValueError):
        return None


def _holds(dtype: str, raw: FloatArray) -> bool:
    """Whether a type of :data:`RAW_TYPES` can hold all values."""
    most = float("inf") if dtype == "float32" else np.iinfo(dtype).max
    return dtype == "float32" or bool(raw.min() >= 0 and raw.max() <= most)


def _read_truth(folder: Path) -> dict[str, FloatArray]:
    found = {name: folder / file for name, file in TRUTH_FILES.items() if (folder / file).is_file()}
    images = {name: read_image(path) for name, path in found.items()}
    return {name: image[0] if name == "true_defocus" else image for name, image in images.items()}


def _write_lens(folder: Path, calibration: Calibration | None) -> dict[str, Any]:
    """Store the calibration, if there is one; returns what run.yaml says about it."""
    if calibration is None:
        return {}
    vignetting = calibration.vignetting
    is_large = vignetting is not None and vignetting.nbytes > MAX_VIGNETTING_BYTES
    if is_large and not calibration.is_estimated:
        calibration = replace(calibration, vignetting=None)
    save_calibration(calibration, folder / LENS_FILE)
    has_vignetting = calibration.vignetting is not None
    sha256 = calibration.content_hash()
    return {LENS: {"file": LENS_FILE, "sha256": sha256, "has_vignetting": has_vignetting}}


def read_lens(folder: Path) -> tuple[Calibration | None, Crop | None]:
    """The lens of a run folder, None if it has none, and the part of its field that was fitted."""
    folder = Path(folder)
    if not (folder / "run.yaml").is_file():
        return None, None
    _check_links(folder)
    provenance = read_provenance(folder / "run.yaml")
    top, left, height, width = provenance.get("crop") or (0, 0, 0, 0)
    return _read_lens(folder, provenance), (top, left, height, width) if height else None


def read_lens_model(folder: Path) -> LensModel | None:
    """How the fit of a run folder used the kernels of its lens; None for older runs."""
    path = Path(folder) / "run.yaml"
    return stored_lens_model(read_provenance(path)) if path.is_file() else None


def _read_lens(folder: Path, provenance: Mapping[str, Any]) -> Calibration | None:
    """The stored calibration; None if there is none, as in older runs, or it was deleted.

    Its lens constants may have been changed since; its kernels may not.
    """
    entry, path = provenance.get(LENS), folder / LENS_FILE
    if not isinstance(entry, Mapping) or not path.exists():
        return None
    try:
        calibration = load_calibration(path)
    except CalibrationError as error:
        raise ResultError(
            f"The lens of the run folder {folder} cannot be read; delete {LENS_FILE} to open the "
            f"run without it. {error}"
        ) from error
    if calibration.content_hash() != entry.get("sha256"):
        raise ResultError(
            f"{path} is not the lens of this run; restore it, or delete it to open the run "
            "without a lens."
        )
    return calibration


def read_run(folder: Path) -> Result:
    """Read a run folder; an incomplete or damaged one is a ResultError."""
    folder = Path(folder)
    check_run(folder)
    provenance = read_provenance(folder / "run.yaml")
    return Result(
        all_in_focus=read_image(folder / "all_in_focus.tif"),
        defocus_map=read_image(folder / "defocus_map.tif")[0],
        confidence=read_image(folder / "confidence.tif")[0],
        mpi=read_multiplane_image(folder / "mpi.tif"),
        provenance=provenance,
        calibration=_read_lens(folder, provenance),
        run_folder=folder,
        residual=_optional_map(folder / "residual.tif"),
        gain=_optional_map(folder / "gain.tif"),
        color_filled=_optional_map(folder / "color_filled.tif"),
        capture=_read_views(folder, provenance),
        **_read_truth(folder),
    )


def _optional_map(path: Path) -> FloatArray | None:
    """A map (H, W) that not all run folders have."""
    return read_image(path)[0] if path.is_file() else None


def check_run(folder: Path) -> None:
    """Refuse a run folder that leads elsewhere or was written by a newer version.

    A folder with images but without `run.yaml`, as other commands write it, is accepted.
    """
    folder = Path(folder)
    with accessing(folder, ResultError):
        if not folder.is_dir():
            raise ResultError(f"The run folder {folder} does not exist; check the path.")
        _check_links(folder)
        if (folder / "run.yaml").exists():
            read_provenance(folder / "run.yaml")


def _check_links(folder: Path) -> None:
    """Refuse a folder with files that are links to other folders."""
    for name in KNOWN_FILES:
        try:
            check_inside(folder / name, folder)
        except OSError as error:
            raise ResultError(
                f"{folder / name} was not read because {error.strerror}; copy the file itself."
            ) from error


def _unit(provenance: Mapping[str, Any]) -> str:
    capture = provenance.get("capture")
    unit = capture.get("unit") if isinstance(capture, Mapping) else None
    return str(unit or "unit of the capture")
