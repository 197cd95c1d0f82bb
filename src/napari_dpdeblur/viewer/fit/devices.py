"""The devices of this computer, detected in the background."""

from __future__ import annotations

from qtpy.QtCore import Signal
from qtpy.QtWidgets import QComboBox, QWidget

from napari_dpdeblur.jobs import device_job
from napari_dpdeblur.jobs.messages import Job
from napari_dpdeblur.viewer.shared.controls import ignore_wheel, let_shrink
from napari_dpdeblur.viewer.shared.worker import Worker

AUTOMATIC = "auto"
_found: dict[str, str] = {}  # asking takes seconds, and the answer stays the same


class DeviceList(QComboBox):
    """A combo box of devices; only automatic and CPU until detection is done."""

    changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("device")
        self.setToolTip("Where to compute; automatic uses a GPU if there is one")
        let_shrink(self)
        ignore_wheel(self)
        self._wanted = AUTOMATIC
        self._fill(_found or {"cpu": "CPU"})
        self.activated.connect(lambda _: self._remember_choice())
        self.currentIndexChanged.connect(lambda _: self.changed.emit())
        self._worker = Worker(self)
        self._worker.finished.connect(self._found_devices)
        if not _found:
            self._worker.start(Job(device_job.FUNCTION, None, "The search for devices"))

    @property
    def device(self) -> str:
        """The device as settings name it."""
        return str(self.currentData())

    def choose(self, device: str) -> None:
        """Choose a device, now or when it is found; else automatic."""
        self._wanted = device
        self.setCurrentIndex(max(self.findData(device), 0))

    def _remember_choice(self) -> None:
        self._wanted = self.device

    def _found_devices(self, devices: dict[str, str]) -> None:
        _found.update(devices)
        self._fill(devices)

    def _fill(self, devices: dict[str, str]) -> None:
        best = next((name for name in ("cuda", "mps") if name in devices), "cpu")
        self.blockSignals(True)
        self.clear()
        self.addItem(f"Automatic: {devices[best]}", AUTOMATIC)
        for name, text in devices.items():
            self.addItem(text, name)
        self.setCurrentIndex(max(self.findData(self._wanted), 0))
        self.blockSignals(False)
