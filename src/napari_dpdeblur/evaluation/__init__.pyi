from .alignment import Alignment as Alignment
from .alignment import align_affine as align_affine
from .evaluate_run import evaluate_run as evaluate_run
from .evaluate_run import format_report as format_report
from .ground_truth import DefocusTruth as DefocusTruth
from .ground_truth import defocus_path as defocus_path
from .ground_truth import load_defocus as load_defocus
from .ground_truth import load_sharp as load_sharp
from .ground_truth import sharp_path as sharp_path
from .metrics import DefocusScores as DefocusScores
from .metrics import ImageScores as ImageScores
from .metrics import defocus_scores as defocus_scores
from .metrics import image_scores as image_scores
from .metrics import mae as mae
from .metrics import psnr as psnr
from .metrics import ssim as ssim

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
