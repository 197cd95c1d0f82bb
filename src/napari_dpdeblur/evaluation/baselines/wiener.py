"""Two-view Wiener deconvolution with defocus selection (Zhou 2009, Tang 2012)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from napari_dpdeblur.evaluation.baselines.prediction import Prediction
from napari_dpdeblur.fitting.image.filters import box_mean
from napari_dpdeblur.fitting.problem import FitProblem, pose_problem
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.optics import TileWindows

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture

SCALES = (1.6, 0.1)  # the widest range of layers in the paper
COUNT = 12
NOISE_TO_SIGNAL = 5e-3  # sigma^2 |Phi|^2, the constant of the paper
AGGREGATION_PX = (1, 1)  # radius of the box over which residuals are averaged
EXTRA_REACH_PX = 32  # an inverse filter has a larger support than the kernel


def wiener(capture: DualPixelCapture, calibration: Calibration) -> Prediction:
    """Choose for each pixel the scale whose deconvolution best explains both views."""
    settings = FitSettings(preset="paper")  # all rows, kernels as calibrated
    problem = pose_problem(capture, calibration, settings, torch.device("cpu"))
    views = problem.views
    best = views.new_full(views.shape[-2:], torch.inf)
    defocus = torch.zeros_like(best)
    image = torch.zeros_like(views[0])
    for scale in torch.linspace(*SCALES, COUNT).tolist():
        sharp, cost = _deconvolved(problem, scale)
        better = cost < best
        best = torch.where(better, cost, best)
        defocus = torch.where(better, scale, defocus)
        image = torch.where(better, sharp, image)
    image = image.clamp_min(0) / problem.intensity_scale
    return Prediction(image.numpy(), defocus.numpy())


def _deconvolved(problem: FitProblem, scale: float) -> tuple[Tensor, Tensor]:
    """The sharp image (C, h, w) at a scale (supplement, Eq. 13), and its cost (h, w).

    The cost is the energy of that equation: the squared error of both views when the sharp image
    is blurred again, plus that of the prior.
    """
    views = problem.views
    grid = problem.kernels.scaled(scale, problem.pixel_pitch)
    height, width = (size // 2 + EXTRA_REACH_PX for size in grid.size_px)
    windows = TileWindows.of(problem.layout, (height, width), 0, views)
    kernels = grid.spectrum(windows.fft_px)[:, :, None]  # (P, V, 1, n, m)
    seen = torch.fft.rfft2(torch.stack([windows.gather(view) for view in views], dim=1))
    power = kernels.abs().square().sum(1) + NOISE_TO_SIGNAL
    power[..., 0, 0] -= NOISE_TO_SIGNAL  # the mean is known
    sharp = (kernels.conj() * seen).sum(1) / power
    missed = kernels * sharp[:, None] - seen
    image, residual = torch.zeros_like(views[0]), torch.zeros_like(views)
    windows.scatter(torch.fft.irfft2(sharp, s=windows.fft_px), image)
    windows.scatter(torch.fft.irfft2(missed, s=windows.fft_px), residual)
    cost = box_mean(residual.square().sum((0, 1)), AGGREGATION_PX)
    return image, cost
