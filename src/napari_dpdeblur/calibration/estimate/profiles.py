"""Generic lenses by camera family: where an estimate starts.

Parameters of a model, not measurements: those of a family are rounded estimates from several
ordinary captures, with weak priors; the neutral lens lies between them. The softness of the rim
stays at what the samples of the pupil resolve, as the captures would take any harder one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from napari_dpdeblur.calibration.estimate.pupil import NAMES, PupilParameters
from napari_dpdeblur.calibration.estimate.settings import Profile, SpreadParameters
from napari_dpdeblur.capture import DualPixelCapture

PROFILES: dict[str, PupilParameters] = {
    "neutral": PupilParameters(),
    "pixel": PupilParameters(
        edge=math.log(0.08),
        rim=0.45,
        coma=-0.9,
        barrel_radius=1.37,
        barrel_shift=0.16,
        split_softness=math.log(0.75),
        split_shift=0.6,
        contrast=2.4,
        astigmatism=0.25,
    ),
    "pixel 4": PupilParameters(
        edge=math.log(0.06),
        rim=0.74,
        coma=-1.6,
        barrel_radius=1.42,
        barrel_shift=0.14,
        split_softness=math.log(0.83),
        softness_growth=0.1,
        split_shift=0.65,
        split_cubic=-0.1,
        contrast=2.6,
        contrast_difference=-0.2,
        contrast_growth=0.1,
        astigmatism=0.4,
    ),
    "canon full frame": PupilParameters(
        split_softness=math.log(1.8), softness_growth=0.3, split_shift=0.4, contrast=1.3
    ),
}
FAMILIES = {  # by a word in camera or format, the first that is found
    "canon": "canon full frame",
    "pixel 4": "pixel 4",
    "pixel-published": "pixel 4",  # the published scenes
    "pixel": "pixel",
}


# Of the disc that both views share; the others tell the views apart.
SHARED = ("edge", "rim", "coma", "barrel_radius", "barrel_shift", "aspect", "astigmatism")


def generic_lens(profile: str, parameters: SpreadParameters, has_optics: bool) -> Tensor:
    """Parameters of the lens of a profile; its rim is hard where the optics are known."""
    lens = PROFILES[profile]
    if has_optics:
        lens = replace(lens, edge=math.log(parameters.known_optics_edge))
    return lens.tensor()


def spread(parameters: SpreadParameters, has_optics: bool) -> Tensor:
    """Standard deviations in the order of the parameters."""
    share = parameters.known_optics if has_optics else 1.0
    return torch.tensor(
        [getattr(parameters, name) * (share if name in SHARED else 1.0) for name in NAMES]
    )


def chosen_profile(captures: Sequence[DualPixelCapture], profile: Profile) -> str:
    """The profile by name; automatic: by the camera or the file format of the captures."""
    if profile != "automatic":
        return profile
    first = captures[0]
    camera = (first.optics and first.optics.camera) or ""
    known = f"{camera} {first.source.format}".lower()
    return next((name for word, name in FAMILIES.items() if word in known), "neutral")
