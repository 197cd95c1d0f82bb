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
from napari_dpdeblur.optics.lens_model import LensModel
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results.preview import preview_picture, write_preview
from napari_dpdeblur.screen import in_notebook, no_window_reason

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture

# Entries of the provenance: position of a result in its frame, if not as fitted; sentences about
# the result; whether everything lies in front of the focus plane.
PLACEMENT, NOTES, LOOK_SWAPPED = "placement", "notes", "views_look_swapped"
LENS_MODEL = "lens_model"  # how the fit used the kernels of the calibration
VERDICT = "fit_verdict"  # how well the layers explain the views


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The multiplane image of a capture and the images derived from it, as NumPy arrays.

    C is 1 or 3 channels, L layers run back to front. Images are linear, in the unit of the
    capture; defocus is in multiples of the calibrated blur, positive behind the focus plane and
    negative in front of it. ``captured`` is the mean of the corrected views; it is shown in the
    preview. ``captured`` is not read back from a run folder, ``capture`` only if it came from no
    files, and ``calibration`` only from one that holds its lens. Notebooks display a result as an
    image.
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
    residual: FloatArray | None = None  # (H, W), rms of rendered minus captured, over noise
    gain: FloatArray | None = None  # (H, W), of the left view over the mean of both, minus 1
    color_filled: FloatArray | None = None  # (H, W), 1 where the photo gave no colour
    true_image: FloatArray | None = None  # (C, H, W), ground truth where it is known
    true_defocus: FloatArray | None = None  # (H, W)

    def __post_init__(self) -> None:
        channels, height, width = self.all_in_focus.shape[-3:]
        count = len(self.defocus_scales)
        expected = {
            "all_in_focus": (channels, height, width),
            "defocus_map": (height, width),
            "confidence": (height, width),
            "mpi_color": (count, channels, height, width),
            "mpi_alpha": (count, 1, height, width),
        }
        for name in ("residual", "gain", "color_filled", "true_defocus"):
            if getattr(self, name) is not None:
                expected[name] = (height, width)
        if self.true_image is not None:
            expected["true_image"] = (len(self.true_image), height, width)
        layers = {"mpi_color": self.mpi.color, "mpi_alpha": self.mpi.alpha}
        for name, shape in expected.items():
            found = (layers[name] if name in layers else getattr(self, name)).shape
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

    @property
    def notes(self) -> list[str]:
        """What the fit has to say about the result, in sentences."""
        return [str(note) for note in self.provenance.get(NOTES) or []]

    @property
    def lens_constants(self) -> tuple[float, float] | None:
        """A and B of d = A + B / Z, from the calibration or the provenance; None if unknown."""
        if self.calibration is not None and self.calibration.lens_constants is not None:
            return self.calibration.lens_constants
        return stored_constants(self.provenance)

    @property
    def lens_model(self) -> LensModel | None:
        """How the fit used the kernels of the calibration; None for older results."""
        return stored_lens_model(self.provenance)

    @property
    def distance_map(self) -> FloatArray | None:
        """Distances in metres (H, W), infinite beyond the range; None without lens constants."""
        if self.lens_constants is None:
            return None
        from napari_dpdeblur.calibration.distance import distance_m

        return distance_m(self.defocus_map, self.lens_constants).astype(np.float32)

    @property
    def views_look_swapped(self) -> bool:
        """Whether everything lies in front of the focus plane, as with left and right swapped."""
        return bool(self.provenance.get(LOOK_SWAPPED))

    @property
    def fit_verdict(self) -> dict[str, Any]:
        """How well the fit explains the views: verdict, causes and figures; empty if unknown."""
        verdict = self.provenance.get(VERDICT)
        return dict(verdict) if isinstance(verdict, Mapping) else {}

    @property
    def verdict_text(self) -> str:
        """The verdict on the fit with its causes, on one line; empty if there is none."""
        found = self.fit_verdict
        if not found.get("verdict"):
            return ""
        return " ".join([f"The fit is {found['verdict']}.", *(found.get("causes") or [])])

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


def stored_lens_model(provenance: Mapping[str, Any]) -> LensModel | None:
    """How the fit that a provenance describes used its kernels; None for older results."""
    return LensModel.described(provenance.get(LENS_MODEL))


def stored_constants(provenance: Mapping[str, Any]) -> tuple[float, float] | None:
    """The lens constants of the calibration that a provenance describes; None if it has none."""
    described = provenance.get("calibration")
    constants = described.get("lens_constants") if isinstance(described, Mapping) else None
    if not constants:
        return None
    a, b = constants
    return float(a), float(b)


def _show_in_cell(result: Result) -> None:
    try:
        from IPython.display import display
    except ImportError:
        raise ResultError(
            "The preview can only be shown in a notebook; call show(window=True) to open napari or "
            "save(folder) to write the result."
        ) from None
    display(result)
