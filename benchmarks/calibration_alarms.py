"""False alarms of the calibration's verdict: clean captures with random pose, dust, reflection,
shake and drift, rendered without the package's own simulator; and true ones.

    python benchmarks/calibration_alarms.py [--captures 50] [--save]

Ends with status 1 if a clean capture is graded bad, loses a shot, is said to have moved or has
kernels that are wrong by more than 8 %, or if a trouble is not named. Kernels are smooth-edged
discs of 6.5 to 9 px; about half of the captures have rows twice as high, as phones save them.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from results_file import add_save_option, save_figures

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

from independent_scenes import Scene, Trouble, kernel_error

from napari_dpdeblur.calibration.captures import Captures
from napari_dpdeblur.calibration.run import calibrate
from napari_dpdeblur.calibration.solve.settings import SolveSettings
from napari_dpdeblur.calibration.target.pattern import Target
from napari_dpdeblur.calibration.verdict import verdict_lines

MAX_ERROR = 0.08
SHOTS = (1, 6)
ROW_HEIGHTS = (1, 2)  # square pixels, and as phones read them
# What the verdict must say about each trouble.
TROUBLES: dict[str, tuple[dict[str, Any], str]] = {
    "white_brighter": ({"white_gain": 1.05}, "brighter than the white of the discs"),
    "ambient_light": ({"ambient": 0.02}, "ambient light than the black"),
    "glare": ({"glare": 0.05}, "as by glare in the lens"),
    "exchanged": ({"exchanged": True}, "left and right views of all captures are exchanged"),
    "motion_along_x": ({"motion_px": (2.3, 0.0)}, "moved during the exposure"),
    "motion_along_y": ({"motion_px": (0.0, 2.3)}, "moved during the exposure"),
    "oblique_motion": ({"motion_px": (-1.7, 1.7)}, "moved during the exposure"),
    "displaced": ({"displaced_px": (3.0, 2.0)}, "right view is displaced"),
}


def random_clean_scene(target: Target, random: np.random.Generator) -> tuple[Scene, int]:
    """A scene as in practice, and the number of its shots."""
    trouble = Trouble(
        shake_px=random.uniform(0, 1.0),
        drift=random.uniform(-0.01, 0.01),
        dust=int(random.integers(0, 30)),
        reflection=random.uniform(0, 0.05),
    )
    scene = Scene(
        target.describe(),
        zoom=random.uniform(0.95, 1.15),
        rotation_deg=random.uniform(-5, 5),
        tilt=(random.uniform(-1e-4, 1e-4), random.uniform(-1e-4, 1e-4)),
        shift_px=(random.uniform(-8, 8), random.uniform(-8, 8)),
        radius_px=random.uniform(6.5, 9.0),
        seed=int(random.integers(1 << 30)),
        trouble=trouble,
    )
    shots = int(random.choice(SHOTS))
    return replace(scene, row_height=int(random.choice(ROW_HEIGHTS))), shots


def judged(scene: Scene, target: Target, shots: int) -> tuple[str, float, str]:
    """Grade, kernel error and text of the verdict."""
    shoot = scene.shoot(shots)
    captures = Captures(shoot["discs"], shoot["white"], shoot["black"])
    found = calibrate(captures, target, SolveSettings(rows=2, cols=3, kernel_px=31))
    text = "\n".join(verdict_lines(found.verdict))
    return str(found.verdict["grade"]), kernel_error(found.kernels, scene.seen_kernels()), text


def false_alarms(target: Target, count: int) -> dict[str, Any]:
    """Clean captures that are graded bad, lose a shot, seem to have moved or are wrong."""
    grades: list[str] = []
    errors: list[float] = []
    alarms = 0
    for seed in range(count):
        scene, shots = random_clean_scene(target, np.random.default_rng(seed))
        grade, error, text = judged(scene, target, shots)
        is_named = any(words in text for words in ("left out", "moved during the exposure"))
        alarm = grade == "bad" or is_named or error > MAX_ERROR
        alarms += alarm
        grades.append(grade)
        errors.append(error)
        print(f"clean {seed}: {grade}, kernel error {error:.1%}{' ALARM' * alarm}", flush=True)
        if grade != "good" or alarm:
            print("\n".join(line for line in text.splitlines() if "good" not in line))
    return {
        "clean": count,
        "false_alarms": alarms,
        "good": grades.count("good"),
        "largest_error": round(max(errors), 4),
    }


def missed(target: Target) -> dict[str, Any]:
    """Troubles that the verdict does not name, and the error of kernels that it calls usable."""
    unnamed, largest = [], 0.0
    for name, shots, rows in product(TROUBLES, SHOTS, ROW_HEIGHTS):
        trouble, cause = TROUBLES[name]
        scene = Scene(target.describe(), row_height=rows).with_trouble(**trouble)
        grade, error, text = judged(scene, target, shots)
        case = f"{name}, {shots} shot{'s' * (shots > 1)}, row height {rows}"
        print(f"{case}: {grade}, kernel error {error:.1%}", flush=True)
        if cause not in text:
            unnamed.append(case)
        if grade != "bad":
            largest = max(largest, error)
    return {"unnamed": unnamed, "largest_error_of_usable": round(largest, 4)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--captures", type=int, default=50)
    add_save_option(parser)
    options = parser.parse_args()
    target = Target.for_screen(520, 420, 32.0)
    figures = {**false_alarms(target, options.captures), **missed(target)}
    print(figures)
    if options.save:
        save_figures("calibration_alarms", figures)
    is_wrong = figures["largest_error_of_usable"] > MAX_ERROR
    return int(bool(figures["false_alarms"] or figures["unnamed"] or is_wrong))


if __name__ == "__main__":
    sys.exit(main())
