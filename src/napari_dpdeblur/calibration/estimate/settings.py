"""Settings and tuned numbers of the lens estimate; imports no torch, so forms load quickly."""

from __future__ import annotations

from typing import Literal

from napari_dpdeblur.settings_model import NO_UNIT, SettingsModel, setting

Profile = Literal["automatic", "neutral", "pixel", "pixel 4", "canon full frame"]
PX = "px of the estimate"
RADII = "pupil radii"
SIGMAS = "standard deviations"


class DisparityParameters(SettingsModel):
    """First look at the disparity between the views, by matching."""

    coarse_width_px: int = setting(256, "px", "Width of the coarsest picture compared.", ge=32)
    largest_px: int = setting(
        12, "px of that picture", "Largest disparity looked for at each resolution.", ge=2
    )
    fine_px: float = setting(
        4.0, "px of that picture", "A smaller disparity is measured again on a finer one.", gt=0
    )
    window_px: int = setting(5, "px of that picture", "Radius of the windows compared.", ge=1)
    distinct: float = setting(
        0.25, "median cost", "Smallest cost of a match that counts, relative to the others.", gt=0
    )
    quantile: float = setting(
        0.9, "share of the matches", "Larger disparities may be mismatches.", gt=0.5, le=1
    )
    in_focus_px: float = setting(
        0.12, "px", "Largest disparity of a capture that is in focus everywhere.", ge=0
    )


class EvidenceParameters(SettingsModel):
    """Comparison of the cross-blurred views."""

    reduced_disparity_px: float = setting(
        0.9, PX, "Disparity at scale 1 that the reduced picture must keep.", gt=0
    )
    whitening: float = setting(
        5e-3, NO_UNIT, "C of Eq. 4, which keeps the whitened residual finite.", gt=0
    )
    high_pass_px: int = setting(
        5, PX, "Radius of the mean removed from the residual: vignetting says nothing.", ge=1
    )
    aggregation_px: int = setting(3, PX, "Radius over which squared residuals are averaged.", ge=0)
    stride_px: int = setting(3, PX, "Distance between the places that are compared.", ge=1)
    noise_floor: float = setting(
        0.5, "noise variance", "Added to the costs: less than noise is not worth explaining.", gt=0
    )
    softmin_sharpness: float = setting(
        4.0, "1 / log cost", "How sharply the best scale is preferred to the others.", gt=0
    )
    least_texture: float = setting(
        20.0, "noise variance", "Squared slope below which a place does not count.", ge=0
    )
    full_texture: float = setting(
        100.0, "noise variance", "Squared slope at which a place counts half.", ge=0
    )
    empty_tile: float = setting(
        0.03, "mean weight", "Tiles with less texture than this are left out.", ge=0
    )


class TileParameters(SettingsModel):
    """Division of the captures into tiles, and what is assumed of an unknown lens."""

    tiles: int = setting(8, "tiles", "Tiles along the longer side.", ge=1, le=64)
    smallest_px: int = setting(32, PX, "Smallest side of a tile.", ge=8)
    kernel_tiles: int = setting(
        12, "tiles", "Tiles of the kernel grid along the longer side of a large frame.", ge=1, le=64
    )
    kernel_tile_px: int = setting(
        96, "px", "Smaller tiles of the kernel grid only where `tiles` asks for them.", ge=8
    )
    context_px: int = setting(6, PX, "Context around a tile beyond the largest kernel.", ge=0)
    generic_ratio: float = setting(
        0.3, NO_UNIT, "Disparity over blur radius of a lens about which nothing is known.", gt=0
    )
    least_disparity_px: float = setting(
        0.3, "px", "Disparity at scale 1 of a generic lens at least: its kernel is no point.", gt=0
    )
    least_blur_px: float = setting(
        0.3, "px", "Optics that give less blur to a very distant point are not used.", gt=0
    )
    largest_blur: float = setting(
        0.5,
        "share of the longer side",
        "Optics that give more blur to a very distant point are not used: damaged EXIF data may "
        "say anything, and kernels of that size would fill the memory.",
        gt=0,
        le=1,
    )


class SpreadParameters(SettingsModel):
    """Standard deviations of the parameters of the pupil around a generic lens."""

    edge: float = setting(0.35, NO_UNIT, "Of the logarithm of the softness of the rim.", gt=0)
    rim: float = setting(0.5, NO_UNIT, "Of the brightness of the rim relative to the centre.", gt=0)
    coma: float = setting(0.5, NO_UNIT, "Of the slope of the brightness, at the edge.", gt=0)
    barrel_radius: float = setting(0.3, RADII, "Of the radius of the barrel.", gt=0)
    barrel_shift: float = setting(0.3, RADII, "Of its shift at the edge of the field.", gt=0)
    split_softness: float = setting(0.6, NO_UNIT, "Of the logarithm of the split's width.", gt=0)
    softness_difference: float = setting(0.2, NO_UNIT, "Of its difference between views.", gt=0)
    softness_growth: float = setting(0.5, NO_UNIT, "Of its growth towards the edge.", gt=0)
    split_shift: float = setting(0.5, RADII, "Of the shift of the split at the edge.", gt=0)
    split_cubic: float = setting(0.3, RADII, "Of the cubic part of that shift.", gt=0)
    split_offset: float = setting(0.2, RADII, "Of its place in the centre of the field.", gt=0)
    contrast: float = setting(1.0, "logit", "Of the contrast between the views.", gt=0)
    contrast_difference: float = setting(0.5, "logit", "Of its difference between views.", gt=0)
    contrast_growth: float = setting(0.5, "logit", "Of its growth towards the edge.", gt=0)
    aspect: float = setting(0.08, NO_UNIT, "Of the logarithm of height over width.", gt=0)
    astigmatism: float = setting(0.15, NO_UNIT, "Of the logarithm of the radial stretch.", gt=0)
    known_optics: float = setting(
        0.1,
        "share of the spread",
        "Of the shape that both views share when the optics give the size of the blur: the views' "
        "difference says little about it, and it need not make up for a wrong size.",
        gt=0,
        le=1,
    )
    known_optics_edge: float = setting(
        0.06, RADII, "Softness of the rim in that case: the image of an aperture is hard.", gt=0
    )


class VerdictParameters(SettingsModel):
    """Limits of the verdict: up to (or from) `good`, beyond `bad`."""

    half_share: float = setting(
        0.3, "share of the steps", "Steps in which the lens adapts to half of the picture.", gt=0
    )
    good_texture: float = setting(0.15, "share of the picture", "Texture that is enough.", ge=0)
    bad_texture: float = setting(0.05, "share of the picture", "Texture that is too little.", ge=0)
    good_gain: float = setting(0.05, "log cost", "Held-out gain over a neutral lens.")
    bad_gain: float = setting(-0.02, "log cost", "Held-out gain of a lens that explains nothing.")
    good_difference: float = setting(0.25, NO_UNIT, "Difference of the lenses of two halves.", ge=0)
    bad_difference: float = setting(0.4, NO_UNIT, "Difference of contradicting halves.", ge=0)
    good_deviation: float = setting(2.0, SIGMAS, "Distance from the generic lens, RMS.", ge=0)
    bad_deviation: float = setting(3.5, SIGMAS, "Distance of an implausible lens.", ge=0)


class RefineParameters(SettingsModel):
    """Adaptation of an existing calibration."""

    coefficient_spread: float = setting(
        0.15, NO_UNIT, "Standard deviation of a coefficient of the correction.", gt=0
    )
    largest_exponent: float = setting(2.0, NO_UNIT, "Limit of the logarithmic correction.", gt=0)
    careful: float = setting(
        0.5, "share of the learning rate", "Smaller steps: the lens is nearly right.", gt=0, le=1
    )
    least_gain: float = setting(0.01, "log cost", "Held-out gain that a change must bring.", ge=0)


class LensParameters(SettingsModel):
    """Optimisation of the pupil."""

    largest_scale: float = setting(
        1.65, "defocus scale", "Largest scale tried on each side of the focus plane.", gt=0
    )
    scales: int = setting(11, "scales", "Scales tried on each side.", ge=3, le=100)
    typical_scale: float = setting(
        1.5,
        "defocus scale",
        "Scale given to the largest disparity when the optics are unknown.",
        gt=0,
    )
    least_share: float = setting(
        0.03, "share of the evidence", "A side of the focus plane with less is not followed.", ge=0
    )
    plain_share: float = setting(
        0.3,
        "share of the steps",
        "First steps, which compare the views at the scales alone: that leads from farther away, "
        "but less exactly, than to interpolate between the scales.",
        ge=0,
        le=1,
    )
    learning_rate: float = setting(
        0.1, "standard deviations", "Step of Adam at the start; see `prior`.", gt=0
    )
    last_rate: float = setting(0.03, "share of the first rate", "Its value at the end.", gt=0, le=1)
    mean_decay: float = setting(0.85, NO_UNIT, "beta_1 of Adam.", ge=0, lt=1)
    square_decay: float = setting(0.97, NO_UNIT, "beta_2 of Adam.", ge=0, lt=1)
    prior: float = setting(
        0.02, "log cost", "Weight of one squared standard deviation from the generic lens.", ge=0
    )
    window_pixels: int = setting(
        600_000, "px of the estimate", "Pixels compared in one step; more tiles take turns.", gt=0
    )
    steps_per_capture: int = setting(
        2, "steps", "Further steps for each capture after the first.", ge=0
    )


class EstimateSettings(SettingsModel):
    """Starting point, grid and effort of the lens estimate."""

    profile: Profile = setting(
        "automatic",
        NO_UNIT,
        "Generic lens to start from; automatic: by the name of the camera, else neutral.",
    )
    rows: int | None = setting(
        None, "tiles", "Tiles from top to bottom; found from the shape when not given.", ge=1, le=64
    )
    cols: int | None = setting(
        None, "tiles", "Tiles from left to right; found from the shape when not given.", ge=1, le=64
    )
    steps: int = setting(40, "steps", "Steps of the optimisation of the lens.", ge=1, le=1000)
    disparity: DisparityParameters = setting(
        DisparityParameters(), NO_UNIT, "First look at the disparity.", is_expert=True
    )
    evidence: EvidenceParameters = setting(
        EvidenceParameters(), NO_UNIT, "Comparison of the views.", is_expert=True
    )
    lens: LensParameters = setting(
        LensParameters(), NO_UNIT, "Optimisation of the pupil.", is_expert=True
    )
    tiles: TileParameters = setting(
        TileParameters(), NO_UNIT, "Division of the captures.", is_expert=True
    )
    spread: SpreadParameters = setting(
        SpreadParameters(), NO_UNIT, "How much lenses differ.", is_expert=True
    )
    verdict: VerdictParameters = setting(
        VerdictParameters(), NO_UNIT, "Limits of the verdict.", is_expert=True
    )
    refine: RefineParameters = setting(
        RefineParameters(), NO_UNIT, "Adaptation of a calibration.", is_expert=True
    )
