"""Size of previews, by how fast they follow each other."""

from __future__ import annotations

SLOW_S = 0.2  # between two previews; slower ones are made smaller
NEWEST_SHARE = 0.3  # of the last preview in the mean time between them: one hiccup is none
# After so long large ones are tried again, each time later until they prove quick enough.
FIRST_TRIAL_S, LAST_TRIAL_S = 1.0, 16.0


class PreviewSizer:
    """Decides on large or small previews while a slider moves; times in seconds."""

    def __init__(self) -> None:
        self.wants_small = False
        self._last_s: float | None = None  # when, while one follows the other
        self._period_s = 0.0
        self._changed_s = float("-inf")
        self._trial_s = FIRST_TRIAL_S

    def note(self, now_s: float, rendering_s: float, goes_on: bool) -> None:
        """Record a preview: when, its rendering time, and whether another follows."""
        self._average(now_s, rendering_s)
        self._last_s = now_s if goes_on else None
        is_proven = now_s - self._changed_s > self._trial_s
        if not self.wants_small and self._period_s > SLOW_S:
            self._change(now_s)
        elif self.wants_small and is_proven and rendering_s < SLOW_S / 2:
            self._change(now_s)
            self._trial_s = min(2 * self._trial_s, LAST_TRIAL_S)
        elif not self.wants_small and is_proven:
            self._trial_s = FIRST_TRIAL_S

    def rest(self) -> None:
        """No preview follows the last one."""
        self._last_s = None

    def _average(self, now_s: float, rendering_s: float) -> None:
        if self._last_s is None:
            self._period_s = rendering_s
        else:
            self._period_s += NEWEST_SHARE * (now_s - self._last_s - self._period_s)

    def _change(self, now_s: float) -> None:
        self.wants_small = not self.wants_small
        self._changed_s = now_s
