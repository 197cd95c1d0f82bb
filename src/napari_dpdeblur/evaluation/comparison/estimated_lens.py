"""Fits with a lens that is estimated from the captures of the comparison, as methods."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napari_dpdeblur import __version__
from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.evaluation.comparison.methods import NamedMethod, fit_prediction
from napari_dpdeblur.evaluation.comparison.scenes import opened_scene
from napari_dpdeblur.fitting.presets import PRESETS

if TYPE_CHECKING:
    from napari_dpdeblur.array_types import Crop
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.evaluation.baselines.prediction import Prediction

ONE, SEVERAL = "one", "several"
AT = "@"  # between the preset and how the lens is known: standard@one
MAX_SCENES = 8
LENS_FOLDER, LENS_FILE = "lenses", "lens.dpcal"
SOURCES = {ONE: "lens estimated from the capture", SEVERAL: "lens estimated from the scenes"}


@dataclass(frozen=True)
class EstimatedLenses:
    """Lenses of the scenes of a data folder, kept in the folder of the report."""

    data: Path
    scenes: Sequence[str]
    report: Path
    optics: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def chosen(self) -> Sequence[str]:
        """The scenes that the common lens is estimated from: at most eight, evenly spread."""
        return self.scenes[:: -(-len(self.scenes) // MAX_SCENES)]

    @property
    def captures(self) -> list[DualPixelCapture]:
        """The captures of these scenes."""
        return [opened_scene(self.data, scene).with_optics(**self.optics) for scene in self.chosen]

    @cached_property
    def common(self) -> Calibration:
        """One lens, estimated from several scenes."""
        return _estimated(self.captures, self.report / LENS_FILE)

    def of_capture(self, capture: DualPixelCapture) -> Calibration:
        """The lens, estimated from one capture."""
        folder = self.report / LENS_FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        return _estimated([capture], folder / f"{capture.name}.dpcal")


def _estimated(captures: Sequence[DualPixelCapture], kept: Path) -> Calibration:
    from napari_dpdeblur.calibration.kept_estimate import lens_events
    from napari_dpdeblur.generators import finish

    return finish(lens_events(captures, kept=kept, resume=True))


def is_estimated_name(name: str) -> bool:
    """Whether the name of a method asks for an estimated lens: `standard@one`."""
    preset, at, source = name.partition(AT)
    return bool(at) and preset in PRESETS and source in SOURCES


def estimated_lens_method(name: str, lenses: EstimatedLenses) -> NamedMethod:
    """A preset of the fit with an estimated lens, on the field of the calibration."""
    if not is_estimated_name(name):
        raise EvaluationError(
            f"Unknown method {name}; with an estimated lens there are "
            f"{', '.join(f'{preset}{AT}{how}' for preset in PRESETS for how in SOURCES)}."
        )
    preset, _, source = name.partition(AT)
    scenes = list(lenses.chosen) if source == SEVERAL else None
    identity = json.dumps([__version__, name, scenes, dict(lenses.optics)], sort_keys=True)

    def predict(capture: DualPixelCapture, calibration: Calibration) -> Prediction:
        lens = lenses.of_capture(capture) if source == ONE else lenses.common
        return fit_prediction(capture, lens, {"preset": preset}, _field_of(calibration, lens))

    label = f"napari-dpdeblur, {preset}, {SOURCES[source]}"
    return NamedMethod(name, label, predict, lambda scene: identity)


def _field_of(calibration: Calibration, lens: Calibration) -> Crop | None:
    """The calibrated field as a crop of the estimated lens, which covers the whole frame."""
    whole = calibration.field
    if calibration.frame_shape != lens.frame_shape or whole == lens.field:
        return None
    return whole.top - lens.field.top, whole.left - lens.field.left, whole.height, whole.width
