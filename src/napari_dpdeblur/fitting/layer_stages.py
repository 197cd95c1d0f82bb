"""The last stages of `standard`: surfaces, their layers, and how well these explain the views."""

from __future__ import annotations

import itertools
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
import torch
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
from napari_dpdeblur.optics.lazy_layers import EnlargedLayers

RANGE_TAIL = 0.005  # share of the pixels at each end of the map that do not count for its range


@dataclass(frozen=True)
class LayerFit:
    """Layers in calibrated pixels, and the report of the fit.

    ``image`` (C, h, w) and ``defocus_map`` (h, w) are their composites on the grid of the problem.
    """

    mpi: MultiplaneImage
    image: Tensor
    defocus_map: Tensor
    report: FitReport


def layers_from_surfaces(
    context: FitContext, image: Tensor, scales: Tensor, search: DefocusSearch
) -> Generator[FitEvent, None, LayerFit]:
    """Layers of the surfaces of the map, with the colours of ``image`` (C, h, w), then solved.

    ``scales`` limit the map. Works on the grid of the map; details come from the image.
    """
    pitch_px = context.problem.map_pitch_px(context.settings.parameters.map_edges)
    reduced = context.problem.reduced(pitch_px)
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
    composites = _composites(layers, colors.color, detail)
    mpi = _with_details(context.problem, layers, colors.color, detail)
    return LayerFit(mpi, *composites, report)


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


def _composites(layers: SurfaceLayers, color: Tensor, detail: Tensor) -> tuple[Tensor, Tensor]:
    """Image (C, h, w) and defocus (h, w) of all layers; visible parts get the details (C, h, w).

    Layer by layer, front to back, to save memory.
    """
    shape = (detail.shape[-2], detail.shape[-1])
    image, defocus_map = torch.zeros_like(detail), torch.zeros_like(detail[0])
    free = torch.ones_like(detail[:1])
    for k in reversed(range(len(color))):
        alpha = resample(layers.alpha[k], shape)
        share = alpha * free
        fine = resample(color[k], shape).addcmul(resample(layers.own[k], shape), detail)
        image.addcmul_(share, fine.clamp_min_(0))
        defocus_map.addcmul_(share[0], resample(layers.defocus[k], shape)[0])
        free -= share
        check_cancelled()
    return image, defocus_map


def _with_details(
    problem: FitProblem, layers: SurfaceLayers, color: Tensor, detail: Tensor
) -> MultiplaneImage:
    """Layers in calibrated pixels, computed when they are used."""
    coarse, alpha, own, defocus = (
        t.cpu().numpy() for t in (color, layers.alpha, layers.own, layers.defocus)
    )
    fine, size = detail.cpu().numpy(), problem.shape
    return MultiplaneImage(
        EnlargedLayers(coarse, size, fine, own, problem.intensity_scale),
        EnlargedLayers(alpha, size),
        layers.scales,
        EnlargedLayers(defocus, size),
    )
