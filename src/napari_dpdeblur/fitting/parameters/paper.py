"""Tuned numbers of the published objective and its optimisation."""

from __future__ import annotations

from napari_dpdeblur.settings_model import NO_UNIT, SettingsModel, setting


class LossParameters(SettingsModel):
    """The published objective."""

    charbonnier_scale: float = setting(
        0.1, "intensity, at a mean of 0.5", "gamma of the Charbonnier function.", gt=0
    )
    edge_scale: float = setting(
        1 / 32, "intensity, at a mean of 0.5", "beta, contrast of an edge (S, Sec. 3.3).", gt=0
    )
    root_floor: float = setting(
        1e-12, NO_UNIT, "Smallest alpha under a root or logarithm; keeps gradients finite.", gt=0
    )


class PaperParameters(SettingsModel):
    """The published optimisation."""

    first_rate: float = setting(0.3, NO_UNIT, "Learning rate of the first step.", gt=0)
    last_rate: float = setting(
        0.1, NO_UNIT, "Learning rate of the last step; it falls exponentially.", gt=0
    )
    mean_decay: float = setting(0.9, NO_UNIT, "beta_1 of Adam.", ge=0, lt=1)
    square_decay: float = setting(0.999, NO_UNIT, "beta_2 of Adam.", ge=0, lt=1)
    step_floor: float = setting(1e-8, NO_UNIT, "epsilon of Adam.", gt=0)
    start_noise: float = setting(
        3e-12,
        "logit of alpha",
        "Noise of the starting alphas; as large as the rounding errors of the published code, "
        "which separate equal pixels of flat areas.",
        ge=0,
    )
    start_margin: float = setting(
        1e-6,
        "intensity",
        "Distance of the starting colours from 0 and 1: logits stay finite.",
        gt=0,
        lt=0.5,
    )
