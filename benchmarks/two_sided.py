"""Quality of the fit on both sides of the focus plane, on scenes rendered by independent code.

    python benchmarks/two_sided.py DATA [--seeds 0 1 2] [--folder OUT] [--check] [--save]

DATA contains the published `calibration/` and `gt_all_in_focus_im/`. The scenes are described in
`two_sided_scene.py`; seed 0 is the canonical one. Each is stored as a pair of 14-bit PNG files and
fitted through the command line; arguments after `--` are passed to the fit. `--folder` keeps views,
ground truth and run folders, and writes pictures of them.

The published kernels are wider than the real lens, which their calibration states as
`excess_variance_px2`. In a rendered scene the kernels themselves are the truth, so the calibration
used here has no excess, and no vignetting either: the views are rendered without.
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
import tifffile

from measured import run_measured
from napari_dpdeblur.calibration import Calibration, Field, load_calibration, save_calibration
from napari_dpdeblur.evaluation.baselines.prediction import Prediction
from napari_dpdeblur.evaluation.scoring import Truth, score
from napari_dpdeblur.results import read_run
from results_file import add_save_option, save_figures
from two_sided_scene import HEIGHT, WIDTH, exposed, make_scene, read_kernels, read_pictures, render

NEAR_FOCUS = 0.15  # |d| up to here counts as in focus, where the sign is not judged
SHOWN_SCALE = 1.2  # defocus at the ends of the colour map of the pictures
SHOWN_ERROR = 0.3

HEADINGS = {
    "right_signs": "signs",
    "behind": "behind",
    "in_front": "in front",
    "near_focus": "at focus",
    "psnr_db": "PSNR",
    "ssim": "SSIM",
    "mae": "MAE",
    "time_s": "s",
    "memory_gb": "peak GB",
}
# What must be reached at least, and at most, for each scene with the preset `standard`.
AT_LEAST = {"right_signs": 0.995, "psnr_db": 33.0}
AT_MOST = {"behind": 0.035, "in_front": 0.045, "near_focus": 0.06}


@dataclass(frozen=True)
class TwoSidedScore:
    """Share of right signs, mean absolute error of the defocus scale by region, image scores."""

    right_signs: float
    behind: float
    in_front: float
    near_focus: float
    psnr_db: float
    ssim: float
    mae: float
    time_s: float
    memory_gb: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one row per scene and the mean; 1 when --check finds a missed limit."""
    options = _parse(arguments)
    scores = {}
    print("scene " + "".join(f"{heading:>9}" for heading in HEADINGS.values()))
    with tempfile.TemporaryDirectory(prefix="dpdeblur-two-sided-") as scratch:
        for seed in options.seeds:
            scores[f"{seed:03d}"] = run_scene(options, seed, options.folder or Path(scratch))
            print(_row(f"{seed:03d}", scores[f"{seed:03d}"]), flush=True)
    summary = mean_score(list(scores.values()))
    print(_row("mean", summary))
    if options.save:
        rows = {name: asdict(found) for name, found in scores.items()}
        save_figures("two_sided", {**asdict(summary), "scenes": rows})
    missed = [line for name, found in scores.items() for line in missed_limits(name, found)]
    if options.check:
        print("\n".join(missed) or "All limits are met.")
    return 1 if options.check and missed else 0


def run_scene(options: argparse.Namespace, seed: int, folder: Path) -> TwoSidedScore:
    """Render a scene, fit it in a separate process, score it and show it."""
    left, sharp, defocus = write_scene(options.data, folder, seed, options.sensor_rows)
    camera = folder / "camera.dpcal"
    save_calibration(rendering_calibration(options.data, tuple(options.excess)), camera)
    run = folder / f"{seed:03d}_run"
    command = ["fit", str(left), "--calibration", str(camera), "--output", str(run), "--overwrite"]
    time_s, memory_gb = run_measured([*command, "--preset", options.preset, *options.fit_arguments])
    result = read_run(run)
    if options.folder:
        _write_pictures(folder, f"{seed:03d}", (result.all_in_focus[0], result.defocus_map))
    image = score(Prediction(all_in_focus=result.all_in_focus), Truth(sharp[None], "not scored"))
    return TwoSidedScore(
        **defocus_errors(result.defocus_map, defocus),
        **image.values,
        time_s=time_s,
        memory_gb=memory_gb,
    )


def defocus_errors(found: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Share of right signs away from the focus, and mean absolute errors by region."""
    error = np.abs(found - truth)
    away = np.abs(truth) > NEAR_FOCUS
    return {
        "right_signs": float((np.sign(found) == np.sign(truth))[away].mean()),
        "behind": float(error[truth > NEAR_FOCUS].mean()),
        "in_front": float(error[truth < -NEAR_FOCUS].mean()),
        "near_focus": float(error[~away].mean()),
    }


def missed_limits(name: str, found: TwoSidedScore) -> list[str]:
    """A message for each limit that a scene misses."""
    values = asdict(found)
    low = [(key, limit, "at least") for key, limit in AT_LEAST.items() if not values[key] >= limit]
    high = [(key, limit, "at most") for key, limit in AT_MOST.items() if not values[key] <= limit]
    return [
        f"scene {name}: {HEADINGS[key]} is {values[key]:.4g}, required: {side} {limit}"
        for key, limit, side in low + high
    ]


def mean_score(scores: Sequence[TwoSidedScore]) -> TwoSidedScore:
    """Mean of every column but the memory, whose maximum is what a machine needs."""
    rows = [asdict(found) for found in scores]
    means = {key: sum(row[key] for row in rows) / len(rows) for key in rows[0]}
    return TwoSidedScore(**means | {"memory_gb": max(row["memory_gb"] for row in rows)})


def rendering_calibration(data: Path, excess_px2: tuple[float, float] = (0, 0)) -> Calibration:
    """The published kernels as the camera that renders the scenes: the field is its frame."""
    return replace(
        load_calibration(data / "calibration"),
        field=Field(0, 0, HEIGHT, WIDTH),
        frame_shape=(HEIGHT, WIDTH),
        vignetting=None,
        excess_variance_px2=excess_px2,
    )


def write_scene(
    data: Path, folder: Path, seed: int, sensor_rows: bool = False
) -> tuple[Path, np.ndarray, np.ndarray]:
    """Render a scene into a folder; returns the left view's file, sharp image and defocus map."""
    folder.mkdir(parents=True, exist_ok=True)
    scene = make_scene(read_pictures(data), seed)
    sharp, defocus = scene.truth()
    views = exposed(render(scene, read_kernels(data)), seed, sensor_rows)
    paths = [folder / f"{seed:03d}_{view}.png" for view in ("left", "right")]
    for path, view in zip(paths, views, strict=True):
        cv2.imwrite(str(path), view)
    tifffile.imwrite(folder / f"{seed:03d}_all_in_focus.tif", sharp)
    tifffile.imwrite(folder / f"{seed:03d}_defocus.tif", defocus)
    return paths[0], sharp, defocus


def _write_pictures(folder: Path, name: str, result: tuple[np.ndarray, np.ndarray]) -> None:
    """View, sharp image and map above; error of the map, image and map found below."""
    left = (cv2.imread(str(folder / f"{name}_left.png"), cv2.IMREAD_UNCHANGED) - 1024.0) / 16383
    sharp, defocus = (
        tifffile.imread(folder / f"{name}_{kind}.tif") for kind in ("all_in_focus", "defocus")
    )
    image, found = result
    above = [_grey(left), _grey(sharp), _signed(defocus, SHOWN_SCALE)]
    below = [_signed(found - defocus, SHOWN_ERROR), _grey(image), _signed(found, SHOWN_SCALE)]
    sheet = np.vstack([np.hstack(above), np.hstack(below)])
    cv2.imwrite(str(folder / f"{name}.png"), sheet)


def _grey(image: np.ndarray) -> np.ndarray:
    shown = (255 * np.clip(image, 0, 1) ** (1 / 2.2)).astype(np.uint8)
    return cv2.cvtColor(shown, cv2.COLOR_GRAY2BGR)


def _signed(values: np.ndarray, limit: float) -> np.ndarray:
    """White at 0, red for positive, blue for negative values."""
    share = np.clip(values / limit, -1, 1)[..., None]
    fade = np.where(share > 0, (1, 1, 0), (0, 1, 1)) * np.abs(share)
    return np.asarray(255 * (1 - fade), np.uint8)


def _row(name: str, found: TwoSidedScore) -> str:
    return f"{name:<6}" + "".join(f"{value:9.4f}" for value in asdict(found).values())


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Quality on both sides of the focus plane.")
    parser.add_argument("data", type=Path, help="folder in the published layout")
    parser.add_argument("--preset", default="standard", help="preset of the fit")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], help="0: the canonical scene")
    parser.add_argument("--folder", type=Path, help="keep files, runs and pictures in this folder")
    parser.add_argument("--check", action="store_true", help="fail when a limit is missed")
    parser.add_argument(
        "--sensor-rows",
        action="store_true",
        help="half as many rows, interpolated, as the published files",
    )
    parser.add_argument(
        "--excess",
        nargs=2,
        type=float,
        default=(0.0, 0.0),
        help="excess variance (y, x) stated by the calibration, in px^2",
    )
    add_save_option(parser)
    given = list(sys.argv[1:] if arguments is None else arguments)
    split = given.index("--") if "--" in given else len(given)
    options = parser.parse_args(given[:split])
    options.fit_arguments = given[split + 1 :]
    return options


if __name__ == "__main__":
    sys.exit(main())
