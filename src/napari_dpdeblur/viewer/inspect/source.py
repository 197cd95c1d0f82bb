"""The multiplane images in a viewer, with what is needed to inspect them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from napari_dpdeblur.calibration import Calibration
from napari_dpdeblur.optics.mpi import MultiplaneImage, transmittance
from napari_dpdeblur.results.preview import white_point
from napari_dpdeblur.viewer.layers.metadata import MPI, LayerInfo, layer_info
from napari_dpdeblur.viewer.layers.placement import Placement, placement
from napari_dpdeblur.viewer.layers.queries import calibrations, described_layers

_hashes: WeakKeyDictionary[Calibration, str] = WeakKeyDictionary()
SAMPLING = 4  # every fourth pixel is enough to find the white point


@dataclass(frozen=True, eq=False)
class MpiSource:
    """A multiplane image in a viewer; ``calibration`` is None when none is open."""

    layer: Any
    info: LayerInfo
    stack: MultiplaneImage
    calibration: Calibration | None
    white: float

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
        return float((self.weights_at(row, col) * self.stack.defocus_scales).sum())

    def distance_text(self, defocus: float) -> str:
        """The distance of a defocus scale, where the calibration knows the lens; else empty."""
        if self.calibration is None or self.calibration.lens_constants is None:
            return ""
        # Deferred: it brings torch, which a calibration has loaded anyway.
        from napari_dpdeblur.calibration.distance import distance_m

        metres = float(distance_m(defocus, self.calibration.lens_constants))
        return f"{metres:.3g} m" if np.isfinite(metres) else "infinitely far"


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
    return MpiSource(layer, info, info.mpi, calibration_of(viewer, info), _white(info.mpi))


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


def _white(stack: MultiplaneImage) -> float:
    part = np.s_[..., ::SAMPLING, ::SAMPLING]
    sampled = MultiplaneImage(stack.color[part], stack.alpha[part], stack.defocus_scales)
    return white_point(sampled.all_in_focus())
