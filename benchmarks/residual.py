"""How well the layers of finished runs explain the views, and how clean they are.

    python benchmarks/residual.py DATA RUNS [--scenes 001 005] [--check] [--save]

RUNS contains a run folder of `standard` for each scene of DATA, such as `benchmarks/quality.py DATA
--keep RUNS` writes. Printed for each scene: the residual over noise and the misfit of the fit
report, the layers that share a pixel (weight above 0.05), and ghosts: how much of the gradients
that are seen recur in what is hidden behind them (slope of a regression, 0: nothing).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import cv2
import numpy as np

from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results import read_run
from quality import find_scenes
from results_file import add_save_option, save_figures

SEEN, COVERED, OPAQUE = 0.05, 0.02, 0.5
LIMITS = {"residual_over_noise": 2.4, "layers_per_pixel": 1.1, "ghosts": 0.05}
MEAN_RESIDUAL = 2.0


@dataclass(frozen=True)
class SceneLayers:
    """One row of the table."""

    layers: int
    residual_over_noise: float
    misfit_px: float
    layers_per_pixel: float
    ghosts: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 when --check finds a missed limit, 2 without a scene."""
    options = _parse(arguments)
    scenes = options.scenes or find_scenes(options.data)
    if not scenes:
        print(f"No NNN_left.png in {options.data}.", file=sys.stderr)
        return 2
    rows = {scene: measure(options.runs / scene) for scene in scenes}
    if options.save:
        save_figures("residual", {"scenes": {scene: asdict(row) for scene, row in rows.items()}})
    names = [field.name for field in fields(SceneLayers)]
    print("scene  " + "  ".join(names))
    for scene, row in rows.items():
        print(f"{scene:5}  " + "  ".join(f"{getattr(row, n):{len(n)}.3f}" for n in names))
    mean = float(np.mean([row.residual_over_noise for row in rows.values()]))
    print(f"mean residual over noise: {mean:.3f}")
    missed = missed_limits(rows, mean) if options.check else []
    print(*missed, sep="\n", end="\n" if missed else "")
    return 1 if missed else 0


def measure(run: Path) -> SceneLayers:
    """Figures of one run folder."""
    result = read_run(run)
    verdict, mpi = result.fit_verdict, result.mpi
    if not verdict:
        raise SystemExit(f"{run} has no fit report; fit it again with the preset standard.")
    shares = mpi.transmittance()
    return SceneLayers(
        layers=len(shares),
        residual_over_noise=float(verdict["residual_over_noise"]),
        misfit_px=float(verdict["misfit_px"]),
        layers_per_pixel=float((shares > SEEN).sum(0).mean()),
        ghosts=ghosts(mpi),
    )


def ghosts(mpi: MultiplaneImage) -> float:
    """Slope of the gradients of hidden parts on those of what is seen in front of them."""
    seen = _gradients(mpi.all_in_focus()[0])
    product = square = 0.0
    for color, alpha, share in zip(mpi.color, mpi.alpha, mpi.transmittance(), strict=True):
        hidden = ((share[0] < COVERED) & (alpha[0] > OPAQUE)).astype(np.uint8)
        hidden = cv2.erode(hidden, np.ones((5, 5), np.uint8)) > 0
        product += float((_gradients(color[0]) * seen)[:, hidden].sum())
        square += float((seen**2)[:, hidden].sum())
    return product / max(square, 1e-12)


def missed_limits(rows: dict[str, SceneLayers], mean_residual: float) -> list[str]:
    """A sentence for each figure above its limit."""
    missed = [
        f"{scene}: {name} is {getattr(row, name):.3f}, at most {limit} is allowed"
        for scene, row in rows.items()
        for name, limit in LIMITS.items()
        if getattr(row, name) > limit
    ]
    if mean_residual > MEAN_RESIDUAL:
        missed.append(f"the mean residual is {mean_residual:.3f}, at most {MEAN_RESIDUAL}")
    return missed


def _gradients(image: np.ndarray) -> np.ndarray:
    plane = np.asarray(image, np.float32)
    return np.stack([cv2.Sobel(plane, cv2.CV_32F, *axis) for axis in ((1, 0), (0, 1))])


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("data", type=Path, help="folder with the scenes")
    parser.add_argument("runs", type=Path, help="folder with a run folder for each scene")
    parser.add_argument("--scenes", nargs="+", help="names of scenes (default: all)")
    parser.add_argument("--check", action="store_true", help="fail when a limit is missed")
    add_save_option(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
