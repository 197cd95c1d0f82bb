"""Make the pictures of the tutorial from the real window, by doing what the tutorial says.

    xvfb-run -s "-screen 0 1366x768x24" python docs/make_screenshots.py
    QT_SCALE_FACTOR=2 xvfb-run -s "-screen 0 2732x1536x24" \
        python docs/make_screenshots.py --only fit

`Tour` clicks the real buttons. The tests take the same tour with quicker settings, so that the
tutorial cannot describe what is not there.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from qtpy.QtWidgets import QWidget

sys.path.insert(0, str(Path(__file__).resolve().parent))

from window_tour import FIT, Tour

FOLDER = Path(__file__).resolve().parent / "screenshots"
ANIMATION_COLORS, REFOCUS_FRAMES = 96, 12


def simulate_captures(folder: Path) -> dict[str, int]:
    """What a user would photograph for a calibration, of a small camera; settings that suit it."""
    from napari_dpdeblur.calibration.target.pattern import Target
    from napari_dpdeblur.datasets.synthetic.calibration_captures import simulate_shoot, write_shoot
    from napari_dpdeblur.datasets.synthetic.lens import synthetic_kernels
    from napari_dpdeblur.datasets.synthetic.screen_pose import Pose
    from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration

    kernels = synthetic_kernels(2, 3, size=23, disparity_px=-3.0)
    lens = dataclasses.replace(synthetic_calibration(384, 480, rows=2, cols=3), kernels=kernels)
    target = Target.for_screen(520, 420, 32.0)
    pose = Pose(rotation_deg=3.0, tilt_deg=(3.0, -2.0), distortion=-0.02)
    write_shoot(simulate_shoot(target, lens, pose, burst=1, sheets=1), target, folder)
    return {"rows": 2, "cols": 3, "kernel_px": 23}


def simulate_pairs(folder: Path, size: tuple[int, int] = (288, 384)) -> Path:
    """Three captures of a simulated phone in one folder, with its calibration beside them."""
    from napari_dpdeblur.calibration import save_calibration
    from napari_dpdeblur.capture.pgm import write_pgm_pair
    from napari_dpdeblur.datasets.synthetic.simulation import simulate

    folder.mkdir(parents=True)
    for number in range(3):
        simulation = simulate(*size, seed=number)
        capture = simulation.capture
        left, right = capture.raw[:, 0]
        write_pgm_pair(folder, f"2026_0{number + 1}", left, right, capture.pixel_aspect)
    save_calibration(simulation.calibration, folder / "phone.dpcal")
    return folder


def write_animation(tour: Tour, widget: QWidget, path: Path) -> None:
    """The capture, the fit, the result, its map and layers, and the focus going through them."""
    for share in np.linspace(0.95, 0.05, REFOCUS_FRAMES):
        tour.refocus(widget, float(share))
        tour.animate()
    frames = [frame.quantize(ANIMATION_COLORS, dither=Image.Dither.NONE) for frame in tour.frames]
    times_ms = [900] * (len(frames) - REFOCUS_FRAMES) + [180] * REFOCUS_FRAMES
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=times_ms, loop=0, optimize=True
    )


def main() -> None:
    """Take the tour and keep the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="standard")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER)
    parser.add_argument("--only", choices=["fit"], help="one picture of the Fit tab alone")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        for name in ("CONFIG", "CACHE"):
            os.environ[f"DPDEBLUR_{name}"] = work
        if arguments.only:
            take_one_picture(Path(work), arguments.output)
        else:
            take_tour(Path(work), arguments.output, arguments.preset)


def take_tour(work: Path, shots: Path, preset: str) -> None:
    """All steps in one window."""
    import napari

    viewer = napari.Viewer()
    tour = Tour(viewer, work, shots)
    tour.open_sample()
    tour.choose_calibration()
    tour.fit(preset)
    tour.look()
    tour.compare(tour.dock.tab(FIT))
    widget = tour.inspect()
    tour.refocus_near_and_far(widget)
    write_animation(tour, widget, shots / "refocus.gif")
    tour.depth(widget)
    tour.reopen(tour.save())
    viewer.layers.clear()
    tour.calibrate(work / "shoot", simulate_captures(work / "shoot"))
    viewer.layers.clear()
    tour.open_folder(simulate_pairs(work / "captures"), 1)
    viewer.close()


def take_one_picture(work: Path, shots: Path) -> None:
    """The Fit tab with the sample, for another scale of the screen."""
    import napari

    viewer = napari.Viewer()
    tour = Tour(viewer, work)
    tour.open_sample()
    tour.turn_to(FIT)
    tour.settle(2.0)
    tour.shots = shots
    tour.shot("19_twice_the_scale")
    viewer.close()


if __name__ == "__main__":
    main()
