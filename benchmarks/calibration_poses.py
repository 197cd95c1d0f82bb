"""Detection rate of the calibration target in random poses, with refusals and silent errors.

    python benchmarks/calibration_poses.py [--count 500] [--first 0] [--data DIR] [--save]

Rotation up to 30 degrees, tilts up to 15, distortion up to 5 % at the corners, defocus scale 0.3 to
1.6, up to 10 % of the discs occluded; published kernels and vignetting, noise and bit depth of a
real capture. The image is blurred at half the resolution of the camera, that of its rows; noise and
detection use the full resolution. Progress is printed to standard error; the exit status is 1 when
fewer than 99 % are right or one is silently wrong.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from napari_dpdeblur.calibration import Calibration, Field, load_calibration
from napari_dpdeblur.calibration.target.detect import Detection, detect_discs
from napari_dpdeblur.calibration.target.disc_coverage import disc_coverage
from napari_dpdeblur.calibration.target.geometry import pixel_grid
from napari_dpdeblur.calibration.target.pattern import Target, pitch_for_screen
from napari_dpdeblur.datasets.synthetic.calibration_captures import (
    SENSOR_WHITE,
    Exposure,
    blurred_frame,
)
from napari_dpdeblur.datasets.synthetic.screen_pose import Pose
from napari_dpdeblur.errors import CalibrationError
from results_file import add_save_option, save_figures

SCREEN_PX = (1920, 1080)
LIMIT = 0.99
REPORT_EVERY = 25
SCREEN_EDGE_PX = 4.0


@dataclasses.dataclass(frozen=True)
class Case:
    """A random pose with its blur and share of occluded discs."""

    seed: int
    pose: Pose
    blur: float
    hidden: float

    @classmethod
    def random(cls, seed: int) -> Case:
        """A plausible pose, uniformly distributed."""
        generator = np.random.default_rng(seed)
        pose = Pose(
            scale=generator.uniform(0.85, 1.3),
            rotation_deg=generator.uniform(-30, 30),
            tilt_deg=(generator.uniform(-15, 15), generator.uniform(-15, 15)),
            offset_px=(generator.uniform(-150, 150), generator.uniform(-150, 150)),
            distortion=generator.uniform(-0.05, 0.05),
        )
        return cls(seed, pose, generator.uniform(0.3, 1.6), generator.uniform(0.0, 0.1))

    def line(self) -> str:
        """The pose as one line of text."""
        p = self.pose
        return (
            f"seed {self.seed}: blur {self.blur:.2f}, hidden {100 * self.hidden:.0f} %, scale "
            f"{p.scale:.2f}, turn {p.rotation_deg:.0f}, tilt {p.tilt_deg[0]:.0f} "
            f"{p.tilt_deg[1]:.0f}, distortion {p.distortion:.3f}"
        )


def half_size(lens: Calibration) -> Calibration:
    """The lens on a frame of half the height and width; its kernels keep their size."""
    height, width = (side // 2 for side in lens.frame_shape)
    f = lens.field
    field = Field(f.top // 2, f.left // 2, f.height // 2, f.width // 2)
    white = np.stack(
        [cv2.resize(m, (width, height), interpolation=cv2.INTER_AREA) for m in lens.vignetting]
    )
    return dataclasses.replace(lens, frame_shape=(height, width), field=field, vignetting=white)


def picture_of(case: Case, lens: Calibration, half: Calibration, pattern: Target) -> np.ndarray:
    """A noisy image between black (0) and white screen (1): float32 (H, W) of ``lens``."""
    generator = np.random.default_rng(case.seed + 10**6)
    frame = half.frame_shape

    # One more pixel on each side, as disc_coverage expects.
    camera = 2 * pixel_grid(frame[0] + 2, frame[1] + 2, -1, -1) + 0.5
    wide = case.pose.to_screen(camera, pattern.screen_px, lens.frame_shape)
    points = wide[1:-1, 1:-1]
    x, y = points[..., 0], points[..., 1]
    width, height = pattern.screen_px
    on_screen = (x > -0.5) & (x < width - 0.5) & (y > -0.5) & (y < height - 0.5)
    hidden = generator.random(pattern.code.shape) < case.hidden
    discs = disc_coverage(pattern, lambda _: wide, frame) * on_screen
    discs *= ~hidden[pattern.nearest_disc(points)]
    exposure = Exposure()
    light = half.vignetting / half.vignetting.max() * exposure.screen_white
    seen = discs * (1 - exposure.screen_black) + exposure.screen_black * on_screen
    captured = exposed(blurred_frame(seen, half, case.blur / 2) * light, exposure, generator)
    white = light.mean(0) * cv2.GaussianBlur(on_screen.astype(np.float32), (0, 0), SCREEN_EDGE_PX)
    white = cv2.resize(white, lens.frame_shape[::-1], interpolation=cv2.INTER_LINEAR)
    picture = (captured / np.maximum(white, 0.02) - exposure.screen_black) * (white > 0.02)
    return np.asarray(picture / (1 - exposure.screen_black), np.float32)


def exposed(views: np.ndarray, exposure: Exposure, generator: np.random.Generator) -> np.ndarray:
    """Mean of both views (2, h, w) with noise and 10 bits on (h, 2 w), then on (2 h, 2 w)."""
    height, width = views.shape[1:]
    wide = [cv2.resize(v, (2 * width, height), interpolation=cv2.INTER_LINEAR) for v in views]
    signal = np.maximum(np.stack(wide), 0) * SENSOR_WHITE
    spread = np.sqrt(exposure.gain_dn * signal + exposure.read_variance_dn)
    sensor = np.round(signal + spread * generator.standard_normal(signal.shape, np.float32))
    mean = sensor.mean(axis=0) / SENSOR_WHITE
    return cv2.resize(mean, (2 * width, 2 * height), interpolation=cv2.INTER_LINEAR)


def is_right(found: Detection, pattern: Target, pose: Pose, frame: tuple[int, int]) -> bool:
    """Whether every detected disc is the one at this place in the pose."""
    looked_at = pose.to_screen(found.centres, pattern.screen_px, frame)
    true = pattern.centres_px[found.disc[:, 1], found.disc[:, 0]]
    return bool((np.hypot(*(looked_at - true).T) < 0.4 * pattern.pitch_px).all())


def verdict_of(case: Case, lens: Calibration, half: Calibration, pattern: Target) -> str:
    """`right`, `silently wrong`, or the message of the refusal."""
    picture = picture_of(case, lens, half, pattern)
    try:
        found = detect_discs(picture, pattern, f"pose {case.seed}")
    except CalibrationError as error:
        return str(error)
    return "right" if is_right(found, pattern, case.pose, lens.frame_shape) else "silently wrong"


def pose_figures(lens: Calibration, count: int, first: int = 0) -> dict[str, Any]:
    """Detect the target in all poses, with progress on standard error."""
    pattern = Target.for_screen(*SCREEN_PX, pitch_for_screen(*SCREEN_PX, 27, 45))
    half = half_size(lens)
    failures: dict[str, str] = {}
    wrong = 0
    start = time.process_time()
    for done, seed in enumerate(range(first, first + count), 1):
        case = Case.random(seed)
        verdict = verdict_of(case, lens, half, pattern)
        wrong += verdict == "silently wrong"
        if verdict != "right":
            failures[case.line()] = verdict
        if done % REPORT_EVERY == 0 or done == count:
            seconds = (time.process_time() - start) / done
            print(
                f"{done} of {count}: {done - len(failures)} right, {len(failures) - wrong} "
                f"refused, {wrong} silently wrong; {seconds:.2f} s CPU each",
                file=sys.stderr,
                flush=True,
            )
    right = count - len(failures)
    return {
        "poses": count,
        "right": right,
        "silently_wrong": wrong,
        "failures": failures,
        "cpu_s": round(time.process_time() - start, 1),
        "ok": right >= LIMIT * count and wrong == 0,
    }


def main() -> int:
    """Print the figures; 1 when a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("DPDEBLUR_TEST_DATA"))
    parser.add_argument("--count", type=int, default=500, help="number of poses")
    parser.add_argument("--first", type=int, default=0, help="seed of the first pose")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_save_option(parser)
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("give --data or set DPDEBLUR_TEST_DATA")
    lens = load_calibration(Path(arguments.data) / "pixel4")
    figures = pose_figures(lens, arguments.count, arguments.first)
    if arguments.save:
        counts = {name: value for name, value in figures.items() if name != "failures"}
        save_figures("calibration_poses", counts)
    if arguments.json:
        print(json.dumps(figures))
    else:
        print(f"{figures['right']} of {figures['poses']} right, {figures['cpu_s']} s CPU")
        print("\n".join(f"{where}\n    {why}" for where, why in figures["failures"].items()))
    return 0 if figures["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
