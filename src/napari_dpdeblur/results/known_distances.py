"""Distances in metres from two or more pixels of known distance: d = A + B / Z."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from napari_dpdeblur.errors import ResultError

if TYPE_CHECKING:
    from napari_dpdeblur.array_types import FloatArray
    from napari_dpdeblur.results.result import Result

KNOWN_DISTANCES = "known_distances"  # its entry in run.yaml
REACH_PX = 2  # the median of 5 x 5 px around a pixel stands for it


@dataclass(frozen=True)
class KnownDistance:
    """A pixel of a defocus map, counted from 0 at the top left, and its distance in metres."""

    row: int
    col: int
    metres: float

    def __str__(self) -> str:
        return f"{self.metres:g} m at row {self.row}, column {self.col}"


def check_known_distances(known: Sequence[KnownDistance], shape: tuple[int, int]) -> None:
    """Refuse known distances that give no lens constants for a map of this shape."""
    from napari_dpdeblur.calibration.distance import MIN_RATIO, POSSIBLE_M

    height, width = shape
    nearest, farthest = POSSIBLE_M
    for one in known:
        if not (np.isfinite(one.metres) and one.metres > 0):
            raise ResultError(f"A known distance must be above 0 m, not {one.metres:g}.")
        if not nearest <= one.metres <= farthest:
            raise ResultError(
                f"A known distance of {one.metres:g} m is not possible; give it in metres, between "
                f"{nearest:g} and {farthest:,.0f}."
            )
        if not (0 <= one.row < height and 0 <= one.col < width):
            raise ResultError(
                f"The known distance of {one} lies outside the result of {height} x {width} px; "
                "rows and columns are counted from 0 at the top left of the result."
            )
    if len(known) < 2:
        raise ResultError(
            "One known distance is not enough; give those of at least two points at different "
            "distances."
        )
    metres = [one.metres for one in known]
    if max(metres) / min(metres) < MIN_RATIO:
        raise ResultError(
            f"The known distances are all about {metres[0]:g} m; choose points whose distances "
            f"differ by at least {MIN_RATIO - 1:.0%}."
        )


def constants_from(defocus_map: FloatArray, known: Sequence[KnownDistance]) -> tuple[float, float]:
    """Lens constants A and B from the defocus map (H, W) at pixels of known distance."""
    from napari_dpdeblur.calibration.distance import MIN_SCALE_CHANGE, fit_lens_constants

    height, width = defocus_map.shape
    check_known_distances(known, (height, width))
    scales = [scale_at(defocus_map, one.row, one.col) for one in known]
    if max(scales) - min(scales) < MIN_SCALE_CHANGE:
        raise ResultError(
            f"The defocus is the same ({scales[0]:.3g}) at all known distances; choose points "
            "whose blur differs."
        )
    a, b = fit_lens_constants([one.metres for one in known], scales)
    if b >= 0:
        raise ResultError(
            "The known distances contradict the defocus map, in which the farther points lie in "
            "front of the nearer ones; check the points, and whether the views are swapped."
        )
    return a, b


def scale_at(defocus_map: FloatArray, row: int, col: int) -> float:
    """Median defocus scale around a pixel."""
    rows = slice(max(row - REACH_PX, 0), row + REACH_PX + 1)
    cols = slice(max(col - REACH_PX, 0), col + REACH_PX + 1)
    return float(np.median(defocus_map[rows, cols]))


def with_known_distances(result: Result, known: Sequence[KnownDistance]) -> Result:
    """The result with lens constants from known distances, in calibration and provenance."""
    constants = constants_from(result.defocus_map, known)
    calibration = result.calibration
    if calibration is not None:
        calibration = replace(calibration, lens_constants=constants)
    provenance = provenance_with(result.provenance, constants, known)
    return replace(result, calibration=calibration, provenance=provenance)


def provenance_with(
    provenance: dict[str, Any], constants: tuple[float, float], known: Sequence[KnownDistance]
) -> dict[str, Any]:
    """The provenance with lens constants and the distances they come from."""
    described = {**(provenance.get("calibration") or {}), "lens_constants": list(constants)}
    points = [[one.row, one.col, one.metres] for one in known]
    return {**provenance, "calibration": described, KNOWN_DISTANCES: points}
