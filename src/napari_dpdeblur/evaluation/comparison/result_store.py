"""Store the rows of a comparison on disk, so that it can be resumed.

`results/METHOD/SCENE/` contains `all_in_focus.tif`, `defocus_map.tif`, `residual.tif` and
`layers.npz`, as far as the method computes them, and `result.json`, which is written last.
"""

from __future__ import annotations

import json
import shutil
import zlib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from napari_dpdeblur.errors import EvaluationError, ResultError
from napari_dpdeblur.evaluation.baselines.prediction import LayerPictures, Prediction
from napari_dpdeblur.files.atomic import write_atomically
from napari_dpdeblur.files.plain import parse_json
from napari_dpdeblur.results.tiff_files import read_image, write_image

IMAGE_FILE = "all_in_focus.tif"
MAP_FILE = "defocus_map.tif"
RESIDUAL_FILE = "residual.tif"
LAYERS_FILE = "layers.npz"
RECORD_FILE = "result.json"
MAX_RECORD_BYTES = 1_000_000


@dataclass(frozen=True)
class Row:
    """Scores of one method on one scene; ``problems`` say why values are missing."""

    method: str
    label: str
    scene: str
    values: dict[str, float] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    alignment: list[list[float]] | None = None
    time_s: float | None = None
    mean_defocus: float | None = None

    @property
    def status(self) -> str:
        """`ok`, or `failed` if anything is missing."""
        return "failed" if self.problems else "ok"


@dataclass(frozen=True)
class ResultStore:
    """The results below one folder."""

    folder: Path

    def make_folder(self) -> None:
        """Create the folder; call it before a long computation."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EvaluationError(
                f"The results folder {self.folder} cannot be created ({error.strerror or error}); "
                "choose another folder."
            ) from error

    def place(self, row: Row) -> Path:
        """The folder of a row."""
        return self.folder / "results" / _file_name(row.method) / _file_name(row.scene)

    def load(self, row: Row, signature: str) -> Row | None:
        """Load a row if an earlier run has stored it completely with the same signature.

        Methods that raised an error store nothing, so they are run again.
        """
        path = self.place(row) / RECORD_FILE
        try:
            if path.stat().st_size > MAX_RECORD_BYTES:
                return None
            record = parse_json(path.read_bytes())
            if record["signature"] != signature or not self._is_complete(row, record):
                return None
            values = {**record["row"], "method": row.method, "label": row.label}
            sentences = {name: tuple(values[name]) for name in ("problems", "warnings")}
            return Row(**{**values, **sentences})
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _is_complete(self, row: Row, record: dict[str, Any]) -> bool:
        return all((self.place(row) / name).is_file() for name in record["files"])

    def save(self, row: Row, signature: str, prediction: Prediction) -> None:
        """Save a row, replacing an earlier one."""
        folder = self.place(row)
        arrays = {
            IMAGE_FILE: prediction.all_in_focus,
            MAP_FILE: prediction.defocus_map,
            RESIDUAL_FILE: prediction.residual,
        }
        layers = prediction.layers
        files = [name for name, array in arrays.items() if array is not None]
        files += [] if layers is None else [LAYERS_FILE]
        record = {"signature": signature, "files": files, "row": asdict(row)}
        try:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            for name, array in arrays.items():
                if array is not None:
                    write_image(folder / name, array)
            if layers is not None:
                path = folder / LAYERS_FILE
                np.savez_compressed(path, pixels=layers.pixels, scales=layers.scales)
            write_atomically(folder / RECORD_FILE, json.dumps(record, indent=1).encode())
        except OSError as error:
            raise EvaluationError(
                f"The results in {folder} cannot be written: {error.strerror or error}."
            ) from error

    def prediction(self, row: Row) -> Prediction:
        """Load what was stored of a row."""
        folder = self.place(row)
        defocus_map, residual = (_read(folder / name) for name in (MAP_FILE, RESIDUAL_FILE))
        return Prediction(
            _read(folder / IMAGE_FILE),
            None if defocus_map is None else defocus_map[0],
            None if residual is None else residual[0],
            _read_layers(folder / LAYERS_FILE),
        )


def _read(path: Path) -> Any:
    try:
        return read_image(path) if path.is_file() else None
    except ResultError:
        return None


def _read_layers(path: Path) -> LayerPictures | None:
    """Layers of a row; None if there are none, or the file is damaged."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            pixels, scales = stored["pixels"], stored["scales"]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error):
        return None
    is_stack = pixels.dtype == np.uint8 and pixels.ndim == 4 and pixels.shape[3] == 4
    fits = is_stack and scales.shape == pixels.shape[:1] and scales.dtype.kind == "f"
    return LayerPictures(pixels, scales.astype(np.float32)) if fits else None


def _file_name(name: str) -> str:
    """A name that is valid on every file system."""
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
    return safe.strip(".") or "_"
