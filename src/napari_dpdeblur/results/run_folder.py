"""The run folder: everything a fit found out, on disk.

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.files import check_inside
from napari_dpdeblur.results import atomic_folder
from napari_dpdeblur.results.preview import preview_picture, write_preview
from napari_dpdeblur.results.provenance import read_provenance, write_provenance
from napari_dpdeblur.results.tiff_files import read_image, read_mpi, write_image, write_mpi

RUN_FILES = (
    "all_in_focus.tif",
    "defocus_map.tif",
    "confidence.tif",
    "mpi.tif",
    "preview.png",
    "run.yaml",
)

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True)
class RunRecord:
    """A fit's result as arrays; L layers run back to front, C is 1 or 3.

    `captured`, the mean of both views, is only drawn in the preview and not read back.
    """

    all_in_focus: FloatArray  # (C, H, W), linear, unit of the capture
    defocus_map: FloatArray  # (H, W), defocus scales
    confidence: FloatArray  # (H, W), 0 to 1
    mpi_color: FloatArray  # (L, C, H, W)
    mpi_alpha: FloatArray  # (L, 1, H, W)
    defocus_scales: npt.NDArray[np.floating]  # (L,)
    provenance: dict[str, Any] = field(default_factory=dict)
    captured: FloatArray | None = None  # (C, H, W)

    def __post_init__(self) -> None:
        channels, height, width = self.all_in_focus.shape[-3:]
        layers = len(self.defocus_scales)
        expected = {
            "all_in_focus": (channels, height, width),
            "defocus_map": (height, width),
            "confidence": (height, width),
            "mpi_color": (layers, channels, height, width),
            "mpi_alpha": (layers, 1, height, width),
        }
        for name, shape in expected.items():
            found = getattr(self, name).shape
            if found != shape:
                raise ResultError(
                    f"The parts of this result do not belong together: {name} has shape {found} "
                    f"where {shape} is expected; use the files of one run."
                )


def check_run_folder(folder: Path, overwrite: bool = False) -> None:
    """Refuse an output folder that `write_run` would refuse; call it before a long fit."""
    atomic_folder.check_output_folder(Path(folder), overwrite, RUN_FILES)


def write_run(record: RunRecord, folder: Path, overwrite: bool = False) -> Path:
    """Write a run folder, complete or not at all, and return its path."""
    folder = Path(folder)
    with atomic_folder.atomic_folder(folder, overwrite, RUN_FILES) as partial:
        write_image(
            partial / "all_in_focus.tif",
            record.all_in_focus,
            content="all-in-focus image",
            unit=_unit(record.provenance),
        )
        write_image(
            partial / "defocus_map.tif",
            record.defocus_map,
            content="defocus map",
            unit="defocus scale",
        )
        write_image(
            partial / "confidence.tif", record.confidence, content="confidence", unit="0 to 1"
        )
        write_mpi(partial / "mpi.tif", record.mpi_color, record.mpi_alpha, record.defocus_scales)
        picture = preview_picture(record.all_in_focus, record.defocus_map, record.captured)
        write_preview(partial / "preview.png", picture)
        write_provenance(partial / "run.yaml", record.provenance)
    return folder


def read_run(folder: Path) -> RunRecord:
    """Read what `write_run` wrote; anything incomplete or damaged is a ResultError."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ResultError(f"The run folder {folder} does not exist; check the path.")
    _check_links(folder)
    provenance = read_provenance(folder / "run.yaml")
    color, alpha, defocus_scales = read_mpi(folder / "mpi.tif")
    return RunRecord(
        all_in_focus=read_image(folder / "all_in_focus.tif"),
        defocus_map=read_image(folder / "defocus_map.tif")[0],
        confidence=read_image(folder / "confidence.tif")[0],
        mpi_color=color,
        mpi_alpha=alpha,
        defocus_scales=defocus_scales,
        provenance=provenance,
    )


def _check_links(folder: Path) -> None:
    """Refuse a folder whose files are links to somewhere else."""
    for name in RUN_FILES:
        try:
            check_inside(folder / name, folder)
        except OSError as error:
            raise ResultError(
                f"The result file {folder / name} is not read because {error.strerror}; copy the "
                "file itself."
            ) from error


def _unit(provenance: Mapping[str, Any]) -> str:
    capture = provenance.get("capture")
    unit = capture.get("unit") if isinstance(capture, Mapping) else None
    return str(unit or "unit of the capture")
