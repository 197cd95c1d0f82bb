"""The Python interface for notebooks and scripts; all of it is in `napari_dpdeblur` itself.

import napari_dpdeblur as dpdeblur

capture = dpdeblur.open("20210705_161427_778_left.pgm")
calibration = dpdeblur.load_calibration("phone.dpcal")
result = dpdeblur.fit(capture, calibration)
result.show()
result.save("run")
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.capture import open_capture as open
from napari_dpdeblur.datasets.pixel4 import fetch_pixel4
from napari_dpdeblur.datasets.synthetic.simulation import Simulation, simulate
from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.results import RunRecord, preview_picture, read_run, write_preview, write_run
from napari_dpdeblur.results.preview import Picture
from napari_dpdeblur.screen import in_notebook, no_window_reason

if TYPE_CHECKING:
    from napari_dpdeblur.fitting.events import FitEvent, FitResult
    from napari_dpdeblur.fitting.problem import Crop

# As the command line does, before torch is loaded: threads that spin while they wait slow each
# other down. Nothing happens where it is set already.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

__all__ = [
    "Calibration",
    "DualPixelCapture",
    "FitSettings",
    "Result",
    "Simulation",
    "fetch_pixel4",
    "fit",
    "load_calibration",
    "load_result",
    "open",
    "simulate",
]


@dataclass(frozen=True, eq=False, repr=False)
class Result(RunRecord):
    """What a fit found, as NumPy arrays.

    C is 1 or 3 channels, L layers run back to front. Images are linear, in the unit of the
    capture; defocus is in multiples of the calibrated blur. As the last line of a notebook's cell
    it is shown as a picture.
    """

    capture: DualPixelCapture | None = None  # None in a result that was loaded
    calibration: Calibration | None = None

    @property
    def loss_history(self) -> list[dict[str, Any]]:
        """The terms of the objective, step by step, where the preset has them."""
        return list(self.provenance.get("loss_history", []))

    def picture(self) -> Picture:
        """Captured, all in focus and defocus map side by side: bytes (h, w, 3)."""
        return preview_picture(self.all_in_focus, self.defocus_map, self.captured)

    def show(self, window: bool | None = None) -> Any:
        """Show the picture in a notebook, and all layers in napari everywhere else.

        ``window`` decides instead: True opens napari from a notebook, too. Returns napari's
        viewer, in a script after its window has been closed.
        """
        if window is None:
            window = not in_notebook()
        if not window:
            return _show_in_cell(self)
        reason = no_window_reason()
        if reason is not None:
            raise ResultError(
                f"The result cannot be shown in napari ({reason}); write it with save(folder) and "
                "look at preview.png there, or take the pixels from picture()."
            )
        from napari_dpdeblur.viewer.window import show_result

        return show_result(self, self.capture, self.calibration)

    def save(self, folder: str | Path, overwrite: bool = False) -> Path:
        """Write a run folder, complete or not at all; `load_result` and napari open it."""
        return write_run(self, Path(folder), overwrite)

    def __repr__(self) -> str:
        channels, height, width = self.all_in_focus.shape
        nearest, farthest = float(min(self.defocus_scales)), float(max(self.defocus_scales))
        return (
            f"<Result: {height} x {width} px, {channels} channel{'s' * (channels > 1)}, "
            f"{len(self.defocus_scales)} layers, defocus {nearest:.2f} to {farthest:.2f}>"
        )

    def _repr_png_(self) -> bytes:
        """For notebooks."""
        file = io.BytesIO()
        write_preview(file, self.picture())
        return file.getvalue()


def fit(
    capture: DualPixelCapture,
    calibration: Calibration,
    settings: FitSettings | None = None,
    *,
    progress: bool | Callable[[FitEvent], None] = True,
    crop: Crop | None = None,
    checkpoint: str | Path | None = None,
    **changes: Any,
) -> Result:
    """Recover the all-in-focus image, the defocus map and the layers of a capture.

    ``changes`` are settings by name, such as ``preset="preview"`` or ``layers=8``; they replace
    those of ``settings``. ``progress`` is a bar, nothing (False), or a function that is called
    with each event. ``crop`` is (top, left, height, width) in the calibrated field.
    ``checkpoint`` is a file that keeps the state: the same call after an interruption goes on
    from it. It is removed at the end.
    """
    from napari_dpdeblur.fitting.checkpoint import Checkpoint
    from napari_dpdeblur.results.fit_record import record_of

    settings = (settings or FitSettings()).changed(**changes)
    kept = None if checkpoint is None else Checkpoint(Path(checkpoint), resume=True)
    found = _run(capture, calibration, settings, progress, crop=crop, checkpoint=kept)
    if kept is not None:
        kept.remove()
    return _result(record_of(found), capture, calibration)


def load_result(folder: str | Path) -> Result:
    """Read a run folder that `Result.save`, the command line or napari wrote."""
    return _result(read_run(Path(folder)))


def _run(
    capture: DualPixelCapture,
    calibration: Calibration,
    settings: FitSettings,
    progress: bool | Callable[[FitEvent], None],
    **options: Any,
) -> FitResult:
    from napari_dpdeblur.fitting.run import run_fit
    from napari_dpdeblur.progress_bar import fit_with_bar

    if callable(progress):
        return run_fit(capture, calibration, settings, on_event=progress, **options)
    return fit_with_bar(capture, calibration, settings, is_quiet=not progress, **options)


def _result(
    record: RunRecord,
    capture: DualPixelCapture | None = None,
    calibration: Calibration | None = None,
) -> Result:
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    return Result(**values, capture=capture, calibration=calibration)


def _show_in_cell(result: Result) -> None:
    try:
        from IPython.display import display
    except ImportError:
        raise ResultError(
            "A picture below a cell needs a notebook; call show(window=True) to open napari, or "
            "save(folder) to write the result."
        ) from None
    display(result)
