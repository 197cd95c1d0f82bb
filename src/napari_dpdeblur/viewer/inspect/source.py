"""The multiplane images in a viewer, with what is needed to inspect them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.errors import CalibrationError
from napari_dpdeblur.optics.mpi import MultiplaneImage, transmittance
from napari_dpdeblur.results.defocus_colors import ColorScale, color_scale
from napari_dpdeblur.results.preview import white_point
from napari_dpdeblur.results.refocus.aperture import Aperture, calibrated_aperture
from napari_dpdeblur.results.result import VERDICT, stored_constants, stored_lens_model
from napari_dpdeblur.viewer.layers.metadata import MPI, LayerInfo, layer_info
from napari_dpdeblur.viewer.layers.placement import Placement, placement
from napari_dpdeblur.viewer.layers.queries import calibrations, described_layers
from napari_dpdeblur.viewer.layers.units import DefocusUnit, blur_width_px

_hashes: WeakKeyDictionary[Calibration, str] = WeakKeyDictionary()
SAMPLING = 4  # every fourth pixel is enough to find the white point and the colours


@dataclass(frozen=True, eq=False)
class MpiSource:
    """A multiplane image in a viewer; ``calibration`` is None when none is open."""

    layer: Any
    info: LayerInfo
    stack: MultiplaneImage
    calibration: Calibration | None
    white: float
    colors: ColorScale  # of its defocus map

    @property
    def group(self) -> str:
        """The name of the capture."""
        return self.info.group

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.stack.color.shape[-2], self.stack.color.shape[-1]

    @property
    def layers(self) -> int:
        """Number of layers."""
        return len(self.stack.defocus_scales)

    @property
    def crop(self) -> tuple[int, ...] | None:
        """Where the layers lie in the calibrated field; None when they cover it."""
        crop = self.info.provenance.get("crop")
        return tuple(int(value) for value in crop) if crop else None

    def calibrated_aperture(self) -> Aperture:
        """The kernels of the fit, used as in the fit; CalibrationError if they do not match."""
        if self.calibration is None:
            raise CalibrationError(
                f"The calibration of {self.group} is not open; open it or use a round aperture."
            )
        lens = stored_lens_model(self.info.provenance)
        return calibrated_aperture(self.calibration, self.shape, self.crop, lens)

    def placed(self) -> Placement:
        """The place of an image of this source."""
        return placement(self.layer.scale[-2:], self.layer.translate[-2:])

    def pixel_at(self, position: tuple[float, ...]) -> tuple[int, int] | None:
        """Row and column under a world position; None outside of the picture."""
        if len(position) < 2:
            return None
        scale, translate = self.layer.scale[-2:], self.layer.translate[-2:]
        row, col = np.round((np.asarray(position[-2:]) - translate) / scale).astype(int)
        height, width = self.shape
        return (int(row), int(col)) if 0 <= row < height and 0 <= col < width else None

    def weights_at(self, row: int, col: int) -> np.ndarray:
        """Contribution of each layer to a pixel: transmittances (L,), sum 1."""
        weights: np.ndarray = transmittance(self.stack.alpha[:, 0, row, col])
        return weights

    def defocus_at(self, row: int, col: int) -> float:
        """The defocus scale of a pixel: the mean over the layers, weighted by contribution."""
        own = self.stack.defocus
        scales = self.stack.defocus_scales if own is None else own[:, 0, row, col]
        return float((self.weights_at(row, col) * scales).sum())

    @property
    def focus_layer(self) -> float | None:
        """Number of the layer in the focus plane, with a fraction; None if all are on one side."""
        scales = np.asarray(self.stack.defocus_scales, float)
        if not scales.min() <= 0 <= scales.max():
            return None
        return float(np.interp(0.0, scales[::-1], np.arange(len(scales))[::-1]))

    @property
    def lens_constants(self) -> tuple[float, float] | None:
        """A and B of d = A + B / Z, of the calibration or as stored with the run."""
        if self.calibration is not None and self.calibration.lens_constants is not None:
            return self.calibration.lens_constants
        return stored_constants(self.info.provenance)

    @property
    def verdict(self) -> dict[str, Any]:
        """The verdict on the fit; empty if unknown."""
        found = self.info.provenance.get(VERDICT)
        return found if isinstance(found, dict) else {}

    def unit(self, name: str) -> DefocusUnit:
        """How to read the defocus of this image in a unit."""
        width = None if self.calibration is None else blur_width_px(self.calibration)
        return DefocusUnit(name, width, self.lens_constants)


def mpi_layers(viewer: Any) -> dict[str, Any]:
    """Layers of multiplane images by name, in the order of the layer list."""
    return {
        layer.name: layer
        for layer, info in described_layers(viewer)
        if info.kind == MPI and info.mpi is not None
    }


def mpi_source(viewer: Any, layer: Any) -> MpiSource:
    """Everything about one of these layers."""
    info = layer_info(layer)
    if info is None or info.mpi is None:
        raise ValueError(f"{layer.name} is not a multiplane image")
    part = np.s_[..., ::SAMPLING, ::SAMPLING]
    scales = info.mpi.defocus_scales
    own = None if info.mpi.defocus is None else info.mpi.defocus[part]
    sampled = MultiplaneImage(info.mpi.color[part], info.mpi.alpha[part], scales, own)
    white = white_point(sampled.all_in_focus())
    colors = color_scale(sampled.defocus_map(), (float(np.min(scales)), float(np.max(scales))))
    return MpiSource(layer, info, info.mpi, calibration_of(viewer, info), white, colors)


def calibration_of(viewer: Any, info: LayerInfo) -> Calibration | None:
    """The calibration that a fit was made with: its own, or an open one of the same content."""
    if info.calibration is not None:
        return info.calibration
    wanted = info.provenance.get("calibration")
    wanted = wanted.get("sha256") if isinstance(wanted, dict) else None
    known = calibrations(viewer).values()
    return next((c for c in known if _content_hash(c) == wanted), None) if wanted else None


def _content_hash(calibration: Calibration) -> str:
    if calibration not in _hashes:
        _hashes[calibration] = calibration.content_hash()
    return _hashes[calibration]
