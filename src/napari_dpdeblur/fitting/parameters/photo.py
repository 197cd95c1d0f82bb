"""Tuned numbers of the colour that is taken from a photo."""

from __future__ import annotations

from napari_dpdeblur.settings_model import NO_UNIT, SettingsModel, setting

SHARE = "share"


class RegistrationParameters(SettingsModel):
    """Alignment of a photo with the capture."""

    working_px: int = setting(
        1000, "px", "Longer side of the reduced pictures in which features are searched.", ge=100
    )
    features: int = setting(4000, "features", "Most features of each picture.", ge=100)
    distinctness: float = setting(
        0.8,
        "ratio of distances",
        "A feature matches if its best partner is closer than this share of the second best.",
        gt=0,
        le=1,
    )
    tolerance_px: float = setting(
        4.0,
        "px of the reduced pictures",
        "How far matching features may lie from a common perspective: parallax moves them.",
        gt=0,
    )
    least_matches: int = setting(
        16, "features", "Fewer features that agree on one perspective are a coincidence.", ge=4
    )
    least_overlap: float = setting(
        0.25, SHARE, "Part of the capture that the photo must show at least.", ge=0, le=1
    )
    tile_px: int = setting(
        32, "px", "Half the side of the tiles whose displacement is measured.", ge=4
    )
    dense_steps: int = setting(
        4, "steps", "Rounds of measuring and fitting displacements at each resolution.", ge=1
    )
    final_steps: int = setting(
        2, "steps", "Rounds of the alignment with the sharp image, which starts close.", ge=1
    )
    levels: int = setting(3, "resolutions", "Resolutions of the dense refinement.", ge=1, le=6)
    least_agreement: float = setting(
        0.45,
        "correlation",
        "Median correlation of the details of tiles below which the photo is of another scene.",
        ge=0,
        le=1,
    )
    stiffness: float = setting(
        0.01, "share of the data", "Weight that keeps unneeded distortion small.", gt=0
    )
    constant_contrast: float = setting(
        0.02,
        "share of the mean",
        "Standard deviation below which a photo counts as black or uniform.",
        ge=0,
    )


class ColorParameters(SettingsModel):
    """Colour ratios, taken from a photo and spread along the surfaces of the fit."""

    brightness_px: float = setting(
        40.0, "px", "Scale on which photo and capture may differ in brightness.", gt=0
    )
    agreement: float = setting(
        0.12,
        "relative difference",
        "Difference of green between photo and sharp image that halves the trust in a colour.",
        gt=0,
    )
    disagreement_px: float = setting(
        6.0, "px", "Neighbourhood in which photo and capture must show the same surface.", gt=0
    )
    disagreement: float = setting(
        0.35,
        "relative difference",
        "Mean difference of green in that neighbourhood from which the photo shows something else.",
        gt=0,
    )
    dark_level: float = setting(
        0.003, "share of white", "Brightness of the photo below which noise hides colours.", gt=0
    )
    clipped_weight: float = setting(
        0.02, SHARE, "Weight of pixels that are too bright in the photo.", ge=0, le=1
    )
    smallest_window_px: int = setting(
        4, "px", "Radius of the windows that see the fewest colours.", ge=1
    )
    middle_window_px: int = setting(12, "px", "Radius of windows of middle size.", ge=1)
    largest_window_px: int = setting(
        30, "px", "Radius of the windows that see beyond the photo's blur.", ge=1
    )
    flatness: float = setting(
        0.03,
        "share of the brightness",
        "Contrast of the photo below which a surface has one ratio of colours.",
        gt=0,
    )
    tolerance: float = setting(
        0.02,
        "share of the brightness",
        "Deviation from a line of colours that noise explains.",
        gt=0,
    )
    least_detail: float = setting(
        0.05, SHARE, "Weight of colours where the photo is blurred differently.", gt=0, le=1
    )
    sharpness_px: float = setting(
        4.0, "px", "Neighbourhood in which the sharpness of photo and fit is compared.", gt=0
    )
    residual_px: float = setting(
        1.0, "px", "Smoothing of colours that lie on no line, which removes noise.", gt=0
    )
    outline_px: int = setting(
        2, "px", "Colours of a layer are measured further inside its outline than this.", ge=0
    )
    filled_trust: float = setting(
        0.01,
        SHARE,
        "Mean trust in the largest window below which a colour is filled in from further around.",
        ge=0,
        le=1,
    )
    largest_ratio: float = setting(
        60.0, NO_UNIT, "Largest ratio of red or blue to green; more is noise.", gt=1
    )

    @property
    def windows_px(self) -> tuple[int, int, int]:
        """Radii of all windows in which colours are measured."""
        return self.smallest_window_px, self.middle_window_px, self.largest_window_px
