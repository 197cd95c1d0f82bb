"""Does confidence mean what it says? Expected calibration error of the defocus map.

    python benchmarks/reliability.py DATA [--preset standard] [--scenes 001 005] [--check] [--save]

DATA is a folder of scenes in the published layout; three synthetic scenes and a capture of pure
noise come on top. A pixel is right if its defocus is within 0.05 of the truth. Published maps have
a unit of their own, so the map is first brought to it by the affine fit of AIWE(1), and the error
is measured in the unit of the truth, whose full scale is 1. The expected calibration error is the
mean distance between confidence and share of right pixels in ten bins, weighted by their pixels.
Pooled figures give each scene the same weight.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.capture import DualPixelCapture, open_capture
from napari_dpdeblur.datasets.synthetic.scene import render_capture, synthetic_scene
from napari_dpdeblur.datasets.synthetic.simulation import (
    Simulation,
    simulate,
    synthetic_calibration,
)
from napari_dpdeblur.evaluation import defocus_path
from napari_dpdeblur.evaluation.ground_truth import load_defocus
from napari_dpdeblur.evaluation.metrics import AIWE_FLOOR, AIWE_ROUNDS, affine_fit
from napari_dpdeblur.fitting import FitSettings, fit
from napari_dpdeblur.fitting.report.confidence import RIGHT_WITHIN
from quality import find_scenes
from results_file import add_save_option, save_figures

BINS = 10
SIZE = (504, 672)
MAX_ERROR, MAX_NOISE = 0.1, 0.05
NOISE = 0.02  # of white


@dataclass(frozen=True)
class Reliability:
    """Confidence and whether it is right, of the pixels whose truth is known: (n,) each."""

    confidence: np.ndarray
    is_right: np.ndarray

    def bins(self) -> list[tuple[float, float, float]]:
        """Share of the pixels, mean confidence and share of right pixels of each bin."""
        number = np.minimum((self.confidence * BINS).astype(int), BINS - 1)
        found = []
        for chosen in (number == n for n in range(BINS)):
            some = bool(chosen.any())
            confidence = float(self.confidence[chosen].mean()) if some else 0.0
            right = float(self.is_right[chosen].mean()) if some else 0.0
            found.append((float(chosen.mean()), confidence, right))
        return found

    def error(self) -> float:
        """Expected calibration error."""
        return expected_error(self.bins())


def expected_error(bins: Sequence[tuple[float, float, float]]) -> float:
    """Mean distance between confidence and share of right pixels, weighted by pixels."""
    return sum(share * abs(confidence - right) for share, confidence, right in bins)


def pooled(scenes: Sequence[Reliability]) -> list[tuple[float, float, float]]:
    """The bins of several scenes together, each scene with the same weight."""
    parts = np.array([scene.bins() for scene in scenes])
    shares = parts[..., 0]
    total = np.maximum(shares.sum(0), 1e-12)
    means = (shares[..., None] * parts[..., 1:]).sum(0) / total[:, None]
    return [(float(s), float(c), float(r)) for s, (c, r) in zip(shares.mean(0), means, strict=True)]


def published(data: Path, scene: str, preset: str) -> Reliability:
    """Fit a published scene, in the unit of whose truth errors are measured."""
    calibration = load_calibration(data / "calibration")
    capture = open_capture(data / f"{scene}_left.png")
    result = fit(capture, calibration, FitSettings(preset=preset), progress=False)
    truth = load_defocus(defocus_path(data, scene))
    known = truth.confidence > 0
    target = truth.defocus[known].astype(np.float64)
    found = aligned(result.defocus_map[known].astype(np.float64), target)
    return Reliability(result.confidence[known], np.abs(found - target) < RIGHT_WITHIN)


def aligned(values: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The affine fit of values (n,) to a target (n,) with the least absolute error, as AIWE(1)."""
    weight, fitted = np.ones_like(target), values
    for _ in range(AIWE_ROUNDS):
        fitted = affine_fit(values, target, weight)
        weight = 1 / np.maximum(AIWE_FLOOR, np.abs(fitted - target))
    return fitted


def synthetic(scene: Simulation, preset: str) -> Reliability:
    """Fit a synthetic scene, whose truth has the unit of the map."""
    result = fit(scene.capture, scene.calibration, FitSettings(preset=preset), progress=False)
    error = np.abs(result.defocus_map - scene.scene.defocus_map)
    return Reliability(result.confidence.ravel(), (error < RIGHT_WITHIN).ravel())


def colour_scene() -> Simulation:
    """A scene in three channels with square pixels."""
    scene = synthetic_scene(*SIZE, seed=7, channels=3)
    lens = synthetic_calibration(*SIZE)
    capture = render_capture(scene, lens.kernel_grid(), lens.vignetting, seed=7)
    return Simulation(scene, capture, lens)


SYNTHETIC: dict[str, Callable[[], Simulation]] = {
    "synthetic behind": lambda: simulate(*SIZE, seed=0),
    "synthetic both": lambda: simulate(*SIZE, seed=0, both_sides=True),
    "synthetic colour": colour_scene,
}


def noise_confidence(capture: DualPixelCapture, lens: Calibration, preset: str) -> float:
    """Mean confidence of a fit to white noise in place of both views."""
    random = np.random.default_rng(0)
    middle = (capture.black + capture.white) / 2
    noise = random.normal(middle, NOISE * capture.white, capture.raw.shape)
    views = np.clip(noise, 0, capture.white).astype(capture.raw.dtype)
    result = fit(replace(capture, raw=views), lens, FitSettings(preset=preset), progress=False)
    return float(result.confidence.mean())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 when --check finds a missed limit, 2 without a scene."""
    options = _parse(arguments)
    names = options.scenes or find_scenes(options.data)
    if not names:
        print(f"No NNN_left.png in {options.data}.", file=sys.stderr)
        return 2
    print(f"{'scene':18}  error  confidence  right")
    scenes = {name: _told(name, published(options.data, name, options.preset)) for name in names}
    for name, make in SYNTHETIC.items():
        scenes[name] = _told(name, synthetic(make(), options.preset))
    bins = pooled(list(scenes.values()))
    one = SYNTHETIC["synthetic behind"]()
    noise = {
        "published": noise_confidence(
            open_capture(options.data / f"{names[0]}_left.png"),
            load_calibration(options.data / "calibration"),
            options.preset,
        ),
        "synthetic": noise_confidence(one.capture, one.calibration, options.preset),
    }
    groups = {"published": [scenes[name] for name in names]}
    groups["synthetic"] = [scenes[name] for name in SYNTHETIC]
    errors = {"pooled": expected_error(bins)}
    errors |= {group: expected_error(pooled(members)) for group, members in groups.items()}
    for group, error in errors.items():
        print(f"{group:18}  {error:.3f}")
    print("noise", *(f"{name} {value:.4f}" for name, value in noise.items()))
    if options.save:
        _save(options.preset, scenes, bins, errors, noise)
    missed = [f"{k}: {v:.3f}, at most {MAX_ERROR}" for k, v in errors.items() if v > MAX_ERROR]
    missed += [f"noise, {k}: {v:.3f}" for k, v in noise.items() if v > MAX_NOISE]
    print(*missed, sep="\n", end="\n" if missed else "")
    return 1 if missed and options.check else 0


def _told(name: str, found: Reliability) -> Reliability:
    means = f"{found.confidence.mean():10.3f}  {found.is_right.mean():.3f}"
    print(f"{name:18}  {found.error():.3f}  {means}", flush=True)
    return found


def _save(
    preset: str,
    scenes: dict[str, Reliability],
    bins: list[tuple[float, float, float]],
    errors: dict[str, float],
    noise: dict[str, float],
) -> None:
    columns = zip(*bins, strict=True)
    named = dict(zip(("share", "confidence", "right"), map(list, columns), strict=True))
    of_scenes = {name: scene.error() for name, scene in scenes.items()}
    save_figures(
        "reliability" if preset == "standard" else f"reliability_{preset}",
        {"errors": errors, "scenes": of_scenes, "noise": noise, "bins": named},
    )


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("data", type=Path, help="folder in the published layout")
    parser.add_argument("--preset", default="standard", help="preset of the fit")
    parser.add_argument("--scenes", nargs="+", help="scene names, such as 001; default: all")
    parser.add_argument("--check", action="store_true", help="fail when a limit is missed")
    add_save_option(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
