"""Lens estimated from captures of a Canon EOS R6 Mark II: depth and deblurring with it.

    python benchmarks/canon.py DATA [--lens nine|one|CAL] [--preset preview] [--check] [--save]

DATA contains the published scenes, one folder each: `box_001` to `orbbec_003` with `l.png`, `r.png`
and `depth_mm.png`, `flat_0600_f4` to `flat_1500_f20`. The lens is estimated from all scenes with
depth, or from `box_003` alone, through the command line, without depth but with the optics that the
authors state. Each scene is fitted with it; its map is compared with 1 - 1 m / depth, which is the
defocus scale in units of the blur of a very distant point. `matching` are the same scores for
disparities by Wadhwa et al. (2018). Boards out of focus are deblurred and compared with themselves
at f/20. Depths below 0.3 m, which this lens cannot focus at, are taken as unknown.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import cv2
import numpy as np

from measured import run_measured
from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.capture import DualPixelCapture, open_capture
from napari_dpdeblur.datasets.canon_r6 import (
    CAMERA,
    F_NUMBER,
    FOCAL_LENGTH_MM,
    FOCUS_DISTANCE_M,
    SENSOR_WIDTH_MM,
    read_depth_m,
)
from napari_dpdeblur.evaluation.baselines.wadhwa import wadhwa
from napari_dpdeblur.evaluation.metrics import aiwe1, image_scores
from napari_dpdeblur.results import read_run
from results_file import add_save_option, save_figures

SCENES = tuple(f"{kind}_00{n}" for kind in ("box", "iphone", "orbbec") for n in (1, 2, 3))
BOARDS = {"0600": 3.5, "1500": 1.5}  # millimetres, and how many dB deblurring must gain
ONE = "box_003"
NEAREST_M, FARTHEST_M = 0.3, 10.0  # depths that count; a map is cut off at the farthest
IN_FOCUS_M = 0.15  # from the focus plane: the sign is not judged
BRIGHTNESS_PX = 60  # sigma of the brightness that a board takes over from its picture at f/20

# For the means of the scenes; and for every scene: better than matching.
AT_LEAST = {"spearman": 0.88, "right_signs": 0.96}
AT_MOST = {"aiwe1": 0.08}
BOX_ERROR_M = 0.12


@dataclass(frozen=True)
class DepthScore:
    """Rank correlation with 1 / depth, AIWE(1), share of right signs, error in metres."""

    spearman: float
    aiwe1: float
    right_signs: float
    error_m: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one row per scene, the means and the boards; 1 when --check finds a missed limit."""
    options = _parse(arguments)
    with tempfile.TemporaryDirectory(prefix="dpdeblur-canon-") as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        lens, figures = find_lens(options, folder)
        scores, matched = {}, {}
        print(f"{'scene':<12}{'rho':>8}{'AIWE(1)':>9}{'signs':>8}{'m':>8}   matching: rho  AIWE(1)")
        for scene in options.scenes:
            run = fitted(options, scene, lens, folder)
            scores[scene] = depth_score(read_run(run).defocus_map, options.data / scene)
            matched[scene] = matching_score(options.data / scene, load_calibration(lens))
            print(_row(scene, scores[scene], matched[scene]), flush=True)
        boards = {z: board_gain(options, z, lens, folder) for z in BOARDS}
    for z, gain in boards.items():
        print(f"board at {int(z) / 1000:g} m: {gain:+.2f} dB")
    summary = {**summarise(scores), **{f"board_{z}_db": gain for z, gain in boards.items()}}
    print("\n".join(f"{name:<18}{value:.4f}" for name, value in (figures | summary).items()))
    if options.save:
        rows = {scene: asdict(found) for scene, found in scores.items()}
        others = {scene: asdict(found) for scene, found in matched.items()}
        content = {**figures, **summary, "scenes": rows, "matching": others}
        save_figures(f"canon_{Path(options.lens).stem}_{options.preset}", content)
    missed = missed_limits(summary, scores, matched)
    if options.check:
        print("\n".join(missed) or "All limits are met.")
    return 1 if options.check and missed else 0


def find_lens(options: argparse.Namespace, folder: Path) -> tuple[Path, dict[str, float]]:
    """The calibration file, and time and memory of its estimate."""
    if options.lens not in ("nine", "one"):
        return Path(options.lens), {}
    path = folder / f"{options.lens}.dpcal"
    sources = SCENES if options.lens == "nine" else (ONE,)
    command = ["calibrate", "estimate", *(str(options.data / scene) for scene in sources)]
    command += ["--focal-length-mm", f"{FOCAL_LENGTH_MM:g}", "--f-number", f"{F_NUMBER:g}"]
    command += ["--focus-distance-m", f"{FOCUS_DISTANCE_M:g}"]
    command += ["--sensor-width-mm", f"{SENSOR_WIDTH_MM:g}"]
    command += ["--camera", CAMERA] if options.named else []
    time_s, memory_gb = run_measured([*command, "--output", str(path), "--overwrite"])
    return path, {"lens_s": time_s, "lens_gb": memory_gb}


def fitted(options: argparse.Namespace, scene: str, lens: Path, folder: Path) -> Path:
    """Run folder of a scene."""
    run = folder / scene
    command = ["fit", str(options.data / scene), "--calibration", str(lens), "--output", str(run)]
    run_measured([*command, "--preset", options.preset, "--overwrite"])
    return run


def depth_score(defocus: np.ndarray, scene: Path) -> DepthScore:
    """Score a signed map (H, W) of a lens whose scale 1 is that of a very distant point."""
    depth, known = _depth(scene)
    found, z = defocus[known].astype(float), depth[known].astype(float)
    truth = 1 - FOCUS_DISTANCE_M / z
    metres = FOCUS_DISTANCE_M / np.maximum(1 - found, FOCUS_DISTANCE_M / FARTHEST_M)
    away = np.abs(z - FOCUS_DISTANCE_M) > IN_FOCUS_M
    return DepthScore(
        spearman=_spearman(found, truth),
        aiwe1=aiwe1(found, truth, np.ones_like(truth)),
        right_signs=float((np.sign(found) == np.sign(truth))[away].mean()),
        error_m=float(np.abs(metres - z).mean()),
    )


def matching_score(scene: Path, lens: Calibration) -> DepthScore:
    """Scores of matched disparities, in the direction of the lens; metres mean nothing there."""
    disparity = wadhwa(_open(scene), lens).defocus_map
    assert disparity is not None
    return replace(depth_score(disparity, scene), error_m=float("nan"))


def board_gain(options: argparse.Namespace, z: str, lens: Path, folder: Path) -> float:
    """How many dB a deblurred board comes closer to its picture at f/20 than the capture is."""
    run = fitted(options, f"flat_{z}_f4", lens, folder)
    blurred = _open(options.data / f"flat_{z}_f4").views.mean(0)
    sharp = _open(options.data / f"flat_{z}_f20").views.mean(0)
    target = np.stack([_with_brightness(b, a) for a, b in zip(blurred, sharp, strict=True)])
    deblurred = image_scores(read_run(run).all_in_focus, target).psnr_db
    return deblurred - image_scores(blurred, target).psnr_db


def summarise(scores: dict[str, DepthScore]) -> dict[str, float]:
    """Means over the scenes; errors in metres apart for boxes and casual scenes."""
    rows = list(scores.values())
    means = {
        name: float(np.mean([getattr(row, name) for row in rows]))
        for name in ("spearman", "aiwe1", "right_signs")
    }
    boxes = [row.error_m for scene, row in scores.items() if scene.startswith("box")]
    casual = [row.error_m for scene, row in scores.items() if not scene.startswith("box")]
    parts = {"box_error_m": boxes, "casual_error_m": casual}
    return means | {name: float(np.mean(part)) for name, part in parts.items() if part}


def missed_limits(
    summary: dict[str, float], scores: dict[str, DepthScore], matched: dict[str, DepthScore]
) -> list[str]:
    """A message for each limit that is missed."""
    low = AT_LEAST | {f"board_{z}_db": gain for z, gain in BOARDS.items()}
    high = AT_MOST | {"box_error_m": BOX_ERROR_M}
    missed = [f"{k} is {summary[k]:.4g}, required: at least {v}" for k, v in low.items()
              if not summary[k] >= v]  # fmt: skip
    missed += [f"{k} is {summary[k]:.4g}, required: at most {v}" for k, v in high.items()
               if not summary.get(k, 0.0) <= v]  # fmt: skip
    for scene, found in scores.items():
        other = matched[scene]
        if not (found.spearman > other.spearman and found.aiwe1 < other.aiwe1):
            missed.append(f"{scene}: not better than matching")
    return missed


def _open(scene: Path) -> DualPixelCapture:
    return open_capture(scene / "l.png", scene / "r.png")


def _depth(scene: Path) -> tuple[np.ndarray, np.ndarray]:
    depth = read_depth_m(scene / "depth_mm.png")
    return depth, np.nan_to_num(depth) >= NEAREST_M


def _spearman(found: np.ndarray, truth: np.ndarray) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(found, truth).statistic)


def _with_brightness(image: np.ndarray, like: np.ndarray) -> np.ndarray:
    """An image with the slow changes of brightness of another: exposure and vignetting differ."""
    slow, other = (cv2.GaussianBlur(one, (0, 0), BRIGHTNESS_PX) for one in (image, like))
    return np.asarray(image * other / slow)


def _row(name: str, found: DepthScore, matched: DepthScore) -> str:
    cells = f"{found.spearman:8.3f}{found.aiwe1:9.3f}{found.right_signs:8.3f}{found.error_m:8.3f}"
    return f"{name:<12}{cells}{matched.spearman:16.3f}{matched.aiwe1:9.3f}"


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Estimated lens of a Canon camera.")
    parser.add_argument("data", type=Path, help="folder of the scenes")
    parser.add_argument("--lens", default="nine", help="nine, one, or a calibration file")
    parser.add_argument("--named", action="store_true", help="tell the name of the camera")
    parser.add_argument("--preset", default="standard", help="preset of the fit")
    parser.add_argument("--scenes", nargs="+", default=SCENES, help="scenes to score; default: all")
    parser.add_argument("--keep", type=Path, help="keep lens and run folders in this folder")
    parser.add_argument("--check", action="store_true", help="fail when a limit is missed")
    add_save_option(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
