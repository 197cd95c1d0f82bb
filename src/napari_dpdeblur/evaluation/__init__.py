"""How good a result is: alignment with the ground truth and the six published metrics."""

from napari_dpdeblur.evaluation.alignment import Alignment, align_affine
from napari_dpdeblur.evaluation.evaluate_run import evaluate_run, format_report
from napari_dpdeblur.evaluation.ground_truth import (
    DefocusTruth,
    defocus_path,
    load_defocus,
    load_sharp,
    sharp_path,
)
from napari_dpdeblur.evaluation.metrics import (
    DefocusScores,
    ImageScores,
    defocus_scores,
    image_scores,
    mae,
    psnr,
    ssim,
)

__all__ = [
    "Alignment",
    "DefocusScores",
    "DefocusTruth",
    "ImageScores",
    "align_affine",
    "defocus_path",
    "defocus_scores",
    "evaluate_run",
    "format_report",
    "image_scores",
    "load_defocus",
    "load_sharp",
    "mae",
    "psnr",
    "sharp_path",
    "ssim",
]
