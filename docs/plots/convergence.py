"""convergence.svg: error of the defocus map against computing time, on a small scene.

The times are CPU seconds of this process with one thread; the ratio between the curves is what
matters, not their place.
"""

from __future__ import annotations

import time

import matplotlib.pyplot as plt
import numpy as np
import torch
from common import INK, LEFT, RIGHT, save, scene

from napari_dpdeblur.datasets.synthetic.simulation import Simulation
from napari_dpdeblur.fitting import FitEvent, FitSettings, fit_events
from napari_dpdeblur.generators import finish

HEIGHT, WIDTH = 192, 256
STEPS = 400
BORDER_PX = 8


def progress(simulation: Simulation, settings: FitSettings) -> tuple[list[float], list[float]]:
    """CPU seconds since the start and mean error of the map, wherever a fit shows one."""
    truth = simulation.scene.defocus_map
    inner = (slice(BORDER_PX, -BORDER_PX), slice(BORDER_PX, -BORDER_PX))
    seconds: list[float] = []
    errors: list[float] = []
    start = time.process_time()

    def note(found: np.ndarray) -> None:
        seconds.append(time.process_time() - start)
        errors.append(float(np.abs(found - truth)[inner].mean()))

    def see(event: FitEvent) -> None:
        if event.stage == "optimise" and event.defocus_map is not None:
            shown = torch.as_tensor(event.defocus_map)[None, None]
            note(torch.nn.functional.interpolate(shown, truth.shape, mode="bilinear")[0, 0].numpy())

    result = finish(fit_events(simulation.capture, simulation.calibration, settings), see)
    note(np.asarray(result.defocus_map))
    return seconds, errors


def main() -> None:
    """One curve and two points."""
    torch.set_num_threads(1)
    simulation = scene(HEIGHT, WIDTH)
    run = {
        name: progress(simulation, FitSettings(preset=name, steps=STEPS, threads=1))
        for name in ("preview", "standard", "paper")
    }
    figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    axes.semilogx(*run["paper"], color=INK, label=f"paper: the first {STEPS} of 10,000 steps")
    axes.semilogx(*run["preview"], "s", color=RIGHT, label="preview")
    axes.semilogx(*run["standard"], "o", color=LEFT, label="standard")
    axes.set(
        xlabel="CPU seconds, one thread", ylabel="mean error of the defocus map", ylim=(0, 0.4)
    )
    axes.set_title(f"synthetic scene, {HEIGHT} x {WIDTH} px")
    axes.legend(fontsize=8)
    save(figure, "convergence.svg")


if __name__ == "__main__":
    main()
