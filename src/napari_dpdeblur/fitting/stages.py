"""The stages of a fit, each a generator of events that returns what the next one needs."""

from __future__ import annotations

import itertools
from collections.abc import Generator
from dataclasses import replace
from typing import TypeVar

import torch
from torch import Tensor

from napari_dpdeblur.computing.bounded_cache import BoundedCache
from napari_dpdeblur.computing.cores import in_background
from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting.context import FitContext
from napari_dpdeblur.fitting.defocus import search as defocus_search
from napari_dpdeblur.fitting.defocus.local_estimate import Estimate
from napari_dpdeblur.fitting.defocus.search import DefocusSearch
from napari_dpdeblur.fitting.events import FitEvent
from napari_dpdeblur.fitting.image.deringing import within_capture, without_ringing
from napari_dpdeblur.fitting.image.layers import even_layers, weights_of_layers
from napari_dpdeblur.fitting.image.occlusion_boundaries import OcclusionBoundaries, find_boundaries
from napari_dpdeblur.fitting.image.wiener import ImagePrior, wiener_images
from napari_dpdeblur.fitting.layer_stages import layers_from_surfaces
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.fitting.problem import MEAN_INTENSITY, FitProblem
from napari_dpdeblur.fitting.report.confidence import map_confidence
from napari_dpdeblur.fitting.report.noise import estimate_noise
from napari_dpdeblur.fitting.report.verdict import of_matching_views
from napari_dpdeblur.fitting.result import deblurred_share, make_result
from napari_dpdeblur.fitting.settings import Weights
from napari_dpdeblur.fitting.surfaces.regions import load_ahead
from napari_dpdeblur.generators import translated
from napari_dpdeblur.results.result import Result

Returned = TypeVar("Returned")

PUBLISHED = Weights()
NOISE_PITCH_PX = 2  # pixels of the noise estimate, which interpolation would falsify
PRIOR_STAGES = ("detail", "refine")


def search_defocus(context: FitContext) -> Generator[FitEvent, None, DefocusSearch]:
    """Cost volume, then the map: stages "cost volume" and "defocus map"."""
    saved = context.state.tensors
    if context.done("defocus map"):
        return DefocusSearch(Estimate(saved["centre"], saved["weight"]), saved["defocus_map"])
    parameters, settings = _parameters(context), context.settings
    problem = context.problem.for_search()
    coarse = problem.reduced(defocus_search.search_factor(problem, parameters.search))
    scales = defocus_search.search_scales(problem, parameters.search, settings.sides)
    steps = defocus_search.search_cost_volume(
        coarse, scales, parameters.cost_volume, settings.bias_correction
    )
    volume = yield from _staged(context, "cost volume", len(scales), steps)
    use_costs = bool(settings.weights.auxiliary)
    rounds = defocus_search.propagated(volume, parameters, _map_smoothness(context), use_costs)
    search = yield from _staged(context, "defocus map", parameters.propagation.rounds, rounds)
    _save_search(context, "defocus map", search)
    return search


def _parameters(context: FitContext) -> Parameters:
    return context.settings.parameters


def _staged(
    context: FitContext, stage: str, total: int, steps: Generator[Tensor | None, None, Returned]
) -> Generator[FitEvent, None, Returned]:
    """Turn what a generator of maps yields into events of a stage; return what it returns."""
    count = itertools.count(1)

    def event(defocus_map: Tensor | None) -> FitEvent:
        return context.event(stage, next(count), total, defocus_map=defocus_map)

    result = yield from translated(steps, event)
    context.clock.end_stage(stage)
    return result


def _map_smoothness(context: FitContext) -> float:
    return context.settings.weights.alpha / PUBLISHED.alpha


def _image_smoothness(context: FitContext) -> float:
    return context.settings.weights.intensity / PUBLISHED.intensity


def _save_search(context: FitContext, stage: str, search: DefocusSearch) -> None:
    estimate = search.estimate
    context.save(
        stage, 1, centre=estimate.centre, weight=estimate.weight, defocus_map=search.defocus_map
    )


def layer_scales(context: FitContext, search: DefocusSearch) -> Tensor:
    """Scales of the layers, back to front: as given, else as the map needs them."""
    settings = context.settings
    back, front = defocus_search.automatic_range(
        search.defocus_map, settings.parameters.search, settings.sides
    )
    back = back if settings.back_scale is None else settings.back_scale
    front = front if settings.front_scale is None else settings.front_scale
    if front >= back:
        raise FitError(
            f"The front scale {front:.3g} is not smaller than the back scale {back:.3g} that was "
            "found; set both."
        )
    views = context.problem.views
    return torch.linspace(back, front, settings.planes, device=views.device, dtype=views.dtype)


def wiener_image(
    context: FitContext,
    stage: str,
    problem: FitProblem,
    defocus_map: Tensor,
    prior: ImagePrior | None = None,
) -> Generator[FitEvent, None, Tensor]:
    """The Wiener image (C, h, w) for a map, on the grid of the given problem."""
    parameters = _parameters(context)
    on_grid = defocus_search.on_grid_of(problem, defocus_map)
    scales = defocus_search.deconvolution_scales(on_grid, parameters.wiener.scale_step)
    image = torch.zeros_like(problem.views[0])
    strength, noise = _image_smoothness(context), _noise(context)
    groups = context.channel_groups(problem)
    total = len(groups) * len(scales)
    ready = torch.zeros_like(image)  # share of each pixel that is computed
    for number, channels in enumerate(groups):
        # All channels at once share what the problem keeps between stages.
        part = problem if len(groups) == 1 else problem.of_channels(channels)
        expected = prior and prior.of_channels(channels)
        images = wiener_images(part, on_grid, scales, parameters.wiener, strength, expected, noise)
        found = zip(images, weights_of_layers(on_grid, scales), strict=True)
        for step, (sharp, weight) in enumerate(found, start=number * len(scales) + 1):
            image[channels] = sharp
            ready[channels] += weight
            shown = ready if step < total else None
            yield context.event(stage, step, total, image=image, ready=shown)
    context.clock.end_stage(stage)
    return image.clamp_min(0)


def _noise(context: FitContext) -> float:
    """Noise of the views at half resolution, at mean intensity."""
    if context.noise is None:
        half = context.problem.reduced(NOISE_PITCH_PX)
        model = estimate_noise(half.views, _parameters(context).noise)
        context.noise = model.at(MEAN_INTENSITY)
    return context.noise


def _image_without_rims(
    context: FitContext,
    stage: str,
    problem: FitProblem,
    boundaries: OcclusionBoundaries,
    prior: ImagePrior | None = None,
) -> Generator[FitEvent, None, Tensor]:
    """The Wiener image at full resolution, without rims along occlusion boundaries."""
    image = yield from wiener_image(context, stage, problem, boundaries.defocus_map, prior)
    around = problem.in_pixels(_parameters(context).occlusion.range_px)
    return boundaries.limited(image, problem.views.mean(0), around)


def _boundaries(context: FitContext, search: DefocusSearch) -> OcclusionBoundaries:
    parameters = _parameters(context).occlusion
    return find_boundaries(context.problem, search.defocus_map, parameters)


def preview(context: FitContext, search: DefocusSearch) -> Generator[FitEvent, None, Result]:
    """Solver of the preset `preview`: the closed form alone."""
    scales = layer_scales(context, search)
    boundaries = _boundaries(context, search)
    image = yield from _image_without_rims(context, "image", context.problem, boundaries)
    return _result(context, image, scales, search)


def standard(context: FitContext, search: DefocusSearch) -> Generator[FitEvent, None, Result]:
    """Solver of the preset `standard`: closed form, sharp map, layers that explain the views."""
    in_background(load_ahead)
    search = yield from _with_sharp_edges(context, search)
    scales = layer_scales(context, search)
    surfaces = defocus_search.on_grid_of(context.problem, search.defocus_map)
    boundaries = _boundaries(context, search)
    start = yield from _detailed_image(context, boundaries, surfaces)
    image = _without_ringing(context, start, surfaces)
    layers = yield from layers_from_surfaces(context, image, scales, search)
    parameters = _parameters(context)
    if context.settings.weights.data:
        image = image + parameters.layer_colors.image_share * (layers.image - image)
    image = within_capture(context.problem, image, parameters.deringing)
    defocus_map = layers.defocus_map
    confidence = final_confidence(context, search, defocus_map)
    return make_result(context, image, defocus_map, layers.mpi, confidence, layers.report)


def _detailed_image(
    context: FitContext, boundaries: OcclusionBoundaries, surfaces: Tensor
) -> Generator[FitEvent, None, Tensor]:
    """The Wiener image, repeated with the previous image as prior, weak at first."""
    problem = replace(context.problem, cache=BoundedCache())
    image = context.state.tensors.get("start")
    if image is None:
        image = yield from _image_without_rims(context, "deblur", problem, boundaries)
        context.save("deblur", 1, start=image)
    for stage in PRIOR_STAGES:
        if not context.done(stage):
            prior = ImagePrior.of_stage(stage, image, surfaces, _parameters(context))
            image = yield from _image_without_rims(context, stage, problem, boundaries, prior)
            context.save(stage, 1, start=image)
    return image


def _with_sharp_edges(
    context: FitContext, search: DefocusSearch
) -> Generator[FitEvent, None, DefocusSearch]:
    if context.done("map edges"):
        return search
    parameters = _parameters(context)
    pitch_px = context.problem.map_pitch_px(parameters.map_edges)
    reduced = context.problem.luminance().reduced(pitch_px)
    sharp = yield from wiener_image(context, "draft image", reduced, search.defocus_map)
    smoothness = _map_smoothness(context)
    rounds = defocus_search.with_sharp_edges(search, sharp, parameters, smoothness)
    search = yield from _staged(context, "map edges", parameters.propagation.rounds, rounds)
    _save_search(context, "map edges", search)
    return search


def _result(context: FitContext, image: Tensor, scales: Tensor, search: DefocusSearch) -> Result:
    """The result with evenly spaced layers."""
    problem, parameters = context.problem, _parameters(context).layers
    surface = defocus_search.on_grid_of(problem, search.defocus_map)
    defocus_map = surface.clamp(scales[-1], scales[0])
    image = _without_ringing(context, image, defocus_map)
    mpi = even_layers(
        image,
        surface,
        scales,
        problem.in_pixels(parameters.occlusion_reach_px),
        parameters.occlusion_step,
        problem.shape,
        problem.intensity_scale,
    )
    confidence = final_confidence(context, search, defocus_map)
    return make_result(context, image, defocus_map, mpi, confidence)


def _without_ringing(context: FitContext, image: Tensor, defocus_map: Tensor) -> Tensor:
    parameters, problem = _parameters(context), context.problem
    possible = within_capture(problem, image, parameters.deringing)
    smooth = without_ringing(
        problem, possible, _image_smoothness(context), parameters.deringing, parameters.variation
    )
    # What is in focus was not deblurred: it neither rings nor has more noise than the capture.
    return possible + deblurred_share(defocus_map, parameters.result) * (smooth - possible)


def final_confidence(context: FitContext, search: DefocusSearch, defocus_map: Tensor) -> Tensor:
    """Confidence (h, w) of the finished map (h, w), on the grid of the problem."""
    parameters = _parameters(context)
    found = map_confidence(search.estimate, defocus_map, parameters.confidence)
    found = of_matching_views(found, context.view_check, parameters.views)
    return defocus_search.on_grid_of(context.problem, found)
