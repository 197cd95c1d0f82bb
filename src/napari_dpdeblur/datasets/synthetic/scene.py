"""Synthetic captures: a layered scene with known ground truth, seen through a dual-pixel lens.

Used for samples, tests and the demo. Deterministic for a seed, any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import tifffile

from napari_dpdeblur.capture.dual_pixel import DualPixelCapture, Source
from napari_dpdeblur.capture.pgm import write_pgm_pair
from napari_dpdeblur.capture.pixel import APP_BLACK, APP_WHITE, SENSOR_WHITE, app_values
from napari_dpdeblur.datasets.synthetic.lens import (
    default_tiles,
    synthetic_kernels,
    synthetic_vignetting,
)
from napari_dpdeblur.datasets.synthetic.objects import layered, scene_objects
from napari_dpdeblur.datasets.synthetic.placements import around_a_subject, still_life
from napari_dpdeblur.datasets.synthetic.shapes import Grid
from napari_dpdeblur.errors import CaptureError
from napari_dpdeblur.files import atomic_file
from napari_dpdeblur.optics.mpi import transmittance

if TYPE_CHECKING:
    from napari_dpdeblur.optics import KernelGrid, MultiplaneImage

__all__ = [
    "Noise",
    "SyntheticScene",
    "default_tiles",
    "exposed_capture",
    "render_capture",
    "synthetic_kernels",
    "synthetic_scene",
    "synthetic_vignetting",
    "two_sided_scene",
    "write_synthetic",
]

BACK_SCALE, FRONT_SCALE = 1.4, 0.1
LAYERS = 14
# On both sides: one layer each 0.1, from the wall to the nearest object; the subject's is at 0.
TWO_SIDED_STEPS, TWO_SIDED_STEP = np.arange(10, -9, -1), 0.1
MIN_SIDE_PX = 16
DEFOCUS_DESCRIPTION = (
    "Defocus scale in multiples of the calibrated blur: 0 in focus, positive behind the focus "
    "plane, negative in front of it"
)
SHARP_DESCRIPTION = "All-in-focus image, linear, in capture units"
VIEW_DESCRIPTION = "View of a dual-pixel capture, linear, black is 0, white is 1"


@dataclass(frozen=True, eq=False)
class SyntheticScene:
    """A layered scene: sharp colours and the defocus of each layer.

    ``color`` (L, C, H, W) and ``alpha`` (L, 1, H, W) are layers from back to front,
    ``defocus_scales`` (L,) their blur, negative in front of the focus plane. Values are linear, in
    capture units. ``painted_map`` (H, W) is the true map if it was painted; None: that of the
    layers.
    """

    color: np.ndarray
    alpha: np.ndarray
    defocus_scales: np.ndarray
    painted_map: np.ndarray | None = None

    @property
    def layers(self) -> MultiplaneImage:
        """The scene as a multiplane image of torch tensors that share memory."""
        import torch

        from napari_dpdeblur.optics import MultiplaneImage

        tensors = (torch.from_numpy(a) for a in (self.color, self.alpha, self.defocus_scales))
        return MultiplaneImage(*tensors)

    @property
    def all_in_focus(self) -> np.ndarray:
        """The sharp image (C, H, W), float32."""
        return np.asarray((self._transmittance * self.color).sum(0))

    @property
    def defocus_map(self) -> np.ndarray:
        """Signed defocus scale of each pixel (H, W), float32."""
        if self.painted_map is not None:
            return self.painted_map
        weights = self._transmittance[:, 0]
        if self.defocus_scales.min() < 0:
            weights = _of_one_surface(weights)
        return np.asarray((weights * self.defocus_scales[:, None, None]).sum(0))

    @property
    def _transmittance(self) -> np.ndarray:
        """Weight of each layer in each pixel (Eq. 1): (L, 1, H, W)."""
        return np.asarray(transmittance(self.alpha))


def _of_one_surface(weights: np.ndarray) -> np.ndarray:
    """Weights (L, H, W) of the most visible layer and its neighbours only, with sum 1.

    At the outline of an object in front, a mean over all layers would be in focus.
    """
    layer = np.arange(len(weights))[:, None, None]
    kept = np.where(np.abs(layer - weights.argmax(0)) <= 1, weights, np.float32(0))
    return np.asarray(kept / kept.sum(0))


@dataclass(frozen=True)
class Noise:
    """Sensor noise: electrons that fill a pixel at capture value 1, and read noise in electrons.

    ``is_normal`` draws photons from a normal distribution, several times faster than from Poisson's
    and the same above some ten electrons.
    """

    full_well_electrons: float = 6000.0
    read_electrons: float = 3.0
    is_normal: bool = False


def synthetic_scene(
    height: int,
    width: int,
    seed: int = 0,
    channels: int = 1,
    layers: int = LAYERS,
    scales: tuple[float, float] = (BACK_SCALE, FRONT_SCALE),
) -> SyntheticScene:
    """A still life on a tiled floor: slanted planes, overlapping objects, textures, flat areas.

    ``scales`` are the defocus scales of the farthest and the nearest of the ``layers``.
    """
    check_size(height, width, channels, layers)
    grid, generator = Grid.of(height, width), np.random.default_rng(seed)
    objects = scene_objects(grid, still_life(grid, generator), generator)
    back, front = scales
    depths = np.linspace(back, front, layers, dtype=np.float32)
    return SyntheticScene(*layered(objects, grid, channels, layers), depths)


def two_sided_scene(height: int, width: int, seed: int = 0, channels: int = 1) -> SyntheticScene:
    """A subject in focus, with blurred objects behind it and in front of it on the same floor.

    Defocus scales run from 1 at the wall through 0 at the subject to -0.8 at the nearest object.
    """
    check_size(height, width, channels)
    grid, generator = Grid.of(height, width), np.random.default_rng(seed)
    scales = (TWO_SIDED_STEPS * TWO_SIDED_STEP).astype(np.float32)
    focus_nearness = float(np.argmin(np.abs(scales))) / (len(scales) - 1)
    places = around_a_subject(grid, focus_nearness, generator)
    objects = scene_objects(grid, places, generator)
    return SyntheticScene(*layered(objects, grid, channels, len(scales)), scales)


def check_size(height: int, width: int, channels: int = 1, layers: int = LAYERS) -> None:
    """Raise CaptureError for a scene that cannot be made."""
    if min(height, width) < MIN_SIDE_PX or channels not in (1, 3) or layers < 2:
        raise CaptureError(
            f"A synthetic scene needs at least {MIN_SIDE_PX} x {MIN_SIDE_PX} px, 1 or 3 channels "
            f"and 2 layers, not {height} x {width} px, {channels} channels and {layers} layers."
        )


def render_capture(
    scene: SyntheticScene,
    kernels: KernelGrid | None = None,
    vignetting: np.ndarray | None = None,
    noise: Noise | None = Noise(),  # noqa: B008 (frozen)
    seed: int = 0,
    pixel_aspect: int = 1,
    name: str = "synthetic",
) -> DualPixelCapture:
    """Render both views (Eq. 2) with vignetting and noise, stored as by the capture app.

    ``kernels`` at scale 1 (default: :func:`synthetic_kernels` on a grid that fits the size),
    ``vignetting`` (2, H, W) multiplies the views, ``noise=None`` leaves only the 10-bit
    quantisation, ``pixel_aspect=2`` averages pairs of rows as the sensor does.
    """
    views = _blurred_views(scene, kernels or _default_kernels(scene))
    return exposed_capture(views, vignetting, noise, seed, pixel_aspect, name)


def exposed_capture(
    views: np.ndarray,
    vignetting: np.ndarray | None = None,
    noise: Noise | None = Noise(),  # noqa: B008 (frozen)
    seed: int = 0,
    pixel_aspect: int = 1,
    name: str = "synthetic",
) -> DualPixelCapture:
    """Simulate the sensor for blurred views (2, C, H, W); see :func:`render_capture`."""
    if vignetting is not None:
        if vignetting.shape != (2, *views.shape[-2:]):
            raise CaptureError(
                f"The vignetting has shape {vignetting.shape}; the scene needs "
                f"{(2, *views.shape[-2:])}."
            )
        views = views * vignetting[:, None]
    raw = _sensor_values(_binned_rows(views, pixel_aspect), noise, np.random.default_rng(seed))
    source = Source("synthetic", (), ())
    return DualPixelCapture(
        raw, APP_BLACK, APP_WHITE, name, source, pixel_aspect=float(pixel_aspect)
    )


def _default_kernels(scene: SyntheticScene) -> KernelGrid:
    from napari_dpdeblur.optics import KernelGrid

    rows, cols = default_tiles(*scene.alpha.shape[-2:])
    return KernelGrid.from_array(synthetic_kernels(rows, cols), rows, cols)


def _blurred_views(scene: SyntheticScene, grid: KernelGrid) -> np.ndarray:
    """Both views through the lens, without noise: (2, C, H, W)."""
    import torch

    from napari_dpdeblur.optics import TiledBlur, TileLayout

    height, width = scene.alpha.shape[-2:]
    scaled = [grid.scaled(float(scale)) for scale in scene.defocus_scales]
    layout = TileLayout.regular(height, width, grid.rows, grid.cols)
    with torch.no_grad():
        return np.asarray(scene.layers.render(TiledBlur(scaled, layout)).numpy())


def _binned_rows(views: np.ndarray, factor: int) -> np.ndarray:
    """Mean of every ``factor`` rows: (2, C, H, W) to (2, C, H / factor, W)."""
    views_count, channels, height, width = views.shape
    if factor < 1 or height % factor:
        raise CaptureError(
            f"The {height} rows of the scene are not divisible by the pixel aspect of {factor}."
        )
    split = views.reshape(views_count, channels, height // factor, factor, width)
    return np.asarray(split.mean(axis=3))


def _sensor_values(
    views: np.ndarray, noise: Noise | None, generator: np.random.Generator
) -> np.ndarray:
    """Photon and read noise, 10-bit quantisation, and the app's scale to 16 bits: uint16."""
    signal = np.maximum(views, 0.0)
    if noise is not None and noise.is_normal:
        variance = signal / noise.full_well_electrons
        variance += (noise.read_electrons / noise.full_well_electrons) ** 2
        signal = signal + np.sqrt(variance) * generator.standard_normal(signal.shape, np.float32)
    elif noise is not None:
        electrons = generator.poisson(signal * noise.full_well_electrons)
        read = generator.normal(0.0, noise.read_electrons, signal.shape)
        signal = (electrons + read) / noise.full_well_electrons
    return app_values(signal * SENSOR_WHITE)


def write_synthetic(
    folder: Path,
    scene: SyntheticScene,
    capture: DualPixelCapture,
    vignetting: np.ndarray | None = None,
) -> list[Path]:
    """Write a capture and the ground truth, float32 TIFF; returns the files.

    ``<name>_left.pgm``, ``<name>_right.pgm``, ``<name>_all_in_focus.tif``, ``<name>_defocus.tif``.
    A capture in colour is a pair of linear float32 TIFF, ``<name>_left.tif`` and so on. The image
    has the ``vignetting`` of the left view, as a fit leaves it there. The defocus map is signed,
    and its description says so.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        truth = _write_truth(folder, capture.name, scene, vignetting)
        if capture.shape[1] == 3:
            return [*_write_tiff_pair(folder, capture), *truth]
        left, right = capture.raw[:, 0]
        return [
            *write_pgm_pair(folder, capture.name, left, right, capture.pixel_aspect),
            *truth,
        ]
    except OSError as error:
        raise CaptureError(f"{folder} cannot be written: {error.strerror or error}.") from error


def _write_tiff_pair(folder: Path, capture: DualPixelCapture) -> Sequence[Path]:
    paths = [folder / f"{capture.name}_{side}.tif" for side in ("left", "right")]
    for path, view in zip(paths, capture.views, strict=True):
        _write_tiff(path, view, VIEW_DESCRIPTION)
    return paths


def _write_truth(
    folder: Path, name: str, scene: SyntheticScene, vignetting: np.ndarray | None
) -> Sequence[Path]:
    sharp, defocus = folder / f"{name}_all_in_focus.tif", folder / f"{name}_defocus.tif"
    light = np.float32(1) if vignetting is None else vignetting[0]
    _write_tiff(sharp, scene.all_in_focus * light, SHARP_DESCRIPTION)
    _write_tiff(defocus, scene.defocus_map[None], DEFOCUS_DESCRIPTION)
    return sharp, defocus


def _write_tiff(path: Path, image: np.ndarray, description: str) -> None:
    """Write an image (C, H, W), with the channels last if there are three."""
    pixels = image[0] if len(image) == 1 else image.transpose(1, 2, 0)
    kind = "minisblack" if len(image) == 1 else "rgb"
    with atomic_file(path) as beside:
        tifffile.imwrite(
            beside,
            np.ascontiguousarray(pixels, np.float32),
            photometric=kind,
            compression="zlib",
            compressionargs={"level": 1},
            description=description,
            metadata=None,
        )
