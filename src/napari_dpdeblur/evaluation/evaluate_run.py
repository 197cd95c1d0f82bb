"""Score a run folder against its ground truth."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.evaluation.ground_truth import (
    SIGNED,
    UNSIGNED,
    Sign,
    load_defocus,
    load_sharp,
)
from napari_dpdeblur.evaluation.metrics import (
    BORDER_PX,
    SIGN_MARGIN,
    defocus_scores,
    image_scores,
)
from napari_dpdeblur.results import read_image
from napari_dpdeblur.results.run_folder import check_run

IMAGE_PROTOCOL = (
    f"aligned by one affine transform per scene (ECC), border of {BORDER_PX} px dropped, "
    "divided by the maximum of the ground truth"
)
DEFOCUS_PROTOCOL = (
    "affine-invariant, over the confident pixels of the ground truth; "
    "equal values share their mean rank (ordinal: they are ranked in reading order)"
)
ASPECT_TOLERANCE = 0.02  # of a truth that shows the centre of a result
SIGN_PROTOCOLS = {
    SIGNED: f"; right sign: share of the pixels farther than {SIGN_MARGIN:g} from the focus",
    UNSIGNED: "; absolute values, because the ground truth has no sign",
}


def evaluate_run(
    run_folder: Path,
    sharp: Path | None = None,
    defocus: Path | None = None,
    sign: Sign | None = None,
) -> dict[str, Any]:
    """Score the image of a run against `sharp`, its defocus map against `defocus`, or both.

    `sign` says what the true defocus means: "signed", "unsigned" or "one-sided"; None: signed if
    it is a file of floats with negative values, else one-sided.

    Returns plain values, ready for JSON: `image` (psnr_db, ssim, mae, alignment, protocol) and
    `defocus` (aiwe1, aiwe2, one_minus_spearman and its ordinal form, right_sign for signed truth,
    protocol), each only where a truth was given. The PSNR of identical images, which is infinite,
    is None. A result that is larger than the truth on all sides, as that of a whole frame, is
    cropped to its centre; `note` says so.
    """
    run_folder = Path(run_folder)
    if sharp is None and defocus is None:
        raise EvaluationError(
            "No ground truth was given; specify a sharp image, a defocus map or both."
        )
    check_run(run_folder)
    report: dict[str, Any] = {"run": str(run_folder)}
    if sharp is not None:
        report["image"] = _evaluate_image(run_folder / "all_in_focus.tif", Path(sharp))
    if defocus is not None:
        report["defocus"] = _evaluate_defocus(run_folder / "defocus_map.tif", Path(defocus), sign)
    return report


def _evaluate_image(result: Path, truth: Path) -> dict[str, Any]:
    whole, sharp = read_image(result), load_sharp(truth)
    image, note = _centre(whole, sharp.shape[-2:])
    scores = image_scores(image, sharp)
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
        **note,
    }


def _evaluate_defocus(result: Path, truth: Path, sign: Sign | None) -> dict[str, Any]:
    whole, target = read_image(result), load_defocus(truth, sign)
    found, note = _centre(whole, target.defocus.shape)
    scores = defocus_scores(found[0], target.defocus, target.confidence, target.sign)
    signed = {} if scores.right_sign is None else {"right_sign": scores.right_sign}
    return {
        "aiwe1": scores.aiwe1,
        "aiwe2": scores.aiwe2,
        "one_minus_spearman": scores.one_minus_spearman,
        "one_minus_spearman_ordinal": scores.one_minus_spearman_ordinal,
        **signed,
        "protocol": DEFOCUS_PROTOCOL + SIGN_PROTOCOLS.get(target.sign, ""),
        **note,
    }


def _centre(image: FloatArray, shape: tuple[int, ...]) -> tuple[FloatArray, dict[str, str]]:
    """The centre of an image (C, H, W) if a truth of this shape can be one, and a note."""
    height, width = image.shape[-2:]
    spare = height - shape[0], width - shape[1]
    # Scenes are published with the truth of a central field; other sizes are mistakes.
    is_centre = min(spare) > 0 and not any(side % 2 for side in spare)
    if not is_centre or not np.isclose(height / shape[0], width / shape[1], rtol=ASPECT_TOLERANCE):
        return image, {}
    top, left = (side // 2 for side in spare)
    part = image[..., top : top + shape[0], left : left + shape[1]]
    note = (
        f"The central {shape[0]} x {shape[1]} px of the result were compared: the result has "
        f"{height} x {width} px, the ground truth fewer."
    )
    return part, {"note": note}


def format_report(report: dict[str, Any]) -> str:
    """The report as a short table."""
    lines = [f"run            {report['run']}"]
    if (image := report.get("image")) is not None:
        psnr = "identical" if image["psnr_db"] is None else f"{image['psnr_db']:.2f} dB"
        lines += [f"PSNR           {psnr}", f"SSIM           {image['ssim']:.4f}"]
        lines += [f"MAE            {image['mae']:.4f}", f"image          {image['protocol']}"]
        if image["alignment"]["warning"]:
            lines.append(f"warning        {image['alignment']['warning']}")
        lines += _notes(image)
    if (defocus := report.get("defocus")) is not None:
        lines += [
            f"AIWE(1)        {defocus['aiwe1']:.4f}",
            f"AIWE(2)        {defocus['aiwe2']:.4f}",
        ]
        ordinal = f"(ordinal {defocus['one_minus_spearman_ordinal']:.4f})"
        lines += [f"1 - |rho_s|    {defocus['one_minus_spearman']:.4f} {ordinal}"]
        if "right_sign" in defocus:
            lines += [f"right sign     {100 * defocus['right_sign']:.2f} %"]
        lines += [f"defocus map    {defocus['protocol']}", *_notes(defocus)]
    return "\n".join(lines)


def _notes(part: dict[str, Any]) -> list[str]:
    return [f"note           {part['note']}"] if "note" in part else []
