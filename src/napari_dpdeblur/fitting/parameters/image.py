"""Tuned numbers of the all-in-focus image, the layers and the filters at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from napari_dpdeblur.settings_model import NO_UNIT, SettingsModel, setting

SCALE = "defocus scale"
INTENSITY = "intensity, at a mean of 0.5"


class OcclusionParameters(SettingsModel):
    """Deblurring next to occlusion boundaries."""

    tolerated_step: float = setting(
        0.1, SCALE, "Steps of the map up to this size are slopes of one surface.", ge=0
    )
    reach: float = setting(
        4.5,
        "rms radii of the kernel",
        "How far blur of scale 1 carries light that matters.",
        gt=0,
    )
    front_reach: float = setting(
        1.2,
        "rms radii of the kernel",
        "How far beyond its outline the blur of something in front of the focus plane is removed.",
        ge=0,
    )
    front_step: float = setting(
        0.2, SCALE, "Range of defocus in front whose blur counts as equal.", gt=0
    )
    full_step: float = setting(
        0.05, SCALE, "Change of the map from which a pixel fully counts as at a boundary.", gt=0
    )
    range_px: int = setting(
        8, "px", "Neighbourhood whose captured range limits the image at boundaries.", ge=1
    )


class WienerParameters(SettingsModel):
    """Two-view Wiener deconvolution."""

    removed: ClassVar[Mapping[str, Any]] = {"scales": 16}

    noise_to_signal: float = setting(
        1e-2,
        NO_UNIT,
        "Regularisation at the default weight `intensity` and the noise `reference_noise`; less "
        "amplifies noise and ringing.",
        gt=0,
    )
    reference_noise: float = setting(
        5.7e-3,
        "intensity, at a mean of 0.5",
        "Noise of the views at mean intensity, at half resolution, that needs all of it; it falls "
        "with the variance of the noise.",
        gt=0,
    )
    least_share: float = setting(
        0.3,
        "share of the regularisation",
        "What views with little noise keep: kernels are not exact.",
        gt=0,
        le=1,
    )
    min_noise_to_signal: float = setting(
        1e-6, NO_UNIT, "Regularisation with weight 0; avoids a division by zero.", gt=0
    )
    scale_step: float = setting(
        0.1,
        SCALE,
        "Distance between deconvolved images, between which the map interpolates; 0 is one.",
        gt=0,
        le=4,
    )
    blend_px: int = setting(
        16, "px", "Blending between tiles, without visible seams.", ge=0, le=512
    )
    margin_px: int = setting(
        32, "px", "Context around each tile: an inverse filter is longer than the filter.", ge=0
    )


class PriorParameters(SettingsModel):
    """Repeated deconvolution with the previous image as prior."""

    detail_weight: float = setting(
        1.0,
        NO_UNIT,
        "Weight of the prior in the first repetition, relative to regularisation without one; "
        "small, because the image still rings.",
        gt=0,
    )
    detail_variation: float = setting(
        0.05,
        INTENSITY,
        "Total-variation smoothing of the first prior: only strong edges remain.",
        gt=0,
    )
    refine_weight: float = setting(
        6.0, NO_UNIT, "Weight in the second repetition; larger, because the image rings less.", gt=0
    )
    refine_variation: float = setting(
        0.03, INTENSITY, "Smoothing of the second prior, which keeps finer detail.", gt=0
    )
    occluder_step: float = setting(
        0.4, SCALE, "Difference from which something is in front of a surface.", gt=0
    )
    occluder_blend: float = setting(
        0.1, SCALE, "Width of the transition around this difference.", gt=0
    )
    boundary_reach_px: int = setting(
        12, "px", "How far an occlusion boundary of scale 1 is blurred.", ge=0
    )
    boundary_step: float = setting(
        0.2, SCALE, "Range of defocus whose boundaries are treated as equally blurred.", gt=0
    )
    boundary_fade_px: int = setting(
        2, "px", "Fading of the mask of occluders, against seams.", ge=0
    )


class VariationParameters(SettingsModel):
    """Total-variation filter."""

    steps: int = setting(
        30, "steps", "Steps of the dual projection: time against convergence.", ge=1, le=10_000
    )
    step_size: float = setting(
        0.25, NO_UNIT, "Step of the dual projection; the largest that converges.", gt=0, le=0.25
    )


class LayerParameters(SettingsModel):
    """Layers made from the defocus map."""

    occlusion_reach_px: int = setting(
        12,
        "px",
        "How far a surface continues behind another: blurred edges let light past from there.",
        ge=0,
    )
    occlusion_step: float = setting(
        1.5, "layers", "Distance from which one surface occludes another.", gt=0
    )


class DeringingParameters(SettingsModel):
    """Removal of ringing and noise where the views are flat."""

    fine_px: int = setting(2, "px", "Details below this size are noise in a view.", ge=1)
    local_px: int = setting(5, "px", "Neighbourhood whose structure counts as a pixel's own.", ge=1)
    reach_px: int = setting(32, "px", "How far from an edge ringing extends.", ge=0)
    fade_px: int = setting(12, "px", "Fading of that distance.", ge=0)
    coarse_px: int = setting(4, "px", "Resolution at which edges are detected.", ge=1)
    trusted_share: float = setting(
        0.01,
        "share of the edge's energy",
        "Structure near an edge that is stronger is texture, not ringing.",
        gt=0,
    )
    quiet_quantile: float = setting(
        0.05, "share of the pixels", "Quantile of structure that estimates noise.", ge=0, le=1
    )
    quiet_factor: float = setting(50.0, "noise energy", "Structure that counts as noise.", ge=0)
    variation: float = setting(
        0.2, INTENSITY, "Total-variation smoothing where the views are flat.", gt=0
    )
    dark_quantile: float = setting(
        1e-3,
        "share of the pixels",
        "Quantile that counts as the darkest captured value.",
        ge=0,
        le=1,
    )
    darker_by: float = setting(
        0.7,
        "share of the darkest value",
        "Lower limit of the image: blur brightens dark details, but not more than this.",
        ge=0,
        le=1,
    )


class ResultParameters(SettingsModel):
    """Filters of the finished image and map."""

    guided_radius_px: int = setting(
        16, "px", "Radius of the guided filter of the map (`guided_filter`).", ge=1
    )
    guided_epsilon: float = setting(
        1e-3, f"{INTENSITY}, squared", "Variance of the image below which it has no edges.", gt=0
    )
    bilateral_sigma_px: float = setting(
        3.0,
        "px",
        "Spatial width of the bilateral filter (`smooth_image`), as published.",
        gt=0,
        le=10,
    )
    deblurred_scale: float = setting(
        0.3,
        SCALE,
        "Defocus from which the image is smoothed fully; what is in focus stays as captured.",
        gt=0,
        le=4,
    )
