"""Result: the outcome of a fit, used by the solver, run folders, the API and the viewer."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from napari_dpdeblur.array_types import FloatArray, Picture
from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results.preview import preview_picture, write_preview
from napari_dpdeblur.screen import in_notebook, no_window_reason

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture

PLACEMENT = "placement"  # in the provenance: position of a result in its frame, if not as fitted


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The multiplane image of a capture and the images derived from it, as NumPy arrays.

    C is 1 or 3 channels, L layers run back to front. Images are linear, in the unit of the
    capture; defocus is in multiples of the calibrated blur. ``captured`` is the mean of the
    corrected views; it is shown in the preview. ``captured``, ``capture`` and ``calibration`` are
    not read back from a run folder. Notebooks display a result as an image.
    """

    mpi: MultiplaneImage  # color (L, C, H, W), alpha (L, 1, H, W), defocus_scales (L,)
    all_in_focus: FloatArray  # (C, H, W)
    defocus_map: FloatArray  # (H, W)
    confidence: FloatArray  # (H, W), 0 to 1
    provenance: dict[str, Any] = field(default_factory=dict)
    captured: FloatArray | None = None  # (C, H, W)
    capture: DualPixelCapture | None = None
    calibration: Calibration | None = None
    run_folder: Path | None = None

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
                    f"The arrays of this result do not match: {name} has shape {found}, expected "
                    f"{shape}; use files of the same run."
                )

    @property
    def mpi_color(self) -> FloatArray:
        """Colour of the layers: (L, C, H, W)."""
        return np.asarray(self.mpi.color)

    @property
    def mpi_alpha(self) -> FloatArray:
        """Opacity of the layers: (L, 1, H, W)."""
        return np.asarray(self.mpi.alpha)

    @property
    def defocus_scales(self) -> FloatArray:
        """Defocus scale of each layer: (L,)."""
        return np.asarray(self.mpi.defocus_scales)

    @property
    def name(self) -> str:
        """Name of the capture."""
        capture = self.provenance.get("capture")
        name = capture.get("name") if isinstance(capture, Mapping) else None
        return str(name or "result")

    @property
    def loss_history(self) -> list[dict[str, Any]]:
        """Terms of the objective for each step, if the preset records them."""
        return list(self.provenance.get("loss_history", []))

    def picture(self) -> Picture:
        """Capture, all-in-focus image and defocus map side by side: uint8 (h, w, 3)."""
        return preview_picture(self.all_in_focus, self.defocus_map, self.captured)

    def show(self, window: bool | None = None) -> Any:
        """Show the preview in a notebook, or all layers in napari elsewhere.

        ``window=True`` opens napari from a notebook, too. Returns the napari viewer; in a script,
        after its window has been closed.
        """
        if window is None:
            window = not in_notebook()
        if not window:
            return _show_in_cell(self)
        reason = no_window_reason()
        if reason is not None:
            raise ResultError(
                f"The result cannot be shown in napari ({reason}); call save(folder) and open "
                "preview.png, or use the pixels of picture()."
            )
        from napari_dpdeblur.viewer.window import show_result

        return show_result(self)

    def save(self, folder: str | Path, overwrite: bool = False) -> Path:
        """Write a run folder atomically; `load_result` and napari can open it."""
        from napari_dpdeblur.results.run_folder import write_run

        return write_run(self, Path(folder), overwrite)

    def __repr__(self) -> str:
        channels, height, width = self.all_in_focus.shape
        nearest, farthest = float(min(self.defocus_scales)), float(max(self.defocus_scales))
        return (
            f"<Result: {height} x {width} px, {channels} channel{'s' * (channels > 1)}, "
            f"{len(self.defocus_scales)} layers, defocus {nearest:.2f} to {farthest:.2f}>"
        )

    def _repr_png_(self) -> bytes:
        """PNG for notebooks."""
        file = io.BytesIO()
        write_preview(file, self.picture())
        return file.getvalue()


def _show_in_cell(result: Result) -> None:
    try:
        from IPython.display import display
    except ImportError:
        raise ResultError(
            "The preview can only be shown in a notebook; call show(window=True) to open napari or "
            "save(folder) to write the result."
        ) from None
    display(result)
