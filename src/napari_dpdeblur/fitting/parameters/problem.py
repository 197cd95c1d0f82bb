"""Tuned numbers of the checks and the preparation of a capture."""

from __future__ import annotations

from napari_dpdeblur.settings_model import SettingsModel, setting


class ProblemParameters(SettingsModel):
    """Checks and preparation of the capture."""

    min_size_px: int = setting(
        32, "px", "Smallest height and width; less holds no structure to fit.", ge=16
    )
    min_contrast: float = setting(
        2e-3,
        "share of the mean",
        "Standard deviation below which a capture counts as constant: it has nothing to compare.",
        ge=0,
    )
    saturated_level: float = setting(
        0.98,
        "share of white",
        "Level from which a pixel counts as saturated; a little below white, because of noise.",
        gt=0,
        le=1,
    )
    max_saturated: float = setting(
        0.25,
        "share of the pixels",
        "Saturated pixels above which a capture is refused: they contradict the lens model.",
        ge=0,
        le=1,
    )
    least_chromatic_px: float = setting(
        0.3,
        "px at the corners",
        "Shift of red or blue against green from which it is removed; less cannot be measured "
        "reliably.",
        ge=0,
    )
    row_fit_steps: int = setting(
        6,
        "steps",
        "Iterations that undo the bilinear interpolation of rows; a few are enough.",
        ge=0,
        le=1000,
    )
