"""The `paper` preset: the published schedule, weights and renderer."""

from __future__ import annotations

from collections.abc import Generator

import torch

from napari_dpdeblur.fitting.context import FitContext
from napari_dpdeblur.fitting.defocus.search import DefocusSearch
from napari_dpdeblur.fitting.events import FitEvent
from napari_dpdeblur.fitting.paper.adam import Adam, PaperState, Schedule, descend
from napari_dpdeblur.fitting.paper.objective import Objective
from napari_dpdeblur.fitting.result import make_result
from napari_dpdeblur.fitting.stages import final_confidence, layer_scales
from napari_dpdeblur.optics import MultiplaneImage, TiledBlur, bias_correction
from napari_dpdeblur.results.result import Result

SAVE_EVERY = 200
SHOW_EVERY = 10


def optimised(context: FitContext, search: DefocusSearch) -> Generator[FitEvent, None, Result]:
    """Solver of the preset `paper`: Adam from a uniform start, with hard tile selection."""
    problem, settings = context.problem, context.settings
    parameters = settings.parameters
    scales = layer_scales(context, search)
    # colours are sigmoids: bring the brightest pixel to 1
    brightest = float(problem.views.max())
    views = problem.views / brightest
    kernels = [problem.kernels.scaled(float(scale), problem.pixel_pitch) for scale in scales]
    bias = None
    if settings.bias_correction:
        noise, power = parameters.optics.noise_variance, parameters.optics.inverse_power
        bias = bias_correction(kernels, float(views.mean()), noise, power)
    objective = Objective(
        views,
        TiledBlur(kernels, problem.layout, blend_px=0),
        settings.weights.of_terms(settings.planes),
        parameters.losses,
        bias,
    )
    state = _start(context, views)
    for terms in descend(objective, state, Schedule(settings.steps, parameters.paper)):
        shown = state.step % SHOW_EVERY == 0 or state.step == settings.steps
        mpi = MultiplaneImage(*state.layers(), scales) if shown else None
        yield context.event(
            "optimise",
            state.step,
            settings.steps,
            terms.as_dict(),
            image=mpi.all_in_focus() * brightest if mpi else None,
            defocus_map=mpi.defocus_map() if mpi else None,
        )
        if context.checkpoint is not None and state.step % SAVE_EVERY == 0:
            _save(context, state)
    context.clock.end_stage("optimise")
    mpi = MultiplaneImage(*state.layers(), scales)
    return make_result(
        context,
        mpi.all_in_focus() * brightest,
        mpi.defocus_map(),
        MultiplaneImage(mpi.color * brightest, mpi.alpha, scales),
        final_confidence(context, search, mpi.defocus_map()),
    )


def _start(context: FitContext, views: torch.Tensor) -> PaperState:
    step, saved = context.done("optimise"), context.state.tensors
    if not step:
        parameters = context.settings.parameters.paper
        return PaperState.uniform(views, context.settings.planes, parameters)
    color, alpha = (
        Adam(saved[f"{name}_logits"], saved[f"{name}_mean"], saved[f"{name}_square"])
        for name in ("color", "alpha")
    )
    return PaperState(color, alpha, step)


def _save(context: FitContext, state: PaperState) -> None:
    tensors = {
        f"{name}_{part}": getattr(adam, part)
        for name, adam in (("color", state.color), ("alpha", state.alpha))
        for part in ("logits", "mean", "square")
    }
    context.save("optimise", state.step, **tensors)
