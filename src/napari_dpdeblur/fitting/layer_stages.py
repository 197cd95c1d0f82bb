"""The last stages of `standard`: surfaces, their layers, and how well these explain the views."""

from __future__ import annotations

import itertools
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.fitting.context import FitContext
from napari_dpdeblur.fitting.defocus.search import DefocusSearch, on_grid_of
from napari_dpdeblur.fitting.events import FitEvent
from napari_dpdeblur.fitting.parameters.surfaces import for_range
from napari_dpdeblur.fitting.problem import FitProblem, reduce_images, resample
from napari_dpdeblur.fitting.report.noise import estimate_noise
from napari_dpdeblur.fitting.report.residual import FitReport, fit_report
from napari_dpdeblur.fitting.surfaces.colors import LayerColors, Observation, solve_colors
from napari_dpdeblur.fitting.surfaces.find import find_surfaces
from napari_dpdeblur.fitting.surfaces.order import group_surfaces
from napari_dpdeblur.fitting.surfaces.renderer import SurfaceRenderer
from napari_dpdeblur.fitting.surfaces.stack import SurfaceLayers, surface_layers
from napari_dpdeblur.optics import MultiplaneImage

RANGE_TAIL = 0.005  # share of the pixels at each end of the map that do not count for its range


@dataclass(frozen=True)
class LayerFit:
    """Layers on the grid of the problem, and the report of the fit."""

    mpi: MultiplaneImage
    report: FitReport

    @property
    def image(self) -> Tensor:
        """Composite of the layers' colours: (C, h, w)."""
        composite: Tensor = self.mpi.all_in_focus()
        return composite

    @property
    def defocus_map(self) -> Tensor:
        """Composite of the layers' defocus: (h, w)."""
        composite: Tensor = self.mpi.defocus_map()
        return composite


def layers_from_surfaces(
    context: FitContext, image: Tensor, scales: Tensor, search: DefocusSearch
) -> Generator[FitEvent, None, LayerFit]:
    """Layers of the surfaces of the map, with the colours of ``image`` (C, h, w), then solved.

    ``scales`` limit the map. Works on the grid of the map; details come from the image.
    """
    reduced = context.problem.reduced(context.settings.parameters.map_edges.pixel_pitch_px)
    rows, cols = (
        p // q for p, q in zip(reduced.pixel_pitch, context.problem.pixel_pitch, strict=True)
    )
    sharp = reduce_images(image, rows, cols)
    confidence = on_grid_of(
        reduced, search.estimate.confidence(context.settings.parameters.local_estimate)
    )
    layers = _layers(
        context,
        on_grid_of(reduced, search.defocus_map).clamp(scales[-1], scales[0]),
        confidence,
        sharp,
    )
    yield context.event("surfaces", 1, 1, defocus_map=layers.defocus_map())
    context.clock.end_stage("surfaces")
    observed = _observation(context, reduced, (rows, cols))
    colors = yield from _solved(context, reduced, observed, layers, sharp)
    report = fit_report(observed, colors, layers, confidence, context.settings.parameters.report)
    detail = image - resample(sharp, (image.shape[-2], image.shape[-1]))
    return LayerFit(_on_grid(context.problem, layers, colors.color, detail), report)


def _layers(
    context: FitContext, defocus_map: Tensor, confidence: Tensor, sharp: Tensor
) -> SurfaceLayers:
    parameters, asked = context.settings.parameters, context.settings.layers
    values, trust, guide = (t.cpu().numpy() for t in (defocus_map, confidence, sharp.mean(0)))
    extent = float(np.subtract(*np.quantile(values, (1 - RANGE_TAIL, RANGE_TAIL))))
    stack = for_range(parameters.layer_stack, extent)
    surfaces = find_surfaces(values, trust, guide, for_range(parameters.surfaces, extent))
    grouped = group_surfaces(surfaces, asked, stack)
    if asked is not None and len(grouped) < asked:
        context.notes.append(
            f"The scene has {len(grouped)} surface{'s' * (len(grouped) > 1)}, so there are fewer "
            f"than {asked} layers."
        )
    elif asked is not None and len(surfaces) > asked:
        context.notes.append(
            f"The scene has {len(surfaces)} surfaces; those of similar defocus share one of the "
            f"{asked} layers."
        )
    check_cancelled()
    return surface_layers(grouped, sharp, stack)


def _observation(context: FitContext, reduced: FitProblem, factor: tuple[int, int]) -> Observation:
    """The views on the grid of the map, with their noise and their clipped pixels."""
    parameters, capture = context.settings.parameters, context.capture
    noise = estimate_noise(reduced.views, parameters.noise)
    full = (capture.white - capture.black) / capture.white * context.problem.intensity_scale
    clipped = context.problem.views >= parameters.problem.saturated_level * full
    is_clipped = reduce_images(clipped.to(reduced.views.dtype), *factor) > 0
    return Observation(reduced.views, noise.sigma(reduced.views), is_clipped)


def _solved(
    context: FitContext,
    problem: FitProblem,
    observed: Observation,
    layers: SurfaceLayers,
    sharp: Tensor,
) -> Generator[FitEvent, None, LayerColors]:
    parameters = context.settings.parameters
    own = parameters.layer_colors
    if not context.settings.weights.data:
        own = own.model_copy(update={"steps": 0})
    renderer = SurfaceRenderer(
        problem,
        layers,
        own.plane_step,
        context.settings.blend_px,
        own.negligible_light,
    )
    start = layers.color(sharp, parameters.layer_stack)
    steps = solve_colors(renderer, observed, start, problem.pixel_pitch, own)
    count = itertools.count(1)
    found: list[LayerColors] = []
    for colors in steps:
        found = [colors]
        yield context.event("layers", next(count), own.steps + 1, {"data": colors.error})
    context.clock.end_stage("layers")
    return found[0]


def _on_grid(
    problem: FitProblem, layers: SurfaceLayers, color: Tensor, detail: Tensor
) -> MultiplaneImage:
    """Layers on the grid of the problem; visible parts get the details of the image."""
    shape = (problem.views.shape[-2], problem.views.shape[-1])
    alpha, defocus = resample(layers.alpha, shape), resample(layers.defocus, shape)
    own = resample(layers.own, shape)
    fine = resample(color, shape)
    for layer, seen in zip(fine, own, strict=True):
        layer += seen * detail
        check_cancelled()
    return MultiplaneImage(fine.clamp_min_(0), alpha, layers.scales, defocus)
