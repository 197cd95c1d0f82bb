"""The stages of a fit, each a generator of events that returns what the next one needs."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator
from typing import TypeVar

import torch
from torch import Tensor

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting.context import FitContext
from napari_dpdeblur.fitting.defocus import search as defocus_search
from napari_dpdeblur.fitting.defocus.local_estimate import ROUNDS, Estimate
from napari_dpdeblur.fitting.defocus.search import SWAP_TEST_SCALES, DefocusSearch
from napari_dpdeblur.fitting.events import FitEvent
from napari_dpdeblur.fitting.image.bands import Band, bands_of
from napari_dpdeblur.fitting.image.deringing import calmed, within_capture
from napari_dpdeblur.fitting.image.layered_renderer import (
    SMOOTHNESS,
    LayeredRenderer,
    sharpen_round,
)
from napari_dpdeblur.fitting.image.layers import LayerShapes, layer_shapes
from napari_dpdeblur.fitting.image.occlusion_boundaries import RANGE_PX, OutlineCare, outline_care
from napari_dpdeblur.fitting.image.wiener import Belief, Expectation, wiener_images
from napari_dpdeblur.fitting.problem import FitProblem
from napari_dpdeblur.fitting.result import make_result
from napari_dpdeblur.fitting.settings import Weights
from napari_dpdeblur.generators import translated
from napari_dpdeblur.optics import MultiplaneImage
from napari_dpdeblur.results.result import Result

Returned = TypeVar("Returned")

PUBLISHED = Weights()
EDGE_FACTOR = 2  # calibrated pixels per pixel of the first all-in-focus image
# How far to go from the closed form towards the image that the renderer asks for. The renderer
# knows occlusions but trusts the layers' outlines to the pixel; a third of the way scores best,
# and right beside the outlines none of it.
RELAXATION = 0.3
# The first image still has ripples: of it the strong edges count, and little. The second has fewer:
# it counts much more than what the lens has hardly let through, and finer detail of it is kept.
EXPECTED = {"detail": Belief(1.0, 0.05), "refine": Belief(6.0, 0.03)}
OCCLUSION_REACH_PX = 12  # how far a surface goes on behind another, in calibrated pixels
WIENER_SCALES = 16


def search_defocus(context: FitContext) -> Generator[FitEvent, None, DefocusSearch]:
    """Evidence for each scale, then the map: stages "evidence" and "defocus map"."""
    saved = context.state.tensors
    if context.done("defocus map"):
        return DefocusSearch(Estimate(saved["centre"], saved["weight"]), saved["defocus_map"])
    problem = context.problem.for_search()
    coarse = problem.reduced(defocus_search.search_factor(problem))
    scales = defocus_search.search_scales(problem)
    steps = defocus_search.search(
        coarse, scales, context.settings.bias_correction, context.capture.name
    )
    evidence = yield from _staged(context, "evidence", len(scales) + SWAP_TEST_SCALES, steps)
    use_evidence = bool(context.settings.weights.auxiliary)
    rounds = defocus_search.propagated(evidence, _map_smoothness(context), use_evidence)
    search = yield from _staged(context, "defocus map", ROUNDS, rounds)
    _save_search(context, "defocus map", search)
    return search


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
    """Scales of the layers, back to front: what the user gave, else what the map needs."""
    back, front = defocus_search.automatic_range(search.defocus_map)
    back = context.settings.back_scale or back
    front = context.settings.front_scale or front
    if front >= back:
        raise FitError(
            f"The front scale {front:.3g} is not smaller than the back scale {back:.3g} that was "
            "found; give both."
        )
    views = context.problem.views
    return torch.linspace(
        back, front, context.settings.layers, device=views.device, dtype=views.dtype
    )


def closed_form_image(
    context: FitContext,
    stage: str,
    problem: FitProblem,
    defocus_map: Tensor,
    expected: Expectation | None = None,
) -> Generator[FitEvent, None, Tensor]:
    """The Wiener image (C, h, w) of a map, on the grid of the given problem."""
    scales = defocus_search.search_scales(problem, WIENER_SCALES)
    on_grid = defocus_search.on_grid_of(problem, defocus_map)
    image = torch.zeros_like(problem.views[0])
    strength = _image_smoothness(context)
    images = wiener_images(problem, on_grid, scales, strength, expected)
    for step, image in enumerate(images, start=1):
        yield context.event(stage, step, WIENER_SCALES, image=image)
    context.clock.end_stage(stage)
    return image.clamp_min(0)


def _careful_image(
    context: FitContext, stage: str, care: OutlineCare, expected: Expectation | None = None
) -> Generator[FitEvent, None, Tensor]:
    """The Wiener image at full resolution, without rims along outlines."""
    problem = context.problem
    image = yield from closed_form_image(context, stage, problem, care.defocus_map, expected)
    around = problem.in_pixels(RANGE_PX)
    return care.limited(image, problem.views.mean(0), around)


def _shapes(context: FitContext, defocus_map: Tensor, scales: Tensor) -> LayerShapes:
    check_cancelled()
    reach = context.problem.in_pixels(OCCLUSION_REACH_PX)
    return layer_shapes(defocus_map, scales, reach)


def preview(context: FitContext, search: DefocusSearch) -> Generator[FitEvent, None, Result]:
    """The closed form alone."""
    scales = layer_scales(context, search)
    care = outline_care(context.problem, search.defocus_map)
    image = yield from _careful_image(context, "image", care)
    defocus_map = defocus_search.on_grid_of(context.problem, search.defocus_map)
    return _result(context, image, _shapes(context, defocus_map, scales), scales, search)


def standard(context: FitContext, search: DefocusSearch) -> Generator[FitEvent, None, Result]:
    """The closed form, a map with sharp edges, then the occlusion-aware renderer."""
    search = yield from _with_sharp_edges(context, search)
    scales = layer_scales(context, search)
    surfaces = defocus_search.on_grid_of(context.problem, search.defocus_map)
    care = outline_care(context.problem, search.defocus_map)
    start = yield from _detailed_image(context, care, surfaces)
    shapes = _shapes(context, surfaces, scales)
    image = start
    if context.settings.weights.data:
        rendered = yield from _rendered_image(context, start, shapes, scales)
        image = start + RELAXATION * (1 - care.care) * (rendered - start)
    return _result(context, image, shapes, scales, search)


def _detailed_image(
    context: FitContext, care: OutlineCare, surfaces: Tensor
) -> Generator[FitEvent, None, Tensor]:
    """The Wiener image, then again with what it shows as expectation, weaker, then stronger."""
    image = context.state.tensors.get("start")
    if image is None:
        image = yield from _careful_image(context, "deblur", care)
        context.save("deblur", 1, start=image)
    for stage, belief in EXPECTED.items():
        if not context.done(stage):
            expected = Expectation.of(image, surfaces, belief)
            image = yield from _careful_image(context, stage, care, expected)
            context.save(stage, 1, start=image)
    return image


def _with_sharp_edges(
    context: FitContext, search: DefocusSearch
) -> Generator[FitEvent, None, DefocusSearch]:
    if context.done("edges"):
        return search
    reduced = context.problem.reduced(EDGE_FACTOR)
    sharp = yield from closed_form_image(context, "start", reduced, search.defocus_map)
    rounds = defocus_search.with_sharp_edges(search, sharp, _map_smoothness(context))
    search = yield from _staged(context, "edges", ROUNDS, rounds)
    _save_search(context, "edges", search)
    return search


def _rendered_image(
    context: FitContext, start: Tensor, shapes: LayerShapes, scales: Tensor
) -> Generator[FitEvent, None, Tensor]:
    """The image that explains the views best through the renderer, from ``start``."""
    rounds = context.settings.image_rounds
    bands = bands_of(context.problem, float(scales[0]))
    image = context.state.tensors.get("image", torch.zeros_like(start))
    for number, band in enumerate(bands):
        before = number * rounds
        done = min(max(context.done("image") - before, 0), rounds)
        if done == rounds:
            continue
        part = context.state.tensors["band"] if done else band.of(start)
        steps = _rendered_band(context, band, part, shapes, scales, done)
        for index, (part, terms) in enumerate(steps, start=done * context.settings.image_steps + 1):
            shown = start.clone()
            band.of(shown).copy_(part)
            count = before * context.settings.image_steps + index
            total = len(bands) * rounds * context.settings.image_steps
            yield context.event("image", count, total, terms, image=shown)
            if index % context.settings.image_steps == 0:
                done += 1
                if done == rounds:
                    band.of(image).add_(band.weight * part)
                context.save("image", before + done, image=image, band=part)
    context.clock.end_stage("image")
    return image


def _rendered_band(
    context: FitContext, band: Band, part: Tensor, shapes: LayerShapes, scales: Tensor, done: int
) -> Iterator[tuple[Tensor, dict[str, float]]]:
    """Steps of all rounds that are left for one band of the image: (C, rows, w) and terms."""
    problem, settings = band.problem(context.problem), context.settings
    within = band.shapes(shapes)
    renderer = LayeredRenderer(problem, scales, within, settings.blend_px)
    strength, pitch = SMOOTHNESS * _image_smoothness(context), problem.pixel_pitch
    for _ in range(done, settings.image_rounds):
        steps = settings.image_steps
        for step in sharpen_round(renderer, problem.views, part, strength, pitch, steps):
            yield step
            part = step[0]


def _result(
    context: FitContext, image: Tensor, shapes: LayerShapes, scales: Tensor, search: DefocusSearch
) -> Result:
    possible = within_capture(context.problem, image)
    image = calmed(context.problem, possible, _image_smoothness(context))
    return make_result(
        context,
        image,
        shapes.defocus_map(scales),
        MultiplaneImage(shapes.color(image), shapes.alpha, scales),
        defocus_search.on_grid_of(context.problem, search.confidence),
    )
