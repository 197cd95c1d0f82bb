"""The closed form: from the two views to a defocus map, its range and its confidence."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting.defocus.cost_volume import Evidence, collect_evidence
from napari_dpdeblur.fitting.defocus.local_estimate import Estimate, local_estimate, propagate
from napari_dpdeblur.fitting.image.filters import GuidedFilter, box_mean, voted_median
from napari_dpdeblur.fitting.problem import FitProblem, area_resample, resample

SEARCH_RANGE = (1.7, 0.05)
SEARCH_SCALES = 34
SEARCHED_DISPARITY_PX = 1.3  # disparity of the calibrated blur at the resolution of the search
SWAP_TEST_SCALES = 6
SWAPPED_COST = 0.8  # the views are swapped when that lowers the cost below this share
RANGE_TAIL = 0.002
MIN_RANGE = 0.1
SMALLEST_SCALE = 0.03
OUTLINE_RADIUS_PX = 8  # of the guided median, in pixels of the sharp image
OUTLINE_EPSILON = 1e-3
STRAIGHT_RADIUS = (7, 7)  # of the window in which outlines become straight, likewise


@dataclass(frozen=True)
class DefocusSearch:
    """Estimates of single pixels and the map (h, w) spread from them, at reduced resolution."""

    estimate: Estimate
    defocus_map: Tensor

    @property
    def confidence(self) -> Tensor:
        """How much each pixel says itself about its defocus, 0 to 1: (h, w)."""
        return self.estimate.confidence


def search_factor(problem: FitProblem) -> int:
    """How far the search may reduce the image: 1, 2, 4 or 8 calibrated pixels.

    A coarse search is fast and sees little noise; the disparity must still be told apart.
    """
    disparity = float(problem.kernels.disparity_px().abs().median())
    fitting = [f for f in (8, 4, 2) if f * SEARCHED_DISPARITY_PX <= disparity * 1.2]
    smallest_side = min(problem.shape)
    return next((f for f in fitting if smallest_side // f >= 16), 1)


def search_scales(problem: FitProblem, count: int = SEARCH_SCALES) -> Tensor:
    """The scales to try, from the largest blur to almost none."""
    views = problem.views
    return torch.linspace(*SEARCH_RANGE, count, device=views.device, dtype=views.dtype)


def search(
    coarse: FitProblem, scales: Tensor, bias: bool, name: str
) -> Generator[None, None, Evidence]:
    """Evidence for each scale, and the check that left is left: yields after each scale."""
    evidence = yield from _collect(coarse, scales, bias)
    yield from _check_not_swapped(coarse, evidence, name)
    return evidence


def _collect(coarse: FitProblem, scales: Tensor, bias: bool) -> Generator[None, None, Evidence]:
    """Evidence of a reduced problem."""
    return collect_evidence(
        coarse.views,
        coarse.kernels,
        coarse.layout,
        scales,
        (float(coarse.pixel_pitch[0]), float(coarse.pixel_pitch[1])),
        bias,
    )


def _check_not_swapped(
    coarse: FitProblem, evidence: Evidence, name: str
) -> Generator[None, None, None]:
    """Raise FitError when the views explain each other better the other way round."""
    swapped = replace(coarse, views=coarse.views.flip(0))
    last, parts = len(evidence.scales) - 1, SWAP_TEST_SCALES - 1
    chosen = [round(last * i / parts) for i in range(SWAP_TEST_SCALES)]
    other = yield from _collect(swapped, evidence.scales[chosen], bias=True)
    as_given = float(evidence.cost[chosen].amin(0).mean())
    if float(other.cost.amin(0).mean()) < SWAPPED_COST * as_given:
        raise FitError(
            f"The left and right view of {name} look swapped: they agree with the calibration "
            "only the other way round; exchange the two files."
        )


def propagated(
    evidence: Evidence,
    smoothness: float,
    use_evidence: bool = True,
) -> Generator[Tensor, None, DefocusSearch]:
    """Local estimates, then propagation; yields the map after each round."""
    estimate = local_estimate(evidence)
    if not use_evidence:
        middle = torch.full_like(estimate.centre, float(evidence.scales.mean()))
        estimate = Estimate(middle, torch.ones_like(estimate.weight))
    values = estimate.centre
    for values in propagate(estimate, evidence.guide, smoothness):
        yield values
    return DefocusSearch(estimate, values)


def with_sharp_edges(
    search: DefocusSearch,
    sharp: Tensor,
    smoothness: float,
) -> Generator[Tensor, None, DefocusSearch]:
    """Spread the estimates again up to the edges of a sharp image (C, h, w) of any size.

    In the captured views an edge is as wide as its blur, and so is the doubt where the map may
    step; in a first all-in-focus image it is where it belongs. The map that is returned has the
    resolution of that image, so that its outlines follow it, but not its every ripple: a median
    makes them straight.
    """
    height, width = search.defocus_map.shape
    fine_guide = sharp.mean(0).clamp_min(0)
    guide = area_resample(fine_guide, (height, width))
    values = search.defocus_map
    for values in propagate(search.estimate, guide, smoothness):
        yield values
    passes = GuidedFilter(fine_guide, OUTLINE_RADIUS_PX, OUTLINE_EPSILON)
    check_cancelled()
    fine = resample(values, (fine_guide.shape[-2], fine_guide.shape[-1]))
    return replace(search, defocus_map=_straight(voted_median(fine, passes)))


def _straight(defocus_map: Tensor) -> Tensor:
    """The map (h, w) with straight outlines; what lies between them hardly changes."""

    def around(votes: Tensor) -> Tensor:
        return box_mean(box_mean(votes, STRAIGHT_RADIUS), STRAIGHT_RADIUS)

    return voted_median(defocus_map, around)


def automatic_range(defocus_map: Tensor) -> tuple[float, float]:
    """Back and front scale that hold the map, without its rarest values."""
    ordered = defocus_map.flatten().sort().values
    tail = int(RANGE_TAIL * (len(ordered) - 1))
    front, back = float(ordered[tail]), float(ordered[-1 - tail])
    missing = max(MIN_RANGE - (back - front), 0.0) / 2
    front = max(front - missing, SMALLEST_SCALE)
    return max(back + missing, front + MIN_RANGE), front


def on_grid_of(problem: FitProblem, values: Tensor) -> Tensor:
    """A map of the search (h, w) on the grid of the problem's views."""
    return resample(values, (problem.views.shape[-2], problem.views.shape[-1]))
