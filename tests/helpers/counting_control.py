"""A control that counts how often it is asked."""

from __future__ import annotations

from napari_dpdeblur.cancellation import Control


class CountingControl(Control):
    checks = 0

    def check(self) -> None:
        self.checks += 1
        super().check()
