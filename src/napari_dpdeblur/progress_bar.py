"""A fit with a bar of text: stage, memory that it needs, loss, time left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tqdm import tqdm

from napari_dpdeblur.fitting.resources import memory_of
from napari_dpdeblur.fitting.run import run_fit

if TYPE_CHECKING:
    from napari_dpdeblur.calibration import Calibration
    from napari_dpdeblur.capture import DualPixelCapture
    from napari_dpdeblur.fitting.checkpoint import Checkpoint
    from napari_dpdeblur.fitting.events import FitEvent, FitResult
    from napari_dpdeblur.fitting.problem import Crop
    from napari_dpdeblur.fitting.settings import FitSettings


def fit_with_bar(
    capture: DualPixelCapture,
    calibration: Calibration,
    settings: FitSettings,
    *,
    crop: Crop | None = None,
    checkpoint: Checkpoint | None = None,
    is_quiet: bool = False,
) -> FitResult:
    """Run a fit to its end; ``is_quiet`` leaves the bar out."""
    need_gb = memory_of(capture, calibration, settings, crop) / 1e9
    layout = f"{{desc:<24}}{{percentage:3.0f}}%|{{bar}}| {need_gb:.1f} GB {{elapsed}}{{postfix}}"
    with tqdm(total=1.0, bar_format=layout, disable=is_quiet) as bar:

        def show(event: FitEvent) -> None:
            bar.n = event.fraction
            bar.set_description_str(f"{event.stage} {event.step}/{event.total}", refresh=False)
            bar.set_postfix_str(_postfix(event))

        return run_fit(
            capture, calibration, settings, on_event=show, crop=crop, checkpoint=checkpoint
        )


def _postfix(event: FitEvent) -> str:
    total = event.losses.get("total", sum(event.losses.values()))
    losses = [f"loss {total:.3g}"] if event.losses else []
    left = [] if event.remaining_s is None else [f"{event.remaining_s:.0f} s left"]
    return " ".join(losses + left)
