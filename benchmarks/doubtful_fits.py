"""Does a fit say when not to trust it? Verdicts on wrong input, and on right input.

    python benchmarks/doubtful_fits.py DATA [--check] [--save]

DATA contains `pixel4/` in the published layout and may contain `app_capture/`. Every case is a
capture or a calibration that is wrong in one way, of a synthetic and of a published scene; the
verdict must be doubtful and name that cause. Captures that are right must not be called doubtful:
published scenes, synthetic samples, and the capture of the phone app, whose lens is estimated.
Published scenes are cropped. What the views alone show is checked with the preset `preview`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from napari_dpdeblur.array_types import Crop
from napari_dpdeblur.calibration import Calibration, load_calibration
from napari_dpdeblur.capture import CameraOptics, DualPixelCapture, open_capture
from napari_dpdeblur.datasets.synthetic.simulation import simulate
from napari_dpdeblur.fitting import FitSettings, fit
from quality import find_scenes
from results_file import add_save_option, save_figures

SIZE = (288, 384)
CROP: Crop = (336, 336, 336, 504)  # along the borders of calibration tiles
SHIFT_PX, BRIGHTER, NOISE = 6, 1.5, 0.02
CHECK = {"name": "size", "value": 9.0, "grade": "bad", "meaning": "", "remedy": "Use a tripod."}
BAD = {"grade": "bad", "checks": [CHECK]}
CAUSES = {
    "noise": "hardly anything but noise",
    "identical views": "views are identical",
    "another scene": "not show the same scene",
    "shifted by 6 px": r"lies \d+\.\d px (lower|higher)",
    "brighter": r"1\.[45]\d times as bright",
    "swapped": "seem to be swapped",
    "calibration graded bad": "calibration is graded bad",
    "kernels turned": "calibration does not fit the capture",
    "other focus": "calibration was made at a focus distance",
}


@dataclass(frozen=True)
class Case:
    """What is fitted, and the cause that must be named; None: nothing is wrong."""

    base: str
    name: str
    capture: DualPixelCapture
    calibration: Calibration | None
    crop: Crop | None = None
    preset: str = "preview"
    cause: str | None = None

    def verdict(self) -> tuple[str, list[str]]:
        """Verdict and causes of a fit; "none" if there is no verdict."""
        settings = FitSettings(preset=self.preset)
        result = fit(self.capture, self.calibration, settings, crop=self.crop, progress=False)
        found = result.fit_verdict
        return str(found.get("verdict", "none")), list(found.get("causes", []))

    def is_right(self, verdict: str, causes: Sequence[str]) -> bool:
        """Whether wrong input is doubtful for the right cause, or right input is not doubtful."""
        if self.cause is None:
            return verdict != "doubtful"
        return verdict == "doubtful" and re.search(self.cause, causes[0]) is not None


def wrong_views(
    capture: DualPixelCapture, other: DualPixelCapture
) -> Iterator[tuple[str, DualPixelCapture]]:
    """Captures with views that are wrong in one way."""
    left, right = capture.raw
    rows = round(SHIFT_PX / capture.pixel_aspect)
    brighter = (right.astype(np.float64) - capture.black) * BRIGHTER + capture.black
    random = np.random.default_rng(0)
    middle = (capture.black + capture.white) / 2
    noise = random.normal(middle, NOISE * capture.white, capture.raw.shape)
    views = {
        "noise": noise,
        "identical views": [left, left],
        "another scene": [left, other.raw[1]],
        "shifted by 6 px": [left, np.roll(right, rows, axis=-2)],
        "brighter": [left, np.minimum(brighter, capture.white)],
        "swapped": [right, left],
    }
    for name, pair in views.items():
        yield name, replace(capture, raw=np.asarray(pair).astype(capture.raw.dtype))


def wrong_cases(
    base: str,
    capture: DualPixelCapture,
    other: DualPixelCapture,
    lens: Calibration,
    crop: Crop | None,
) -> Iterator[Case]:
    """Every wrong capture and calibration."""
    for name, wrong in wrong_views(capture, other):
        yield Case(base, name, wrong, lens, crop, "preview", CAUSES[name])
    turned = np.ascontiguousarray(np.rot90(lens.kernels, 1, (-2, -1)))
    optics = CameraOptics(focus_distance_m=0.5)
    focused = replace(lens, focus_distance_m=1.5)
    yield Case(
        base, "calibration graded bad", capture, replace(lens, verdict=BAD), crop,
        cause=CAUSES["calibration graded bad"],
    )  # fmt: skip
    yield Case(
        base, "kernels turned", capture, replace(lens, kernels=turned), crop, "standard",
        CAUSES["kernels turned"],
    )  # fmt: skip
    yield Case(
        base, "other focus", replace(capture, optics=optics), focused, crop,
        cause=CAUSES["other focus"],
    )  # fmt: skip


def cases(data: Path) -> Iterator[Case]:
    """All cases, in the order of the table."""
    scene, other = (simulate(*SIZE, seed=seed) for seed in (3, 5))
    yield from wrong_cases("synthetic", scene.capture, other.capture, scene.calibration, None)
    folder = data / "pixel4"
    names = find_scenes(folder)
    lens = load_calibration(folder / "calibration")
    captures = {name: open_capture(folder / f"{name}_left.png") for name in names}
    first, second = (captures[name] for name in names[:2])
    yield from wrong_cases(names[0], first, second, lens, CROP)
    for name, capture in captures.items():
        yield Case(name, "right", capture, lens, CROP, "standard")
    both = simulate(*SIZE, seed=8, both_sides=True)
    for base, sample in (("synthetic", scene), ("both sides", both)):
        yield Case(base, "right", sample.capture, sample.calibration, None, "standard")
    for path in sorted((data / "app_capture").glob("*_left.pgm")):
        yield Case("phone app", "right", open_capture(path), None, None, "standard")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 when --check finds a wrong verdict, 2 without data."""
    options = _parse(arguments)
    if not find_scenes(options.data / "pixel4"):
        print(f"No NNN_left.png in {options.data / 'pixel4'}.", file=sys.stderr)
        return 2
    wrong = count = doubtful = 0
    for case in cases(options.data):
        verdict, causes = case.verdict()
        is_right = case.is_right(verdict, causes)
        wrong, count = wrong + (not is_right), count + 1
        doubtful += case.cause is not None
        mark = " " if is_right else "!"
        print(f"{mark} {case.base:10}  {case.name:22}  {verdict:10}  {' '.join(causes[:1])}")
        sys.stdout.flush()
    print(f"{count} cases, {wrong} with a wrong verdict")
    if options.save:
        save_figures("doubtful_fits", {"cases": count, "doubtful": doubtful, "wrong": wrong})
    return 1 if wrong and options.check else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("data", type=Path, help="folder with pixel4/ and app_capture/")
    parser.add_argument("--check", action="store_true", help="fail when a verdict is wrong")
    add_save_option(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
