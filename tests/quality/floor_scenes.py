"""The scenes whose results must not get worse, and the scores of a result."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from napari_dpdeblur.array_types import Crop
from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.capture import DualPixelCapture, open_capture
from napari_dpdeblur.datasets.synthetic.scene import (
    SyntheticScene,
    render_capture,
    synthetic_scene,
    two_sided_scene,
)
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.evaluation.ground_truth import DefocusTruth
from napari_dpdeblur.evaluation.metrics import BORDER_PX, defocus_scores, image_scores
from napari_dpdeblur.evaluation.scoring import Truth
from napari_dpdeblur.fitting import FitSettings, fit
from napari_dpdeblur.fitting.problem import pose_problem, reduce_images
from napari_dpdeblur.optics import MultiplaneImage, TiledBlur
from napari_dpdeblur.results import Result

FLOORS_FILE = Path(__file__).with_name("floors.json")
PSNR_TOLERANCE_DB = 0.05
TOLERANCE = 0.02  # of every other score
NEAR_FOCUS = 0.15  # |defocus| up to here counts as in focus
TILE_PX = 168  # of the published calibration
CROPS: dict[str, Crop] = {
    "005": (2 * TILE_PX, 3 * TILE_PX, 2 * TILE_PX, 3 * TILE_PX),
    "010": (2 * TILE_PX, 2 * TILE_PX, 2 * TILE_PX, 3 * TILE_PX),
}


@dataclass(frozen=True)
class KnownScene:
    """A capture with its calibration, the part to fit, and the truth of that part."""

    capture: DualPixelCapture
    calibration: Calibration
    sharp: np.ndarray
    defocus: DefocusTruth
    crop: Crop | None = None


def grey_scene() -> KnownScene:
    """As the phone app captures it: one channel, pixels twice as high as wide, vignetting."""
    return _synthetic(synthetic_scene(192, 256, seed=0, scales=(0.8, 0.05)), pixel_aspect=2)


def colour_scene() -> KnownScene:
    """Another drawing in three channels, with square pixels and less blur."""
    scene = synthetic_scene(160, 208, seed=7, channels=3, scales=(0.6, 0.05))
    return _synthetic(scene, pixel_aspect=1)


def two_sided() -> KnownScene:
    """A subject in focus with objects behind and in front of it, as the phone app captures it."""
    scene = two_sided_scene(192, 256, seed=8)
    less_blurred = replace(scene, defocus_scales=np.float32(0.7) * scene.defocus_scales)
    return _synthetic(less_blurred, pixel_aspect=2)


def _synthetic(scene: SyntheticScene, pixel_aspect: int) -> KnownScene:
    """Render a scene through kernels that the fit is then given exactly."""
    lens = synthetic_calibration(*scene.defocus_map.shape, rows=3, cols=4)
    capture = render_capture(
        scene, lens.kernel_grid(), lens.vignetting, seed=1, pixel_aspect=pixel_aspect
    )
    truth = DefocusTruth(scene.defocus_map, np.ones_like(scene.defocus_map))
    # A fit makes the right view as bright as the left one, whose vignetting stays in the image.
    return KnownScene(capture, lens, scene.all_in_focus * lens.vignetting[0], truth)


SYNTHETIC: dict[str, Callable[[], KnownScene]] = {
    "grey": grey_scene,
    "colour": colour_scene,
    "two-sided": two_sided,
}
SYNTHETIC_CASES = (
    ("grey", "standard"),
    ("grey", "preview"),
    ("colour", "standard"),
    ("two-sided", "standard"),
    ("two-sided", "preview"),
)
REAL_CASES = (("005", "standard"), ("010", "standard"))


def real_scene(data: Path, name: str) -> KnownScene:
    """A crop of a published Pixel 4 scene, along the borders of calibration tiles."""
    top, left, height, width = CROPS[name]
    folder = data / "pixel4"
    window = (slice(top, top + height), slice(left, left + width))
    truth = Truth.read(folder, name, window)
    if isinstance(truth.sharp, str) or isinstance(truth.defocus, str):
        raise FileNotFoundError(f"{folder} has no ground truth of scene {name}")
    capture = open_capture(folder / f"{name}_left.png")
    calibration = load_calibration(folder / "calibration")
    return KnownScene(capture, calibration, truth.sharp, truth.defocus, CROPS[name])


def scores_of(scene: KnownScene, preset: str) -> dict[str, float]:
    """Fit and score; every number but the PSNR is an error, 0 where all is right."""
    settings = FitSettings(preset=preset, device="cpu", threads=1)
    result = fit(scene.capture, scene.calibration, settings, crop=scene.crop, progress=False)
    image = image_scores(result.all_in_focus, scene.sharp)
    truth = scene.defocus
    found = defocus_scores(result.defocus_map, truth.defocus, truth.confidence)
    scores = {
        "psnr_db": image.psnr_db,
        "one_minus_ssim": 1 - image.ssim,
        "image_mae": image.mae,
        "defocus_aiwe1": found.aiwe1,
        "defocus_one_minus_spearman": found.one_minus_spearman,
        "rerendering_residual": rerendering_residual(scene, settings, result),
    }
    if scene.crop is None:  # the published maps have no unit
        error = np.abs(result.defocus_map - truth.defocus)
        scores["defocus_mae"] = float(error.mean())
        if truth.defocus.min() < 0:
            scores["defocus_mae_in_front"] = float(error[truth.defocus < -NEAR_FOCUS].mean())
            scores["defocus_mae_near_focus"] = float(
                error[np.abs(truth.defocus) <= NEAR_FOCUS].mean()
            )
    return scores


def worse(scores: dict[str, float], floors: dict[str, float]) -> list[str]:
    """A sentence for each score that is worse than its stored value by more than the tolerance."""
    found = []
    for name, floor in floors.items():
        if name == "psnr_db":
            is_good = scores[name] >= floor - PSNR_TOLERANCE_DB
        else:
            is_good = scores[name] <= floor * (1 + TOLERANCE)
        if not is_good:
            found.append(f"{name} is {scores[name]:.5f}, it was {floor:.5f}")
    return found


def rerendering_residual(scene: KnownScene, settings: FitSettings, result: Result) -> float:
    """Rms difference between the corrected views and the layers seen through the lens, / mean."""
    problem = pose_problem(
        scene.capture, scene.calibration, settings, torch.device("cpu"), scene.crop
    )
    mpi = result.mpi
    color, alpha = (
        reduce_images(torch.as_tensor(part), *problem.pixel_pitch)
        for part in (mpi.color * mpi.alpha, mpi.alpha)
    )
    scales = torch.as_tensor(mpi.defocus_scales)
    layers = MultiplaneImage(color / alpha.clamp_min(1e-6), alpha, scales)
    kernels = [problem.kernels_at(float(scale)) for scale in scales]
    views = layers.render(TiledBlur(kernels, problem.layout))
    missed = (views - problem.views / problem.intensity_scale)[
        ..., BORDER_PX:-BORDER_PX, BORDER_PX:-BORDER_PX
    ]
    mean = 0.5 / problem.intensity_scale
    return math.sqrt(float(missed.square().mean())) / mean
