"""What the scripts of the plots share: the scene, the style, where pictures go."""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from napari_dpdeblur.datasets.synthetic.simulation import Simulation, simulate
from napari_dpdeblur.optics import KernelGrid
from napari_dpdeblur.results.preview import tone_curve, white_point

FOLDER = Path(os.environ.get("DPDEBLUR_PLOTS") or Path(__file__).resolve().parent)
LEFT, RIGHT, INK = "#c0392b", "#1390a0", "#333333"
SEED = 2

plt.rcParams.update(
    {
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 9,
        "legend.frameon": False,
        "figure.facecolor": "white",
        "savefig.facecolor": "white",
    }
)


def scene(height: int = 504, width: int = 672, seed: int = SEED) -> Simulation:
    """A still life, its capture and the lens."""
    return simulate(height, width, seed=seed)


def lens(simulation: Simulation) -> KernelGrid:
    """The kernels of the lens at defocus scale 1."""
    return simulation.calibration.kernel_grid()


def show(axes: Axes, picture: np.ndarray, title: str) -> None:
    """A picture without ticks."""
    axes.imshow(picture, interpolation="none")
    axes.set_title(title)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)


def toned(image: np.ndarray | torch.Tensor, white: float | None = None) -> np.ndarray:
    """Linear (C, H, W) as bytes to show."""
    pixels = np.asarray(image)
    return np.asarray(tone_curve(pixels, white or white_point(pixels)))


def red_and_cyan(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Two kernels (K, K) in one picture: the left one red, the right one cyan, on black."""
    brightest = max(left.max(), right.max())
    return np.asarray(np.stack([left, right, right], axis=-1) / brightest)


def save(figure: Figure, name: str) -> None:
    """Write a picture beside its script, or where DPDEBLUR_PLOTS says."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if name.endswith(".svg") else {"Software": None}
    figure.savefig(FOLDER / name, dpi=130, bbox_inches="tight", metadata=metadata)
    plt.close(figure)
