"""Progress bars in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm

from napari_dpdeblur.progress import StageProgress


@contextmanager
def progress_bar(
    is_quiet: bool = False, note: str = ""
) -> Iterator[Callable[[StageProgress], None]]:
    """Show a bar with stage, elapsed and remaining time; yields the function to update it.

    ``note`` is shown after the bar; ``is_quiet`` shows nothing.
    """
    if is_quiet:
        yield lambda progress: None
        return
    layout = f"{{desc:<24}}{{percentage:3.0f}}%|{{bar}}| {note} {{elapsed}}{{postfix}}"
    with tqdm(total=1.0, bar_format=layout) as bar:

        def show(progress: StageProgress) -> None:
            for doubt in getattr(progress, "doubts", ()):
                bar.write(f"Warning: {doubt}", file=sys.stderr)
            bar.n = progress.fraction
            count = f"{progress.stage} {progress.step}/{progress.total}"
            bar.set_description_str(count, refresh=False)
            bar.set_postfix_str(_postfix(progress))

        yield show


@contextmanager
def count_bar(
    description: str, unit: str, is_quiet: bool = False, delay_s: float = 1.0
) -> Iterator[Callable[..., None]]:
    """Show a bar that counts; yields the function ``show(done, total, note="")`` to update it.

    Nothing is shown for the first ``delay_s`` seconds, or at all if ``is_quiet``.
    """
    with tqdm(desc=description, unit=unit, disable=is_quiet, delay=delay_s) as bar:

        def show(done: int, total: int, note: str = "") -> None:
            bar.total = total
            bar.set_postfix_str(note, refresh=False)
            bar.update(done - bar.n)

        yield show


def _postfix(progress: StageProgress) -> str:
    losses: dict[str, float] = getattr(progress, "losses", {})
    total = losses.get("total", sum(losses.values()))
    shown = [f"loss {total:.3g}"] if losses else []
    left = [] if progress.remaining_s is None else [f"{progress.remaining_s:.0f} s left"]
    return " ".join(shown + left)
