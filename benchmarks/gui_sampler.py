"""What the GUI thread does, sampled from another thread; for heartbeat.py."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

SAMPLE_S, KEPT_S = 0.005, 10.0
SHOWN_CAUSES = 3


class Sampler:
    """Samples of the GUI thread, every few milliseconds."""

    def __init__(self) -> None:
        self._seen: list[tuple[float, str]] = []
        self._gui = threading.main_thread().ident
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            time.sleep(SAMPLE_S)
            now = time.perf_counter()
            kept = [each for each in self._seen if each[0] > now - KEPT_S]
            self._seen = [*kept, (now, _doing(sys._current_frames().get(self._gui)))]

    def causes(self, begin: float, end: float) -> str:
        """The most frequent samples between two times, with their share."""
        doing = Counter(text for when, text in self._seen if begin < when < end)
        count = max(sum(doing.values()), 1)
        parts = [f"{n / count:.0%} {text}" for text, n in doing.most_common(SHOWN_CAUSES)]
        return "; ".join(parts) or "not seen"


def _doing(frame: Any) -> str:
    """The innermost function of this package on the stack, and the function it is in."""
    inner, own = "", "Qt"
    while frame is not None:
        name = f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}"
        inner = inner or name
        if "napari_dpdeblur" in frame.f_code.co_filename:
            own = name
            break
        if name in ("_qt.paintGL", "_layer_delegate.paint"):
            own = name
            break
        frame = frame.f_back
    return f"{own} > {inner}"
