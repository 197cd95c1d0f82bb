"""Tuned numbers of the surfaces and of the layers made from them."""

from __future__ import annotations

from typing import TypeVar

from napari_dpdeblur.settings_model import NO_UNIT, SettingsModel, setting

Ranged = TypeVar("Ranged", bound=SettingsModel)

SCALE = "defocus scale"
PER_SCALE = "intensity per defocus scale"
MAP_PX = "px of the map"
INTENSITY = "intensity, at a mean of 0.5"


TYPICAL_RANGE = 0.65  # of a map, in defocus scales: what the steps below suit
SMALLEST_FACTOR = 0.05


def for_range(parameters: Ranged, extent: float) -> Ranged:
    """Parameters whose steps suit a map whose values extend over ``extent`` defocus scales.

    A scene close to the focus plane has all its depth within a few tenths of a scale: its steps
    are as small.
    """
    factor = min(max(extent / TYPICAL_RANGE, SMALLEST_FACTOR), 1.0)
    changed = {}
    for name, field in type(parameters).model_fields.items():
        extra = field.json_schema_extra
        unit = extra.get("unit") if isinstance(extra, dict) else None
        if unit == SCALE:
            changed[name] = factor * getattr(parameters, name)
        elif unit == PER_SCALE:
            changed[name] = getattr(parameters, name) / factor
    return parameters.model_copy(update=changed)


class SurfaceParameters(SettingsModel):
    """Division of a defocus map into surfaces."""

    plateau_radius_px: int = setting(
        3, MAP_PX, "Neighbourhood in which the map must be flat on a plateau.", ge=1, le=64
    )
    plateau_range: float = setting(
        0.05, SCALE, "Largest range of the map within that neighbourhood.", gt=0
    )
    confidence_floor: float = setting(
        0.05, NO_UNIT, "What a pixel without confidence counts: textureless surfaces exist.", gt=0
    )
    level_rms: float = setting(
        0.035,
        SCALE,
        "Rms distance of plateau pixels from the levels; the fewest levels that achieve it are "
        "used.",
        gt=0,
    )
    level_distance: float = setting(
        0.25, SCALE, "Plateaus farther than this from all levels get levels of their own.", gt=0
    )
    max_levels: int = setting(12, "levels", "Largest number of levels.", ge=1, le=64)
    histogram_bins: int = setting(
        160, "bins", "Resolution of the values when levels are sought.", ge=16, le=4096
    )
    range_tail: float = setting(
        5e-4, "share of the pixels", "Rarest values that levels need not cover.", ge=0, lt=0.5
    )
    min_area: float = setting(
        5e-4, "share of the image", "Smaller plateaus are no surfaces of their own.", ge=0, le=1
    )
    map_edge_share: float = setting(
        1.5,
        PER_SCALE,
        "What a step of the map counts against an edge of the image when outlines are placed.",
        ge=0,
    )
    outline_px: float = setting(
        4.0,
        MAP_PX,
        "Width of the Gaussian vote that straightens outlines: those of the sharp image ripple.",
        gt=0,
        le=64,
    )
    smooth_step: float = setting(
        0.06,
        SCALE,
        "Range of the map across a border below which both sides may be one sloping surface.",
        ge=0,
    )
    border_radius_px: int = setting(
        4, MAP_PX, "Neighbourhood of a border in which that range is taken.", ge=1, le=64
    )
    near_step: float = setting(
        0.1,
        f"{SCALE}, of any scene",
        "Difference of two levels below which a slope between them is real: blur is too small to "
        "make one of a step.",
        ge=0,
    )
    gradual_share: float = setting(
        0.6,
        "share of the difference",
        "Range of the map across a border, relative to the difference of the levels beside it, "
        "below which it is a slope.",
        ge=0,
    )
    smooth_share: float = setting(
        0.25,
        "share of the difference",
        "The same for long borders, whatever the difference.",
        ge=0,
    )
    long_border: float = setting(
        1.5,
        "root of the area",
        "Length of such a border, relative to the square root of the smaller region's area.",
        ge=0,
    )
    open_border: float = setting(
        0.3,
        "share of the border",
        "Part of a region's border that must be such slopes for it to have no outline of its own.",
        ge=0,
        le=1,
    )
    slope_weight: float = setting(
        0.05,
        NO_UNIT,
        "What a slope counts within such a region, beside the confidence of its plateaus.",
        gt=0,
    )
    joined_variance: float = setting(
        0.85,
        "share of the variance",
        "Variance of each of several flat parts around one slope below which they are one surface.",
        ge=0,
    )
    joined_total: float = setting(
        0.5,
        "share of the variance",
        "The same for the variance of all parts together, if not for each of them.",
        ge=0,
    )
    joined_step: float = setting(
        0.2, SCALE, "Levels of one slope do not differ more than this from each other.", gt=0
    )
    island_area: float = setting(
        0.01,
        "share of the image",
        "Smaller regions belong to a neighbour of nearly the same defocus.",
        ge=0,
        le=1,
    )
    island_step: float = setting(0.12, SCALE, "What counts as nearly the same defocus.", ge=0)
    transition_area: float = setting(
        0.03,
        "share of the image",
        "Smaller regions between a nearer and a farther one are slopes of the map, not things.",
        ge=0,
        le=1,
    )
    transition_confidence: float = setting(
        0.35, "confidence", "They are so only if their confidence is below this.", ge=0, le=1
    )
    transition_step: float = setting(
        0.08, SCALE, "And only if both neighbours differ by more than this.", ge=0
    )
    slope_range: float = setting(
        0.05, SCALE, "Range of a fitted plane from which a surface can be slanted.", gt=0
    )
    slope_r2: float = setting(
        0.7,
        "share of the variance",
        "What a plane must explain for a surface to be slanted.",
        ge=0,
        le=1,
    )
    curve_r2: float = setting(
        0.9,
        "share of the variance",
        "What a quadric must explain for a surface to be curved: maps of flat things bulge, too.",
        ge=0,
        le=1,
    )
    curve_gain: float = setting(
        0.2,
        "share of the variance",
        "What a quadric must explain beyond a plane for a surface to be curved.",
        ge=0,
        le=1,
    )
    detail_px: float = setting(
        6.0, MAP_PX, "Smoothing of the map within surfaces that are not flat.", gt=0, le=256
    )
    flat_share: float = setting(
        0.2,
        "share of the defocus",
        "Deviation of the map from a flat surface that errors of the kernels can explain: they "
        "change the defocus by a share of it. Larger ones are real.",
        ge=0,
    )


class LayerStackParameters(SettingsModel):
    """Layers made from surfaces."""

    same_layer_step: float = setting(
        0.06, SCALE, "Surfaces whose defocus differs less share a layer.", ge=0
    )
    divisible_range: float = setting(
        0.05,
        SCALE,
        "Range of defocus from which a surface can be divided when more layers are asked for.",
        gt=0,
    )
    occlusion_step: float = setting(
        0.12, SCALE, "Step of the defocus from which one surface occludes another.", gt=0
    )
    matte_px: int = setting(3, MAP_PX, "Radius of the guided filter of the mattes.", ge=1, le=64)
    matte_epsilon: float = setting(
        2e-3, f"{INTENSITY}, squared", "Variance of the image below which a matte is hard.", gt=0
    )
    matte_tail: float = setting(
        0.1, "share", "Mattes below this are transparent, above the rest opaque.", ge=0, lt=0.5
    )
    outline_px: int = setting(
        2, MAP_PX, "Distance from an outline within which pixels may be mixed.", ge=1, le=64
    )
    seen_share: float = setting(
        0.9, "share", "Pixels of which less is seen do not colour hidden parts.", gt=0, lt=1
    )
    continuation_px: int = setting(
        24,
        MAP_PX,
        "How far a surface continues behind nearer ones: as far as blur and parallax see.",
        ge=0,
        le=1024,
    )
