"""New views of the synthetic scene from the layers of a fit, against the true ones.

    python benchmarks/new_views.py RUN [RUN ...] [--seed 0 ...] [--save]

RUN are run folders of fits of a capture that `napari-dpdeblur simulate --seed SEED` wrote, of any
version; the truth is made from the same seed in the size of the run. Printed for each: mean PSNR of
the sharp views that shift defocus 1 by 6 px to one side and to the other, there also of what the
capture does not show; of three refocused views, one by one and within 8 px of true occlusion
boundaries; and the error of the defocus map, overall and there. `ceiling_db` is the PSNR of the
sharp views for the all-in-focus image of the run on the true geometry with true hidden parts: no
layers that show this image can be better. Full scale is the white point of the truth. All runs are
rendered with the same lens, the true one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import cv2
import numpy as np

from napari_dpdeblur.datasets.synthetic.lens import synthetic_vignetting
from napari_dpdeblur.datasets.synthetic.scene import SyntheticScene, synthetic_scene
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.optics.lens_model import LensModel
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results import Result, read_run
from napari_dpdeblur.results.preview import white_point
from napari_dpdeblur.results.refocus.aperture import calibrated_aperture
from napari_dpdeblur.results.refocus.renderer import Refocuser, Shot
from napari_dpdeblur.results.refocus.viewpoint import SharpViews
from results_file import add_save_option, save_figures

SHIFT_PX = 6.0
FOCUSES = (0.2, 0.7, 1.2)
BORDER_PX = 16
STEP = 0.15  # of the true map at an occlusion boundary
EDGE_PX = 8
LENS = LensModel(is_centred=False, is_exact=True)  # the true kernels, as simulated


@dataclass(frozen=True)
class Scores:
    """One row of the table: PSNR in dB, errors in defocus scales."""

    parallax_db: float
    ceiling_db: float
    disoccluded_db: float
    near_db: float
    middle_db: float
    far_db: float
    refocused_db: float
    refocused_edges_db: float
    map_error: float
    edge_error: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line for each run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folder")
    parser.add_argument(
        "--seed", type=int, nargs="+", default=[0], help="seed of the scene, or of that of each run"
    )
    add_save_option(parser)
    options = parser.parse_args(arguments)
    names = [field.name for field in fields(Scores)]
    print("  ".join(names))
    rows = {}
    seeds = options.seed * len(options.runs) if len(options.seed) == 1 else options.seed
    for run, seed in zip(options.runs, seeds, strict=True):
        rows[run.name] = row = score(run, seed)
        print("  ".join(f"{getattr(row, n):{len(n)}.4f}" for n in names), run.name, flush=True)
    if options.save:
        save_figures("new_views", {name: asdict(row) for name, row in rows.items()})
    return 0


def score(run: Path, seed: int) -> Scores:
    """Compare the views and the map of a run folder with those of the scene."""
    result = read_run(run)
    scene = as_exposed(synthetic_scene(*result.defocus_map.shape, seed))
    truth = MultiplaneImage(scene.color, scene.alpha, scene.defocus_scales)
    white = white_point(scene.all_in_focus)
    edges = boundaries(scene)
    whole = inside(np.ones_like(edges))
    parallax, ceiling, new, refocused, at_edges = [], [], [], [], []
    found_views, true_views = SharpViews(result.mpi), SharpViews(truth)
    best_views, seen = SharpViews(ideal_layers(result, scene)), SharpViews(seen_part(scene))
    for shift in ((-SHIFT_PX, 0), (SHIFT_PX, 0)):
        true = true_views.parallax(shift)
        error = (found_views.parallax(shift) - true) / white
        parallax.append(psnr(error, whole))
        ceiling.append(psnr((best_views.parallax(shift) - true) / white, whole))
        new.append(psnr(error, inside(seen.parallax(shift)[0] < 0.5)))
    found_shots, true_shots = (refocuser(mpi, scene) for mpi in (result.mpi, truth))
    for focus in FOCUSES:
        error = (found_shots.render(Shot(focus)) - true_shots.render(Shot(focus))) / white
        refocused.append(psnr(error, whole))
        at_edges.append(psnr(error, inside(edges)))
    difference = np.abs(result.defocus_map - scene.defocus_map)
    return Scores(
        float(np.mean(parallax)),
        float(np.mean(ceiling)),
        float(np.mean(new)),
        *refocused,
        float(np.mean(refocused)),
        float(np.mean(at_edges)),
        float(difference[whole].mean()),
        float(difference[inside(edges)].mean()),
    )


def as_exposed(scene: SyntheticScene) -> SyntheticScene:
    """The scene with the fall-off of the left view, which a fit leaves in the image."""
    height, width = scene.alpha.shape[-2:]
    return replace(scene, color=scene.color * synthetic_vignetting(height, width)[0])


def refocuser(mpi: MultiplaneImage, scene: SyntheticScene) -> Refocuser:
    """Layers behind the true lens."""
    height, width = scene.alpha.shape[-2:]
    lens = calibrated_aperture(synthetic_calibration(height, width), (height, width), None, LENS)
    return Refocuser(mpi.color, mpi.alpha, mpi.defocus_scales, lens, defocus=mpi.defocus)


def boundaries(scene: SyntheticScene) -> np.ndarray:
    """Pixels within EDGE_PX of the steps of the true map: (H, W)."""
    true = np.asarray(scene.defocus_map, np.float32)
    near = np.ones((3, 3), np.uint8)
    is_step = cv2.dilate(true, near) - cv2.erode(true, near) > STEP
    distance = cv2.distanceTransform((~is_step).astype(np.uint8), cv2.DIST_L2, 5)
    return np.asarray(distance <= EDGE_PX)


def seen_part(scene: SyntheticScene) -> MultiplaneImage:
    """Layers that are 1 where the capture shows them or what lies just in front, else 0."""
    behind = scene.defocus_scales[:, None, None, None] - scene.defocus_map
    seen = (behind < STEP).astype(np.float32)
    return MultiplaneImage(seen, scene.alpha, scene.defocus_scales)


def ideal_layers(result: Result, scene: SyntheticScene) -> MultiplaneImage:
    """The true layers, with the colours of a result where the capture shows them."""
    is_seen = seen_part(scene).color > 0
    color = np.where(is_seen, result.all_in_focus, scene.color)
    return MultiplaneImage(color, scene.alpha, scene.defocus_scales)


def inside(mask: np.ndarray) -> np.ndarray:
    """A mask (H, W) without the border."""
    part = np.zeros_like(mask, bool)
    part[BORDER_PX:-BORDER_PX, BORDER_PX:-BORDER_PX] = True
    return part & mask


def psnr(error: np.ndarray, where: np.ndarray) -> float:
    """PSNR in dB of errors (C, H, W) in a mask, for a full scale of 1."""
    return float(-10 * np.log10(max(np.mean(np.square(error[:, where])), 1e-12)))


if __name__ == "__main__":
    sys.exit(main())
