"""The equivalent command line of a fit."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.capture.picture_pair import PICTURE_PAIR
from napari_dpdeblur.fitting.settings import FitSettings

SETTINGS_FILE = "fit.yaml"
NO_FILE = {"capture": "CAPTURE", "calibration": "CALIBRATION.dpcal"}


def fit_command(
    capture: DualPixelCapture,
    calibration_path: str | Path | None,
    settings: FitSettings,
    crop: Sequence[int] | None = None,
    output: str | Path | None = None,
    is_estimated: bool = False,
    photo: Path | None = None,
) -> str:
    """`napari-dpdeblur fit ...`, quoted for a shell; ``is_estimated``: without a calibration.

    Settings without a command-line option come from a YAML file, which
    :meth:`FitSettings.to_yaml` gives the content of. What has no file is a name in capitals.
    """
    files = list(capture.source.files) or [NO_FILE["capture"]]
    words = ["napari-dpdeblur", "fit", *files]
    if capture.source.files:
        words += ["--black-level", f"{capture.black:g}", "--white-level", f"{capture.white:g}"]
        words += _reading_words(capture)
    if not is_estimated:
        words += ["--calibration", str(calibration_path or NO_FILE["calibration"])]
    if photo is not None:
        words += ["--photo", str(photo)]
    words += _settings_words(settings)
    if crop is not None:
        words += ["--crop", ",".join(str(value) for value in crop)]
    words += ["-o", str(output or f"{capture.name}-run")]
    return shlex.join(words)


def _reading_words(capture: DualPixelCapture) -> list[str]:
    """What pictures of unknown origin do not say about themselves."""
    if capture.source.format != PICTURE_PAIR.id:
        return []
    return ["--encoding", capture.encoding, "--orientation", capture.orientation]


def _settings_words(settings: FitSettings) -> list[str]:
    simple = FitSettings.of(
        {"preset": settings.preset, "device": settings.device, "layers": settings.layers}
    )
    if settings != simple:
        return ["--settings", SETTINGS_FILE]
    default = FitSettings()
    words = []
    for name in ("preset", "device", "layers"):
        value = getattr(settings, name)
        if value != getattr(default, name):
            words += [f"--{name}", str(value)]
    return words
