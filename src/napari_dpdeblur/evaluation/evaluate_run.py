"""Score a run folder against its ground truth."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from napari_dpdeblur.errors import EvaluationError, ResultError
from napari_dpdeblur.evaluation.ground_truth import load_defocus, load_sharp
from napari_dpdeblur.evaluation.metrics import BORDER_PX, defocus_scores, image_scores
from napari_dpdeblur.results import read_image

IMAGE_PROTOCOL = (
    f"aligned by one affine transform per scene (ECC), border of {BORDER_PX} px dropped, "
    "divided by the maximum of the ground truth"
)
DEFOCUS_PROTOCOL = (
    "affine-invariant, over the confident pixels of the ground truth; "
    "equal values share their mean rank (ordinal: they are ranked in reading order)"
)


def evaluate_run(
    run_folder: Path, sharp: Path | None = None, defocus: Path | None = None
) -> dict[str, Any]:
    """Score the image of a run against `sharp`, its defocus map against `defocus`, or both.

    Returns plain values, ready for JSON: `image` (psnr_db, ssim, mae, alignment, protocol) and
    `defocus` (aiwe1, aiwe2, one_minus_spearman and its ordinal form, protocol), each only where a
    truth was given. The PSNR of identical images, which is infinite, is None.
    """
    run_folder = Path(run_folder)
    if sharp is None and defocus is None:
        raise EvaluationError(
            "No ground truth was given; specify a sharp image, a defocus map or both."
        )
    if not run_folder.is_dir():
        raise ResultError(f"The run folder {run_folder} does not exist; check the path.")
    report: dict[str, Any] = {"run": str(run_folder)}
    if sharp is not None:
        report["image"] = _evaluate_image(run_folder / "all_in_focus.tif", Path(sharp))
    if defocus is not None:
        report["defocus"] = _evaluate_defocus(run_folder / "defocus_map.tif", Path(defocus))
    return report


def _evaluate_image(result: Path, truth: Path) -> dict[str, Any]:
    scores = image_scores(read_image(result), load_sharp(truth))
    return {
        "psnr_db": scores.psnr_db if math.isfinite(scores.psnr_db) else None,
        "ssim": scores.ssim,
        "mae": scores.mae,
        "alignment": {
            "matrix": scores.alignment.matrix.tolist(),
            "correlation": scores.alignment.correlation,
            "warning": scores.alignment.warning,
        },
        "protocol": IMAGE_PROTOCOL,
    }


def _evaluate_defocus(result: Path, truth: Path) -> dict[str, Any]:
    target = load_defocus(truth)
    scores = defocus_scores(read_image(result)[0], target.defocus, target.confidence)
    return {
        "aiwe1": scores.aiwe1,
        "aiwe2": scores.aiwe2,
        "one_minus_spearman": scores.one_minus_spearman,
        "one_minus_spearman_ordinal": scores.one_minus_spearman_ordinal,
        "protocol": DEFOCUS_PROTOCOL,
    }


def format_report(report: dict[str, Any]) -> str:
    """The report as a short table."""
    lines = [f"run            {report['run']}"]
    if (image := report.get("image")) is not None:
        psnr = "identical" if image["psnr_db"] is None else f"{image['psnr_db']:.2f} dB"
        lines += [f"PSNR           {psnr}", f"SSIM           {image['ssim']:.4f}"]
        lines += [f"MAE            {image['mae']:.4f}", f"image          {image['protocol']}"]
        if image["alignment"]["warning"]:
            lines.append(f"warning        {image['alignment']['warning']}")
    if (defocus := report.get("defocus")) is not None:
        lines += [
            f"AIWE(1)        {defocus['aiwe1']:.4f}",
            f"AIWE(2)        {defocus['aiwe2']:.4f}",
        ]
        ordinal = f"(ordinal {defocus['one_minus_spearman_ordinal']:.4f})"
        lines += [f"1 - |rho_s|    {defocus['one_minus_spearman']:.4f} {ordinal}"]
        lines += [f"defocus map    {defocus['protocol']}"]
    return "\n".join(lines)
