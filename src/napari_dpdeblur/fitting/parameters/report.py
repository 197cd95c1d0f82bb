"""Tuned numbers of the layers' colours and of the fit report."""

from __future__ import annotations

from napari_dpdeblur.settings_model import NO_UNIT, SettingsModel, setting

SCALE = "defocus scale"
MAP_PX = "px of the map"
INTENSITY = "intensity, at a mean of 0.5"
SEARCH_PX = "px of the search"
VIEW_PX = "px of the views"
LOGIT = "logit"


class LayerColorParameters(SettingsModel):
    """Colours of the layers, solved through the renderer."""

    steps: int = setting(16, "steps", "Conjugate-gradient steps.", ge=0, le=1000)
    plane_step: float = setting(
        0.12, SCALE, "Distance of the planes that a slanted layer is rendered with.", gt=0
    )
    ridge: float = setting(
        3e-3,
        "squared error",
        "Weight that keeps colours near the all-in-focus image, and hidden ones as filled.",
        gt=0,
    )
    smoothness: float = setting(
        3e-4, "squared error", "Weight of total variation up to the noise `usual_noise`.", ge=0
    )
    usual_noise: float = setting(
        5e-3,
        INTENSITY,
        "Noise of the views, on the grid of the layers, from which the weight of total variation "
        "grows with its variance; below, errors of the kernels prevail.",
        gt=0,
    )
    data_diagonal: float = setting(
        1.0,
        "weight of the data",
        "What the preconditioner takes for the diagonal of the data term.",
        gt=0,
    )
    free_step: float = setting(
        0.02, INTENSITY, "Intensity step from which neighbours may differ freely.", gt=0
    )
    negligible_light: float = setting(
        2e-3, "share of the light", "Planes that give a tile less are skipped there.", ge=0
    )
    image_share: float = setting(
        0.5,
        "share of the change",
        "Step of the all-in-focus image towards the composite of the layers; half scores best.",
        ge=0,
        le=1,
    )
    gain_px: float = setting(
        40.0, MAP_PX, "Smoothness of the gain between the views: shading, not texture.", gt=0
    )
    max_gain: float = setting(
        0.2, "relative", "Largest gain of one view over the mean of both.", gt=0, lt=1
    )


class NoiseParameters(SettingsModel):
    """Noise estimated from the views."""

    intensities: int = setting(
        12, "ranges", "Ranges of intensity in which noise is measured.", ge=1, le=256
    )
    quiet_share: float = setting(
        0.4,
        "share of the pixels",
        "Quietest pixels of each range, which show noise only.",
        gt=0,
        le=1,
    )
    min_pixels: int = setting(50, "px", "Fewest pixels of a range that count.", ge=10, le=1_000_000)
    min_sigma: float = setting(
        1e-4, INTENSITY, "Smallest noise assumed: a synthetic view has none.", gt=0
    )


class ReportParameters(SettingsModel):
    """Verdict on how well a fit explains the views."""

    border_px: int = setting(
        16, MAP_PX, "Border left out: light from outside the image is unknown.", ge=0, le=1024
    )
    outline_px: int = setting(
        12, MAP_PX, "Distance from outlines within which the misfit is not measured.", ge=0, le=1024
    )
    smooth_px: int = setting(
        3, MAP_PX, "Width of the mean that separates a misfit from noise.", ge=1, le=64
    )
    good_misfit_px: float = setting(
        0.18, MAP_PX, "Largest misfit of kernels that fit the capture.", gt=0
    )
    acceptable_misfit_px: float = setting(
        0.24, MAP_PX, "Misfit from which the kernels belong to another lens.", gt=0
    )
    good_residual: float = setting(2.5, "noise", "Largest residual over noise of a good fit.", gt=0)
    acceptable_residual: float = setting(
        4.0, "noise", "Largest residual over noise of an acceptable fit.", gt=0
    )
    confident: float = setting(
        0.1, "confidence", "Pixels below this have an uncertain defocus.", ge=0, le=1
    )
    max_uncertain: float = setting(
        0.8,
        "share of the pixels",
        "Uncertain pixels above which there is too little texture.",
        ge=0,
        le=1,
    )
    max_clipped: float = setting(
        0.05, "share of the pixels", "Clipped pixels above which a fit is not good.", ge=0, le=1
    )


class ConfidenceParameters(SettingsModel):
    """Confidence of the defocus map: coefficients of a logistic function, fitted once."""

    agreeing_distance: float = setting(
        0.1, SCALE, "Distance at which an estimate agrees with the map by 1/e.", gt=0
    )
    region_px: int = setting(
        32,
        SEARCH_PX,
        "Radius of the wide neighbourhood whose estimates should agree.",
        ge=1,
        le=1024,
    )
    nearby_px: int = setting(
        2, SEARCH_PX, "Radius within which estimates may oppose the map.", ge=0, le=256
    )
    clear_weight: float = setting(
        30.0, NO_UNIT, "Weight of estimates from which their opposition counts by half.", gt=0
    )
    step_px: int = setting(
        4, SEARCH_PX, "Radius within which a step of the map makes it uncertain.", ge=0, le=256
    )
    half_step: float = setting(0.05, SCALE, "Step that counts by half.", gt=0)
    offset: float = setting(-1.8, LOGIT, "Logit without any agreement.", le=0)
    of_agreement: float = setting(6.0, LOGIT, "Gain if all estimates around agree.", ge=0)
    of_opposition: float = setting(3.6, LOGIT, "Loss if all evidence nearby opposes.", ge=0)
    of_step: float = setting(2.4, LOGIT, "Loss next to a large step of the map.", ge=0)


class ViewCheckParameters(SettingsModel):
    """Whether the views can be those of one exposure, checked before the fit."""

    disparity_px: float = setting(
        8.0, "px", "Disparity at scale 1 from which the views are reduced before matching.", gt=0
    )
    fine_px: float = setting(1.0, VIEW_PX, "Sigma of the blur against noise before matching.", gt=0)
    coarse_px: float = setting(8.0, VIEW_PX, "Sigma of the mean that is removed.", gt=0)
    block_px: int = setting(64, VIEW_PX, "Size of the blocks that are matched.", ge=16, le=1024)
    max_blocks: int = setting(
        400, "blocks", "Most blocks that are matched, evenly spaced.", ge=1, le=100_000
    )
    reach_px: int = setting(
        12, VIEW_PX, "Largest displacement of a block in each direction.", ge=1, le=256
    )
    min_correlation: float = setting(
        0.6, NO_UNIT, "Correlation of matched blocks below which the scenes differ.", ge=0, le=1
    )
    min_structure: float = setting(
        0.4, NO_UNIT, "Coarse over fine contrast below which views show noise only.", ge=0
    )
    max_vertical_px: float = setting(1.5, "px", "Largest vertical offset of the views.", gt=0)
    vertical_gain: float = setting(
        0.02, NO_UNIT, "Gain in correlation that makes a vertical offset certain.", ge=0
    )
    max_brightness: float = setting(
        1.4,
        "ratio",
        "Largest ratio of the views after vignetting correction; phones of one model differ by up "
        "to 1.3.",
        gt=1,
    )
    max_raw_brightness: float = setting(
        1.3, "ratio", "The same where vignetting was not measured.", gt=1
    )
