"""Quality of fits with a lens estimated from ordinary captures, compared with a measured lens.

    python benchmarks/estimated_lens.py DATA [--from one|others] [--preset standard] [--scenes 001]
    python benchmarks/estimated_lens.py --synthetic [--check]

DATA contains the published Pixel 4 scenes with `calibration/` and the two folders of ground truth.
For each scene a lens is estimated through the command line from its whole frame, or from those of
the other scenes, without anything measured. The scene is fitted with it and with the published
calibration, and both are scored on the calibrated field. Time and memory are those of the estimate.

`--synthetic` estimates the lens of a simulated capture of 1008 x 1344 px and compares it with the
exact one.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import tifffile
import torch

from measured import run_measured
from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.evaluation import defocus_path, evaluate_run, sharp_path
from napari_dpdeblur.evaluation.metrics import image_scores
from napari_dpdeblur.optics import KernelGrid
from napari_dpdeblur.results import read_run
from quality import find_scenes
from results_file import add_save_option, save_figures

SYNTHETIC_SIZE, SYNTHETIC_SEED, KERNEL_PX = "1344x1008", "3", 81
HEADINGS = ("PSNR", "SSIM", "AIWE(1)", "measured:", "SSIM", "AIWE(1)", "lens s", "lens GB")

# What the fit may lose with a lens from the one capture, and from the other scenes: mean PSNR in
# dB, mean SSIM, factor of the mean AIWE(1), largest loss of a scene in dB.
LIMITS = {"one": (0.35, 0.007, 1.4, 1.1), "others": (0.3, 0.006, 1.2, 1.1)}
TIME_S, MEMORY_GB = 30.0, 1.5  # of the estimate from one capture
KERNEL_ERROR, SYNTHETIC_LOSS_DB = 0.2, 0.4


@dataclass(frozen=True)
class LensScore:
    """Scores with the estimated and with the measured lens; cost of the estimate."""

    psnr_db: float
    ssim: float
    aiwe1: float
    measured_psnr_db: float
    measured_ssim: float
    measured_aiwe1: float
    time_s: float
    memory_gb: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 when --check finds a missed limit."""
    options = _parse(arguments)
    with tempfile.TemporaryDirectory(prefix="dpdeblur-lens-") as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        missed = _synthetic(options, folder) if options.synthetic else _scenes(options, folder)
    if options.check:
        print("\n".join(missed) or "All limits are met.")
    return 1 if options.check and missed else 0


def _scenes(options: argparse.Namespace, folder: Path) -> list[str]:
    names = find_scenes(options.data)
    print("scene " + "".join(f"{heading:>10}" for heading in HEADINGS))
    scores = {}
    for scene in options.scenes or names:
        sources = [scene] if options.source == "one" else [one for one in names if one != scene]
        scores[scene] = score_scene(options, scene, sources, folder)
        print(_row(scene, scores[scene]), flush=True)
    summary = mean_score(list(scores.values()))
    print(_row("mean", summary))
    if options.save:
        rows = {scene: asdict(found) for scene, found in scores.items()}
        name = f"estimated_lens_{options.source}_{options.preset}"
        save_figures(name, {**asdict(summary), "scenes": rows})
    return missed_limits(options.source, scores, summary)


def score_scene(
    options: argparse.Namespace, scene: str, sources: Sequence[str], folder: Path
) -> LensScore:
    """Estimate a lens from ``sources`` and fit a scene with it and with the measured one."""
    lens = folder / f"{scene}.dpcal"
    views = [str(options.data / f"{name}_left.png") for name in sources]
    cost = run_measured(["calibrate", "estimate", *views, "--output", str(lens), "--overwrite"])
    measured = load_calibration(options.data / "calibration").field
    field = f"{measured.top},{measured.left},{measured.height},{measured.width}"
    found = _fitted(options, scene, folder / f"{scene}_estimated", lens, ["--crop", field])
    true = _measured(options, scene, folder)
    return LensScore(*found, *true, *cost)


def _measured(options: argparse.Namespace, scene: str, folder: Path) -> tuple[float, float, float]:
    """Figures of the fit with the measured lens, which no estimate changes."""
    if options.measured is None:
        measured = options.data / "calibration"
        return _fitted(options, scene, folder / f"{scene}_measured", measured, [])
    former = json.loads(options.measured.read_text("utf-8"))["figures"]["scenes"][scene]
    return former["measured_psnr_db"], former["measured_ssim"], former["measured_aiwe1"]


def _fitted(
    options: argparse.Namespace, scene: str, run: Path, lens: Path, extra: Sequence[str]
) -> tuple[float, float, float]:
    """PSNR, SSIM and AIWE(1) of a scene."""
    command = ["fit", str(options.data / f"{scene}_left.png"), "--calibration", str(lens)]
    command += ["--output", str(run), "--overwrite", "--preset", options.preset, *extra]
    run_measured(command)
    report = evaluate_run(run, sharp_path(options.data, scene), defocus_path(options.data, scene))
    return report["image"]["psnr_db"], report["image"]["ssim"], report["defocus"]["aiwe1"]


def mean_score(scores: Sequence[LensScore]) -> LensScore:
    """Mean of every column but time and memory, whose maximum counts."""
    rows = [asdict(found) for found in scores]
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    largest = {name: max(row[name] for row in rows) for name in ("time_s", "memory_gb")}
    return LensScore(**means | largest)


def missed_limits(source: str, scores: dict[str, LensScore], summary: LensScore) -> list[str]:
    """A message for each limit that is missed."""
    loss_db, loss_ssim, factor, worst_db = LIMITS[source]
    worst = max(one.measured_psnr_db - one.psnr_db for one in scores.values())
    checks = [
        ("mean loss of PSNR in dB", summary.measured_psnr_db - summary.psnr_db, loss_db),
        ("mean loss of SSIM", summary.measured_ssim - summary.ssim, loss_ssim),
        ("AIWE(1) relative to the measured lens", summary.aiwe1 / summary.measured_aiwe1, factor),
        ("largest loss of PSNR in dB", worst, worst_db),
        ("memory in GB", summary.memory_gb, MEMORY_GB),
    ]
    return [f"{name} is {v:.4g}, required: at most {limit}" for name, v, limit in checks
            if not v <= limit]  # fmt: skip


def _synthetic(options: argparse.Namespace, folder: Path) -> list[str]:
    """Figures of the synthetic lens, and messages for the limits that it misses."""
    size = ["--size", SYNTHETIC_SIZE, "--seed", SYNTHETIC_SEED]
    run_measured(["simulate", "--output", str(folder / "scene"), *size])
    left, exact = (folder / "scene" / f"synthetic{end}" for end in ("_left.pgm", ".dpcal"))
    truth = tifffile.imread(folder / "scene" / "synthetic_all_in_focus.tif")
    lens = folder / "lens.dpcal"
    tiles = load_calibration(exact)  # the same tiles, so that kernels can be compared
    grid = ["--grid", f"{tiles.cols}x{tiles.rows}"]
    views = [str(left), "--output", str(lens), "--overwrite", *grid]
    time_s, memory_gb = run_measured(["calibrate", "estimate", *views])
    psnr = {}
    for name, calibration in (("exact", exact), ("estimated", lens)):
        command = ["fit", str(left), "--calibration", str(calibration), "--preset", options.preset]
        run_measured([*command, "--output", str(folder / name), "--overwrite"])
        image = read_run(folder / name).all_in_focus
        psnr[name] = image_scores(image, truth).psnr_db
    error = kernel_error(load_calibration(lens), load_calibration(exact))
    loss_db = psnr["exact"] - psnr["estimated"]
    figures = {"kernel_error": error, "loss_db": loss_db, "time_s": time_s, "memory_gb": memory_gb}
    print("\n".join(f"{name:<14}{value:.3f}" for name, value in figures.items()))
    if options.save:
        save_figures("estimated_lens_synthetic", figures)
    limits = (KERNEL_ERROR, SYNTHETIC_LOSS_DB, TIME_S, MEMORY_GB)
    return [f"{name} is {v:.4g}, required: at most {limit}"
            for (name, v), limit in zip(figures.items(), limits, strict=True)
            if not v <= limit]  # fmt: skip


def kernel_error(found: Calibration, true: Calibration) -> float:
    """Relative L2 distance of centred kernels that are scaled to the same disparity."""
    a, b = found.kernel_grid(), true.kernel_grid()
    ratio = float(b.disparity_px().mean() / a.disparity_px().mean())
    near, exact = _placed(a.scaled(ratio)), _placed(b)
    return float((near - exact).norm() / exact.norm())


def _placed(grid: KernelGrid) -> torch.Tensor:
    kernels = grid.centred().kernels
    rows, cols = ((KERNEL_PX - side) // 2 for side in kernels.shape[-2:])
    return torch.nn.functional.pad(kernels, (cols, cols, rows, rows))


def _row(name: str, found: LensScore) -> str:
    return f"{name:<6}" + "".join(f"{value:10.4f}" for value in asdict(found).values())


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fits with an estimated lens.")
    parser.add_argument("data", type=Path, nargs="?", help="folder in the published layout")
    parser.add_argument("--synthetic", action="store_true", help="a simulated capture instead")
    parser.add_argument(
        "--from", dest="source", choices=tuple(LIMITS), default="one", help="captures to use"
    )
    parser.add_argument("--preset", default="standard", help="preset of the fit")
    parser.add_argument("--scenes", nargs="+", help="scene names, such as 001; default: all")
    parser.add_argument("--keep", type=Path, help="keep lenses and run folders in this folder")
    parser.add_argument("--check", action="store_true", help="fail when a limit is missed")
    parser.add_argument(
        "--measured",
        type=Path,
        help="result file of this benchmark with fits with the measured lens of the same state; "
        "default: fit again",
    )
    add_save_option(parser)
    options = parser.parse_args(arguments)
    if options.data is None and not options.synthetic:
        parser.error("DATA or --synthetic is required")
    return options


if __name__ == "__main__":
    sys.exit(main())
