"""Calibration against known kernels: kernel error, disparity, vignetting, a fit, time, memory.

    python benchmarks/calibration.py kernels [--seed 0] [--data DIR] [--json] [--save]
    python benchmarks/calibration.py both-sides [--seed 0] [--data DIR] [--json] [--save]
    python benchmarks/calibration.py end-to-end [--data DIR] [--json] [--save]
    python benchmarks/calibration.py noise [--data DIR] [--json] [--save]
    python benchmarks/calibration.py run [--threads 2] [--data DIR] [--json] [--save]

`--data` is the folder that contains `pixel4/calibration` and `app_capture` (default:
DPDEBLUR_TEST_DATA). Captures are rendered through the published kernels with the noise of a real
capture of the app, which `noise` measures. `run` calls the command line on full-size captures. The
exit status is 1 when a limit is missed. For poses see calibration_poses.py.

Kernel errors are relative L2 errors after each pair is centred on its common centroid, as in a fit:
a shift common to both views only moves the sharp image, and the homography absorbs part of it, so
no capture of a target can determine it. `registered`: after the best common shift instead;
`as_stored`: without either.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from scipy.optimize import minimize

from measured import gigabytes
from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.calibration.captures import Captures, TargetSet
from napari_dpdeblur.calibration.run import calibrate
from napari_dpdeblur.calibration.sides import centroids_px, disparity_px, turned
from napari_dpdeblur.calibration.target.pattern import TARGET_FILE, Target, pitch_for_screen
from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.capture.pixel import SENSOR_WHITE
from napari_dpdeblur.datasets.synthetic.calibration_captures import (
    REAL_GAIN_DN,
    REAL_READ_VARIANCE_DN,
    Exposure,
    simulate_shoot,
    write_shoot,
)
from napari_dpdeblur.datasets.synthetic.screen_pose import Pose
from results_file import add_save_option, save_figures

SCREEN_PX = (1920, 1080)
TYPICAL = Pose(rotation_deg=4, tilt_deg=(5, -4), offset_px=(20, -10), distortion=-0.02)
CASES = {"six shots": (6, True), "one shot": (1, True), "noise-free": (1, False)}
LIMITS = {"six shots": 0.07, "one shot": 0.12, "noise-free": 0.03}
DISPARITY_LIMIT_PX, RATIO_LIMIT = 0.1, 0.005
RUN_LIMIT_S, RUN_LIMIT_GB = 60.0, 2.0
PSNR_LIMIT_DB, AIWE_LIMIT = 0.1, 0.003


def target() -> Target:
    """The calibration target for a common screen at the default distance."""
    return Target.for_screen(*SCREEN_PX, pitch_for_screen(*SCREEN_PX, 27, 45))


def shifted(kernels: np.ndarray, x: float, y: float) -> np.ndarray:
    """Kernels (..., K, K) shifted by a fraction of a pixel."""
    size = kernels.shape[-1]
    phase = np.fft.fftfreq(size)[:, None] * y + np.fft.rfftfreq(size) * x
    spectrum = np.fft.rfft2(kernels) * np.exp(-2j * np.pi * phase)
    return np.asarray(np.fft.irfft2(spectrum, s=(size, size)))


def relative_error(found: np.ndarray, truth: np.ndarray) -> float:
    """Mean over views of |found - truth| / |truth| for kernels (2, K, K)."""
    difference = np.sqrt(((found - truth) ** 2).sum((-2, -1)))
    return float((difference / np.sqrt((truth**2).sum((-2, -1)))).mean())


def registered_error(found: np.ndarray, truth: np.ndarray) -> float:
    """The error after the best common shift of both views."""
    start = (centroids_px(truth) - centroids_px(found)).mean(axis=0)
    best = minimize(
        lambda shift: relative_error(shifted(found, *shift), truth),
        start,
        method="Nelder-Mead",
        options={"xatol": 0.005, "fatol": 1e-5},
    )
    return float(best.fun)


def centred(kernels: np.ndarray) -> np.ndarray:
    """Kernels (2, K, K) shifted together so that their mean centroid is central."""
    x, y = centroids_px(kernels).mean(axis=0)
    return shifted(kernels, -x, -y)


def compare(found: Calibration, truth: Calibration) -> dict[str, float]:
    """Errors of kernels, disparity and vignetting ratio (in the calibrated field)."""
    pairs = [
        (a.astype(float), b.astype(float))
        for a, b in zip(found.kernels, truth.kernels, strict=True)
    ]
    errors = [relative_error(centred(a), centred(b)) for a, b in pairs]
    disparity = disparity_px(found.kernels) - disparity_px(truth.kernels)
    window = truth.field.window
    ratio = found.vignetting_ratio[window] / truth.vignetting_ratio[window] - 1
    return {
        "kernel_error": round(float(np.mean(errors)), 4),
        "kernel_error_worst_tile": round(max(errors), 4),
        "kernel_error_registered": round(float(np.mean([registered_error(*p) for p in pairs])), 4),
        "kernel_error_as_stored": round(float(np.mean([relative_error(*p) for p in pairs])), 4),
        "disparity_error_worst_tile_px": round(float(np.abs(disparity).max()), 4),
        "disparity_error_rms_px": round(float(np.sqrt((disparity**2).mean())), 4),
        "vignetting_ratio_error": round(float(np.abs(ratio).max()), 5),
    }


def recover(
    lens: Calibration, burst: int, noisy: bool, blend_px: int = 0, seed: int = 0
) -> Calibration:
    """Simulate captures of the target through ``lens`` and calibrate from them."""
    exposure = Exposure() if noisy else Exposure.noise_free()
    shoot = simulate_shoot(
        target(), lens, TYPICAL, exposure, burst=burst, sheets=6, blend_px=blend_px, seed=seed
    )
    captures = Captures(shoot.discs, [shoot.white], [shoot.black], shoot.sheets)
    return calibrate(captures, target())


def kernel_figures(lens: Calibration, blend_px: int, seed: int) -> dict[str, Any]:
    """Errors for all cases."""
    figures: dict[str, Any] = {}
    for name, (burst, noisy) in CASES.items():
        start = time.process_time()
        found = recover(lens, burst, noisy, blend_px, seed)
        seconds = time.process_time() - start
        figures[name] = compare(found, lens) | {
            "grade": (found.verdict or {})["grade"],
            "cpu_s_with_simulation": round(seconds, 1),
        }
        figures[name]["ok"] = (
            figures[name]["kernel_error"] <= LIMITS[name]
            and figures[name]["disparity_error_worst_tile_px"] <= DISPARITY_LIMIT_PX
            and figures[name]["vignetting_ratio_error"] <= RATIO_LIMIT
        )
    figures["ok"] = all(figures[name]["ok"] for name in CASES)
    return figures


def both_sides_figures(lens: Calibration, seed: int) -> dict[str, Any]:
    """Errors behind and in front of the focus plane, from six shots on each side.

    In front, the target is rendered with the published kernels turned by 180 degrees.
    """
    shoots = [
        simulate_shoot(target(), lens, TYPICAL, scale=scale, sheets=6, seed=seed + side)
        for side, scale in enumerate((1.0, -1.0))
    ]
    sets = [TargetSet(shoot.discs, [shoot.white], [shoot.black]) for shoot in shoots]
    found = calibrate(Captures(**vars(sets[0]), sheets=shoots[0].sheets, front=sets[1]), target())
    in_front = dataclasses.replace(lens, kernels=turned(lens.kernels))
    front = found.front_side()
    assert front is not None
    figures: dict[str, Any] = {"behind": compare(found, lens), "in_front": compare(front, in_front)}
    limit = LIMITS["six shots"]
    figures["ok"] = all(side["kernel_error"] <= limit for side in figures.values())
    return figures | {"front_scale": round(found.front_scale, 4)}


def scene_scores(lens: Calibration, found: Calibration, seed: int = 0) -> dict[str, list[float]]:
    """PSNR and AIWE(1) of one synthetic scene, fitted with the true and the recovered kernels.

    The scene is rendered with the true kernels, each pair centred as in the fit, with the noise of
    a real capture and without vignetting.
    """
    from napari_dpdeblur.datasets.synthetic.scene import Noise, render_capture, synthetic_scene
    from napari_dpdeblur.evaluation.metrics import defocus_scores, image_scores
    from napari_dpdeblur.fitting import fit

    scene = synthetic_scene(lens.field.height, lens.field.width, seed)
    grid = lens.kernel_grid().centred()
    capture = render_capture(scene, grid, noise=Noise(1795.0, 3.3), seed=seed)
    scores: dict[str, list[float]] = {}
    for name, calibration in (("true", lens), ("found", found)):
        result = fit(capture, dataclasses.replace(calibration, vignetting=None))
        image = image_scores(result.all_in_focus, scene.all_in_focus)
        defocus = defocus_scores(
            result.defocus_map, scene.defocus_map, np.ones_like(scene.defocus_map)
        )
        scores[name] = [round(image.psnr_db, 3), round(defocus.aiwe1, 5)]
    return scores


def end_to_end_figures(lens: Calibration) -> dict[str, Any]:
    """Loss of a fit with recovered kernels (six shots) against one with the true kernels."""
    scores = scene_scores(lens, recover(lens, 6, True))
    psnr_loss = scores["true"][0] - scores["found"][0]
    aiwe_loss = scores["found"][1] - scores["true"][1]
    return {
        "psnr_db_and_aiwe1": scores,
        "psnr_loss_db": round(psnr_loss, 3),
        "aiwe1_loss": round(aiwe_loss, 5),
        "ok": psnr_loss <= PSNR_LIMIT_DB and aiwe_loss <= AIWE_LIMIT,
    }


def noise_figures(data: Path) -> dict[str, Any]:
    """Noise variance of a real capture in 10-bit steps: gain times signal plus a constant.

    From fourth differences along x in the flattest 40 % of the image, by brightness. The simulation
    must not be less noisy than the capture, and at most a fifth noisier.
    """
    capture = open_capture(*sorted((data / "app_capture").glob("*.pgm")))
    figures: dict[str, Any] = {}
    for view, raw in zip(("left", "right"), capture.raw[:, 0].astype(np.float64), strict=True):
        gain, constant = noise_of((raw - capture.black) * SENSOR_WHITE / capture.white)
        figures[view] = {"gain_dn": round(gain, 3), "read_variance_dn": round(constant, 2)}
        level = Exposure().screen_white * SENSOR_WHITE
        real = np.sqrt(gain * level + constant) / level
        simulated = np.sqrt(REAL_GAIN_DN * level + REAL_READ_VARIANCE_DN) / level
        figures[view] |= {"real_at_white": round(real, 4), "simulated": round(simulated, 4)}
        figures[view]["ok"] = bool(0.98 * real <= simulated <= 1.2 * real)
    figures["ok"] = figures["left"]["ok"] and figures["right"]["ok"]
    return figures


def noise_of(picture: np.ndarray) -> tuple[float, float]:
    """Slope and intercept of the noise variance of an image (H, W) over its brightness."""
    rough = cv2.filter2D(picture, -1, np.array([[1.0, -4, 6, -4, 1]]) / np.sqrt(70))
    smooth = cv2.GaussianBlur(picture, (0, 0), 3)
    slope = np.hypot(cv2.Sobel(smooth, -1, 1, 0), cv2.Sobel(smooth, -1, 0, 1))
    flat = slope < np.percentile(slope, 40)
    rows = []
    for low in range(0, 900, 25):
        level = flat & (smooth >= low) & (smooth < low + 25)
        if level.sum() > 2000:
            variance = float((1.4826 * np.median(np.abs(rough[level]))) ** 2)
            rows.append((smooth[level].mean(), variance, np.sqrt(level.sum()) / variance))
    light, variance, weight = np.array(rows).T
    design = np.column_stack([light, np.ones_like(light)]) * weight[:, None]
    (gain, constant), *_ = np.linalg.lstsq(design, variance * weight, rcond=None)
    return float(gain), float(constant)


def run_figures(lens: Calibration, threads: int) -> dict[str, Any]:
    """Time and memory of `calibrate run` on full-size captures, in a separate process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_shoot(simulate_shoot(target(), lens, TYPICAL), target(), folder)
        groups = ("discs", "white", "black", "sheets")
        given = [word for name in groups for word in (f"--{name}", str(folder / name))]
        given += ["--target", str(folder / TARGET_FILE), "-o", str(folder / "out.dpcal")]
        program = Path(sys.executable).with_name("napari-dpdeblur")
        command = [str(program), "calibrate", "run", *given]
        environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
        start = time.perf_counter()
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak_gb = gigabytes(used)
    return {
        "threads": threads,
        "wall_s": round(seconds, 1),
        "cpu_s": round(used.ru_utime + used.ru_stime, 1),
        "load_of_the_machine": round(os.getloadavg()[0], 1),
        "peak_memory_gb": round(peak_gb, 2),
        "ok": seconds <= RUN_LIMIT_S and peak_gb <= RUN_LIMIT_GB,
    }


def main() -> int:
    """Print the figures; 1 when a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("kernels", "both-sides", "end-to-end", "noise", "run"))
    parser.add_argument("--data", type=Path, default=os.environ.get("DPDEBLUR_TEST_DATA"))
    parser.add_argument("--seed", type=int, default=0, help="random seed of the noise")
    parser.add_argument("--blend", type=int, default=0, help="blending at tile borders, in px")
    parser.add_argument("--threads", type=int, default=2, help="threads of the command line")
    parser.add_argument("--json", action="store_true", help="print JSON in one line")
    add_save_option(parser)
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("give --data or set DPDEBLUR_TEST_DATA")
    data = Path(arguments.data)
    published = load_calibration(data / "pixel4")
    # Captures are rendered with these kernels, so they have no excess width here.
    lens = dataclasses.replace(published, excess_variance_px2=(0.0, 0.0))
    figures = {
        "kernels": lambda: kernel_figures(lens, arguments.blend, arguments.seed),
        "both-sides": lambda: both_sides_figures(lens, arguments.seed),
        "end-to-end": lambda: end_to_end_figures(lens),
        "noise": lambda: noise_figures(data),
        "run": lambda: run_figures(lens, arguments.threads),
    }[arguments.what]()
    print(json.dumps(figures, indent=None if arguments.json else 2))
    if arguments.save:
        save_figures(f"calibration_{arguments.what.replace('-', '_')}", figures)
    return 0 if figures["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
