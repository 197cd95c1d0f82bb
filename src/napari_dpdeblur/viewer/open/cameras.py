"""What is remembered per camera: calibration, settings and folders."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from qtpy.QtCore import QObject

from napari_dpdeblur.capture import DualPixelCapture
from napari_dpdeblur.errors import SettingsError
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.viewer.shared import remembered

SECTION = "cameras"
LAST = "last camera"
DEFAULTS: dict[str, Any] = {"settings": None, "calibration": "", "output": "", "folder": ""}


def camera_of(capture: DualPixelCapture) -> str:
    """The name of the camera, or else the kind and size of its files."""
    named = None if capture.optics is None else capture.optics.camera
    height, width = capture.shape[-2:]
    return named or f"{capture.source.format or 'unknown'} {width} x {height}"


def recall(camera: str) -> dict[str, Any]:
    """What is known about a camera; empty entries for what is not."""
    stored = remembered.remembered(SECTION, {camera: {}})[camera]
    kept = {name: stored.get(name, default) for name, default in DEFAULTS.items()}
    texts = ("calibration", "output", "folder")
    return kept | {name: kept[name] if isinstance(kept[name], str) else "" for name in texts}


def note(camera: str, **values: Any) -> None:
    """Remember something about a camera, and that it was used last."""
    stored = remembered.remembered(SECTION, {camera: {}})[camera]
    remembered.remember(SECTION, {camera: {**stored, **values}, LAST: camera})


def last_folder() -> str:
    """The folder of the captures that were opened last, of the camera that was used last."""
    camera = remembered.remembered(SECTION, {LAST: ""})[LAST]
    folder = recall(camera)["folder"] if camera else ""
    return folder if folder and Path(folder).is_dir() else ""


class CameraMemory(QObject):
    """Restores the settings of a camera in the Fit controls when another camera is chosen."""

    def __init__(self, controls: Any) -> None:
        super().__init__(controls)
        self._controls = controls
        self._camera = ""
        controls.inputs.changed.connect(self._look)
        self._look()

    def keep(self, values: dict[str, Any]) -> None:
        """Remember these values for the chosen camera."""
        capture = self._controls.inputs.capture
        if capture is not None and self._camera:
            files = capture.source.files
            place = {"folder": str(Path(files[0]).parent)} if files else {}
            note(self._camera, **values, **place)

    def _look(self) -> None:
        capture = self._controls.inputs.capture
        camera = self._camera if capture is None else camera_of(capture)
        if camera == self._camera:
            return
        self._camera = camera
        kept = recall(camera)
        if isinstance(kept["settings"], dict):
            with suppress(SettingsError):  # of another version
                self._controls.show_settings(FitSettings.of(kept["settings"]))
        if kept["output"]:
            self._controls.output.show_folder(kept["output"])
        if kept["calibration"] and Path(kept["calibration"]).exists():
            self._controls.inputs.recall_file(Path(kept["calibration"]))
