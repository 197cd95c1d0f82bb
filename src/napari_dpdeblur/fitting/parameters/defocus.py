"""Tuned numbers of the defocus map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import model_validator

from napari_dpdeblur.settings_model import NO_UNIT, SettingsModel, setting

SCALE = "defocus scale"
MAP_PX = "px of the map"
INTENSITY = "intensity, at a mean of 0.5"


class SearchParameters(SettingsModel):
    """Range and resolution of the defocus search."""

    removed: ClassVar[Mapping[str, Any]] = {"swap_scales": 6, "swapped_cost": 0.8}

    largest_scale: float = setting(
        1.7,
        SCALE,
        "Largest scale tried, on both sides of the focus plane; the layers of the paper reach 1.6.",
        gt=0,
        le=4,
    )
    smallest_scale: float = setting(
        0.05, SCALE, "Smallest scale tried when only one side is searched.", gt=0, le=4
    )
    scales: int = setting(
        34, "scales", "Scales tried on one side; a parabola interpolates between.", ge=3, le=1000
    )
    signed_scales: int = setting(
        51, "scales", "Scales tried on both sides; odd, so that 0 is one of them.", ge=3, le=1000
    )
    disparity_px: float = setting(
        1.3,
        "px of the search",
        "Disparity of the calibrated blur that the reduced image must keep: a coarse search is "
        "fast and sees little noise.",
        gt=0,
    )
    disparity_tolerance: float = setting(
        1.2,
        "factor",
        "How far the disparity may miss this by: the reduction is a power of two.",
        ge=1,
    )
    min_size_px: int = setting(16, "px of the search", "Smallest side of the reduced image.", ge=4)
    swapped_share: float = setting(
        0.98,
        "share of the confidence",
        "The views may be swapped when more than this of the scene is found in front.",
        ge=0,
        le=1,
    )
    range_tail: float = setting(
        0.002,
        "share of the pixels",
        "Rarest values of the map on each side that the layers need not cover: outliers.",
        ge=0,
        lt=0.5,
    )
    min_range: float = setting(
        0.1, SCALE, "Smallest range of the layers, for scenes of one depth.", gt=0, le=4
    )
    front_limit: float = setting(
        0.03,
        SCALE,
        "Smallest scale of a layer when only one side is searched: practically in focus.",
        gt=0,
        le=4,
    )

    @model_validator(mode="after")
    def _falling(self) -> SearchParameters:
        if self.smallest_scale >= self.largest_scale:
            raise ValueError("smallest_scale must be smaller than largest_scale")
        return self


class CostVolumeParameters(SettingsModel):
    """Agreement of the two views at each defocus scale."""

    whitening: float = setting(
        2e-2,
        NO_UNIT,
        "C = sigma^2 |Phi|^2 of Eq. 4 at the highest frequency of the search, which whitens the "
        "residual; it falls with the square of the frequency, as in natural images.",
        gt=0,
    )
    whitening_floor: float = setting(
        0.1, "share of the whitening", "C at frequency 0: images are not infinitely bright.", gt=0
    )
    usual_noise: float = setting(
        2e-5,
        f"{INTENSITY}, squared",
        "Noise variance of the reduced views from which `whitening` is used as it is; less noise "
        "means proportionally less whitening, because C contains sigma^2.",
        gt=0,
    )
    least_whitening: float = setting(
        0.05, "share of the whitening", "What remains for views without noise.", gt=0, le=1
    )
    blend_px: int = setting(
        8, "px of the search", "Blending between tiles, without visible seams.", ge=0, le=512
    )
    high_pass_px: int = setting(
        4,
        "px of the search",
        "Radius of the mean removed from the residual: brightness differences, such as vignetting, "
        "say nothing about defocus.",
        ge=0,
        le=256,
    )
    aggregation_px: int = setting(
        2,
        "px of the search",
        "Radius over which squared residuals are averaged: noise against resolution.",
        ge=0,
        le=256,
    )


class LocalEstimateParameters(SettingsModel):
    """Defocus estimate of each pixel from its costs."""

    max_weight: float = setting(
        1e4, NO_UNIT, "Largest weight of one pixel, so that none dominates.", gt=0
    )
    confident_weight: float = setting(
        100.0, NO_UNIT, "Weight that means a confidence of one half.", gt=0
    )
    slope_radius_px: int = setting(
        2, "px of the search", "Neighbourhood whose gradients count as a pixel's own.", ge=0, le=256
    )
    min_slope_share: float = setting(
        0.1,
        "share of the energy",
        "Gradient energy along the disparity below which a pixel loses weight: lines along the "
        "disparity carry no information about defocus.",
        gt=0,
        le=1,
    )
    prominence: float = setting(
        3.0,
        "smallest cost",
        "How far the median cost must exceed the smallest one for half the weight: the minimum of "
        "noise is hardly below its other costs.",
        gt=0,
    )
    flat_cost: float = setting(
        1e-12, NO_UNIT, "Costs and curvatures count as at least this; avoids 0 / 0.", gt=0
    )


class PropagationParameters(SettingsModel):
    """Edge-aware propagation of the estimates."""

    smoothness: float = setting(
        3e4,
        "weight of one estimate",
        "Coupling of neighbours at the default weight `alpha`; large, because most pixels are "
        "without texture.",
        ge=0,
    )
    edge_contrast: float = setting(
        30.0, "1 / intensity", "How fast an intensity edge reduces the coupling.", ge=0
    )
    edge_floor: float = setting(
        1e-3, "share of the coupling", "Coupling that remains across the strongest edge.", ge=0
    )
    free_step: float = setting(
        0.02, SCALE, "Step of the map from which neighbours may differ freely.", gt=0
    )
    outlier_distance: float = setting(
        0.08, SCALE, "Distance from the map at which an estimate counts as an outlier.", gt=0
    )
    agreeing_radius_px: int = setting(
        4,
        "px of the search",
        "Neighbourhood that must share an estimate for it to keep its weight: noise scatters "
        "estimates over all scales, a surface does not.",
        ge=0,
        le=256,
    )
    agreeing_share: float = setting(
        0.6,
        "share of the weight",
        "Share of the neighbourhood that must agree; half of it is enough along an outline.",
        gt=0,
        le=1,
    )
    agreeing_step: float = setting(
        0.07, SCALE, "Distance within which estimates of neighbours count as the same.", gt=0
    )
    front_trust: float = setting(
        0.1,
        "share of the weight",
        "What estimates in front of the focus plane count in the first round, for the same reason "
        "as `nearer_trust`: where others disagree, those prevail.",
        gt=0,
        le=1,
    )
    nearer_trust: float = setting(
        0.05,
        "share of the weight",
        "What counts of an estimate in front of the focus plane that is nearer than the map: the "
        "blur of a near object reaches beyond its outline, over what lies behind it.",
        gt=0,
        le=1,
    )
    nearer_step: float = setting(
        0.1, SCALE, "Distance from the map from which an estimate counts as nearer.", gt=0
    )
    support_radius_px: int = setting(
        16,
        "px of the search",
        "Neighbourhood whose estimates decide whether a nearer one is blur from beside it.",
        ge=0,
        le=256,
    )
    least_support: float = setting(
        0.04,
        "share of the weight",
        "Weight of estimates that agree with the map, relative to that of nearer ones around, at "
        "which nearer ones lose half of what `nearer_trust` takes from them.",
        ge=0,
    )
    rounds: int = setting(
        7, "rounds", "Re-weighting rounds: time against convergence.", ge=1, le=1000
    )


class SolverParameters(SettingsModel):
    """Multigrid-preconditioned conjugate gradients of the propagation."""

    steps: int = setting(10, "steps", "Largest number of steps of one round.", ge=1, le=10_000)
    tolerance: float = setting(
        1e-5, "share of the right side", "Residual at which a round ends early.", ge=0
    )
    damping: float = setting(
        0.7, NO_UNIT, "Damping of the Jacobi smoother; must be below 1 to converge.", gt=0, le=1
    )
    smoothing_steps: int = setting(
        2, "steps", "Jacobi steps before and after each coarse correction.", ge=1, le=100
    )


class MapEdgeParameters(SettingsModel):
    """Alignment of the map's edges with those of the image."""

    pixel_pitch_px: int = setting(
        2,
        "px",
        "Calibrated pixels per pixel of the first all-in-focus image and of the map: half the "
        "resolution is enough for edges and four times as fast.",
        ge=1,
        le=64,
    )
    max_map_megapixels: float = setting(
        1.5,
        "million pixels",
        "Largest size of the map and of the grid on which layers are solved; for larger captures "
        "the pixels above are doubled until it is reached: what matters is the share of the frame.",
        gt=0,
    )
    guided_radius_px: int = setting(
        8, MAP_PX, "Radius of the guided median that moves edges to those of the image.", ge=1
    )
    guided_epsilon: float = setting(
        1e-3, f"{INTENSITY}, squared", "Variance of the image below which it has no edges.", gt=0
    )
    straight_radius_px: int = setting(
        7, MAP_PX, "Radius of the median that straightens the edges afterwards.", ge=0
    )
    median_bins: int = setting(
        24, "bins", "Bins of both medians; values are interpolated between them.", ge=2, le=1000
    )
