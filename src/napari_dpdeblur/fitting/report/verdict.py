"""The verdict on a fit, from its report and from doubts about its input."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from napari_dpdeblur.fitting.parameters.report import ViewCheckParameters
from napari_dpdeblur.fitting.report.doubts import CALIBRATION, Doubt
from napari_dpdeblur.fitting.report.residual import FitReport
from napari_dpdeblur.fitting.report.views import ViewCheck


def fit_verdict(report: FitReport | None, doubts: list[Doubt]) -> dict[str, Any] | None:
    """Verdict, causes and figures for the provenance; None without a report and doubts.

    Doubts come first. Those about the views explain a residual better than its own causes, which
    are left out then.
    """
    figures = {} if report is None else report.describe()
    if not doubts:
        return figures or None
    explained = any(doubt.kind != CALIBRATION for doubt in doubts)
    others = [] if explained else figures.get("causes", [])
    return {
        **figures,
        "verdict": "doubtful",
        "causes": [*(doubt.text for doubt in doubts), *others],
        "doubts": [doubt.kind for doubt in doubts],
    }


def of_matching_views(
    confidence: Tensor, found: ViewCheck | None, parameters: ViewCheckParameters
) -> Tensor:
    """The confidence, lower if the views do not match: then agreement of estimates is chance."""
    if found is None or found.correlation >= parameters.min_correlation:
        return confidence
    return confidence * max(found.correlation, 0.0) ** 2
