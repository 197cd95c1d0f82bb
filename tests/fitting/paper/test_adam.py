from __future__ import annotations

import copy
from itertools import islice
from typing import Any

import pytest
import torch

from napari_dpdeblur.fitting.paper.adam import Adam, PaperState, Schedule, descend
from napari_dpdeblur.fitting.paper.objective import Objective
from napari_dpdeblur.fitting.parameters.paper import LossParameters, PaperParameters
from napari_dpdeblur.fitting.settings import Weights
from napari_dpdeblur.optics import KernelGrid, MultiplaneImage, TiledBlur, TileLayout

PARAMETERS = PaperParameters()

# total, data, auxiliary, intensity, alpha, entropy of the published run (reference/README.md)
PUBLISHED_STEPS = {
    0: (7067.504, 3504.787, 3504.786, 0, 0, 57.93068),
    1: (3564.217, 1670.635, 1737.753, 1.3220, 97.579, 56.92816),
    2: (2889.81, 761.925, 936.787, 2.1131, 1132.70, 56.27487),
    5: (3638.25, 549.41, 899.24, 3.2915, 2130.46, 55.8449),
    10: (1983.72, 305.33, 624.81, 4.5065, 993.21, 55.8528),
    20: (891.42, 121.38, 372.98, 5.6488, 335.75, 55.6582),
    50: (240.45, 15.47, 130.17, 6.6516, 32.69, 55.4693),
}


def test_fifty_steps_reproduce_the_published_run(published_tile: Any) -> None:
    tile = published_tile
    objective = Objective(
        tile.views, tile.blur, Weights().of_terms(12), LossParameters(), tile.bias
    )
    state = PaperState.uniform(tile.views, 12, PARAMETERS)
    run = [
        terms.as_dict()
        for terms in islice(descend(objective, state, Schedule(10_000, PARAMETERS)), 51)
    ]
    for step, published in PUBLISHED_STEPS.items():
        assert tuple(run[step].values()) == pytest.approx(published, rel=1e-2, abs=1e-6), step


def _small_problem(channels: int = 1) -> tuple[Objective, PaperState]:
    kernels = [KernelGrid(torch.full((1, 2, k, k), 1 / k**2), 1, 1) for k in (5, 3, 1)]
    blur = TiledBlur(kernels, TileLayout.regular(12, 16, 1, 1), blend_px=0)
    views = torch.rand(2, channels, 12, 16)
    objective = Objective(views, blur, Weights().of_terms(3), LossParameters())
    return objective, PaperState.uniform(views, 3, PARAMETERS)


def test_learning_rate_falls_exponentially() -> None:
    schedule = Schedule(100, PaperParameters(first_rate=0.4, last_rate=0.1))
    assert [schedule.rate(step) for step in (0, 50, 100)] == pytest.approx([0.4, 0.2, 0.1])


def test_uniform_start_shows_every_layer_equally() -> None:
    views = torch.rand(2, 3, 5, 6)
    color, alpha = PaperState.uniform(views, 4, PARAMETERS).layers()
    shown = MultiplaneImage(color, alpha, torch.linspace(1.3, 0.1, 4)).transmittance()
    torch.testing.assert_close(shown, torch.full_like(shown, 0.25))
    torch.testing.assert_close(color[2, :, 3, 3], views.mean(dim=(0, 2, 3)))
    assert torch.all(alpha[0] == 1)


def test_adam_takes_the_same_steps_as_torch() -> None:
    start = torch.randn(3, 2, 4, 5, dtype=torch.float64)
    unknowns = Adam.at(start.clone())
    expected = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([expected], lr=0.3, eps=1e-8)
    schedule = Schedule(5, PaperParameters(first_rate=0.3, last_rate=0.3))
    for step in range(5):
        gradient = torch.randn_like(start)
        unknowns.descend(gradient, step, schedule)
        expected.grad = gradient
        optimizer.step()
    torch.testing.assert_close(unknowns.logits, expected.detach(), rtol=1e-12, atol=1e-12)


def test_an_interrupted_run_goes_on_as_if_it_had_not_stopped() -> None:
    objective, state = _small_problem()
    schedule = Schedule(8, PARAMETERS)
    interrupted = copy.deepcopy(state)
    whole = [terms.as_dict() for terms in descend(objective, state, schedule)]
    list(islice(descend(objective, interrupted, schedule), 3))
    resumed = copy.deepcopy(interrupted)
    rest = [terms.as_dict() for terms in descend(objective, resumed, schedule)]
    assert (resumed.step, len(rest)) == (8, 5)
    assert rest == whole[3:]
    assert torch.equal(resumed.color.logits, state.color.logits)
    assert torch.equal(resumed.alpha.logits, state.alpha.logits)


@pytest.mark.parametrize("channels", [1, 3])
def test_the_objective_falls(channels: int) -> None:
    objective, state = _small_problem(channels)
    run = [float(terms.total) for terms in descend(objective, state, Schedule(30, PARAMETERS))]
    assert min(run[-10:]) < 0.8 * run[0]
