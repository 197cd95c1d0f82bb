"""A Fit widget in a real window with a small scene, and what tests do with it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psutil
from napari.utils.notifications import notification_manager

from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.viewer.fit.widget import FitWidget
from napari_dpdeblur.viewer.layers.add import put_layers
from napari_dpdeblur.viewer.layers.calibration import calibration_layers
from napari_dpdeblur.viewer.layers.convert import capture_layers

PATIENCE_MS = 240_000
QUICK = FitSettings(preset="preview", layers=4, threads=1)
ENDLESS = FitSettings(preset="paper", layers=4, threads=1, steps=100_000)


class FitBench:
    """The widget in its window, with shorthands."""

    def __init__(self, viewer: Any, qtbot: Any, capture: Any, calibration: Any) -> None:
        self.viewer, self.qtbot = viewer, qtbot
        self._before = len(notification_manager.records)
        if calibration is not None:
            put_layers(viewer, calibration_layers(calibration))
        if capture is not None:
            put_layers(viewer, capture_layers(capture))
        self.widget = FitWidget(viewer)
        self.dock = viewer.window.add_dock_widget(self.widget, name="Fit")

    @property
    def worker(self) -> Any:
        return self.widget.panel.worker

    @property
    def messages(self) -> list[str]:
        """What the user was told."""
        return [record.message for record in notification_manager.records[self._before :]]

    @property
    def names(self) -> list[str]:
        return [layer.name for layer in self.viewer.layers]

    def until(self, condition: Callable[[], Any], patience_ms: int = PATIENCE_MS) -> None:
        self.qtbot.waitUntil(lambda: bool(condition()), timeout=patience_ms)

    def click_run(self, settings: FitSettings) -> None:
        self.widget.show_settings(settings)
        self.widget.panel.run_button.click()

    def start(self, settings: FitSettings, stage: str) -> psutil.Process:
        """Run until the fit has come to a stage; its process."""
        stages: list[str] = []
        self.worker.progressed.connect(lambda event: stages.append(event.stage))
        self.click_run(settings)
        self.until(lambda: stage in stages)
        return psutil.Process(self.worker.pid)

    def finish(self) -> None:
        self.until(lambda: self.widget.panel.status.text().startswith("Done"))

    def run(self, settings: FitSettings = QUICK) -> None:
        self.click_run(settings)
        self.finish()

    def close(self) -> None:
        """End whatever runs; a failed test may keep the widget alive."""
        with suppress(RuntimeError):  # Qt's part of it is gone already
            self.worker.kill()
            self.widget.deleteLater()
