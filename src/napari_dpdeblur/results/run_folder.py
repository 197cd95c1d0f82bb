"""Run folders: results of a fit on disk.

| file | content |
|---|---|
| `all_in_focus.tif` | (H, W) or (H, W, 3) float32, linear, in the unit of the capture |
| `defocus_map.tif` | (H, W) float32, in defocus scales |
| `confidence.tif` | (H, W) float32, 0 to 1 |
| `mpi.tif` | RGBA pages, back to front, each with its defocus scale |
| `preview.png` | input, all-in-focus image and defocus map side by side |
| `run.yaml` | settings, versions, hashes, timings, loss history |
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.files import check_inside
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results import atomic_folder
from napari_dpdeblur.results.preview import write_preview
from napari_dpdeblur.results.provenance import read_provenance, write_provenance
from napari_dpdeblur.results.result import Result
from napari_dpdeblur.results.tiff_files import read_image, read_mpi, write_image, write_mpi

RUN_FILES = (
    "all_in_focus.tif",
    "defocus_map.tif",
    "confidence.tif",
    "mpi.tif",
    "preview.png",
    "run.yaml",
)


def check_run_folder(folder: Path, overwrite: bool = False) -> None:
    """Refuse an output folder that `write_run` would refuse; for use before a long fit."""
    atomic_folder.check_output_folder(Path(folder), overwrite, RUN_FILES)


def write_run(result: Result, folder: Path, overwrite: bool = False) -> Path:
    """Write a run folder atomically and return its path."""
    folder = Path(folder)
    with atomic_folder.atomic_folder(folder, overwrite, RUN_FILES) as partial:
        write_image(
            partial / "all_in_focus.tif",
            result.all_in_focus,
            content="all-in-focus image",
            unit=_unit(result.provenance),
        )
        write_image(
            partial / "defocus_map.tif",
            result.defocus_map,
            content="defocus map",
            unit="defocus scale",
        )
        write_image(
            partial / "confidence.tif", result.confidence, content="confidence", unit="0 to 1"
        )
        write_mpi(partial / "mpi.tif", result.mpi_color, result.mpi_alpha, result.defocus_scales)
        write_preview(partial / "preview.png", result.picture())
        write_provenance(partial / "run.yaml", result.provenance)
    return folder


def read_run(folder: Path) -> Result:
    """Read a run folder; an incomplete or damaged one is a ResultError."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ResultError(f"The run folder {folder} does not exist; check the path.")
    _check_links(folder)
    provenance = read_provenance(folder / "run.yaml")
    color, alpha, defocus_scales = read_mpi(folder / "mpi.tif")
    return Result(
        all_in_focus=read_image(folder / "all_in_focus.tif"),
        defocus_map=read_image(folder / "defocus_map.tif")[0],
        confidence=read_image(folder / "confidence.tif")[0],
        mpi=MultiplaneImage(color, alpha, defocus_scales),
        provenance=provenance,
        run_folder=folder,
    )


def _check_links(folder: Path) -> None:
    """Refuse a folder with files that are links to other folders."""
    for name in RUN_FILES:
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
