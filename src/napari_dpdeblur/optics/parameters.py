"""OpticsParameters: tuned numbers of the lens model. Loads no torch."""

from __future__ import annotations

from napari_dpdeblur.settings_model import NO_UNIT, SettingsModel, setting


class OpticsParameters(SettingsModel):
    """Kernels on other grids, and the noise model."""

    negligible_mass: float = setting(
        1e-4,
        "share of the kernel",
        "Rows and columns at the rim of a rescaled kernel that hold less are cropped: they cost "
        "FFT area and change nothing visible.",
        ge=0,
        lt=0.5,
    )
    sharpening_steps: int = setting(
        5,
        "steps",
        "Richardson-Lucy steps that remove the blur added by the calibration; more would amplify "
        "the noise of the kernels.",
        ge=0,
        le=100,
    )
    noise_variance: float = setting(
        5e-5,
        "intensity squared, at a mean of 0.5",
        "Noise variance sigma^2 of the bias correction (Eq. 5), as published.",
        ge=0,
    )
    inverse_power: float = setting(
        1e2,
        NO_UNIT,
        "Inverse power spectrum |Phi|^2 of natural images (Eq. 5), as published.",
        gt=0,
    )
