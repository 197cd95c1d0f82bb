"""The stages of a fit, each a generator of events that returns what the next one needs."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TypeVar

import torch
from torch import Tensor

from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting.context import Job, Solution
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
from napari_dpdeblur.fitting.settings import Weights

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


def search_defocus(job: Job, name: str) -> Generator[FitEvent, None, DefocusSearch]:
    """Evidence for each scale, then the map: stages "evidence" and "defocus map"."""
    saved = job.state.tensors
    if job.done("defocus map"):
        return DefocusSearch(Estimate(saved["centre"], saved["weight"]), saved["defocus_map"])
    problem = job.problem.for_search()
    coarse = problem.reduced(defocus_search.search_factor(problem))
    scales = defocus_search.search_scales(problem)
    steps = defocus_search.search(coarse, scales, job.settings.bias_correction, name)
    evidence = yield from _staged(job, "evidence", len(scales) + SWAP_TEST_SCALES, steps)
    use_evidence = bool(job.settings.weights.auxiliary)
    rounds = defocus_search.propagated(
        evidence, _map_smoothness(job), use_evidence, job.control.check
    )
    search = yield from _staged(job, "defocus map", ROUNDS, rounds)
    _save_search(job, "defocus map", search)
    return search


def _staged(
    job: Job, stage: str, total: int, steps: Generator[Tensor | None, None, Returned]
) -> Generator[FitEvent, None, Returned]:
    """Turn what a generator of maps yields into events of a stage; return what it returns."""
    for step in range(1, total + 1):
        yield job.event(stage, step, total, defocus_map=next(steps))
    job.clock.end_stage(stage)
    return defocus_search.returned(steps)


def _map_smoothness(job: Job) -> float:
    return job.settings.weights.alpha / PUBLISHED.alpha


def _image_smoothness(job: Job) -> float:
    return job.settings.weights.intensity / PUBLISHED.intensity


def _save_search(job: Job, stage: str, search: DefocusSearch) -> None:
    estimate = search.estimate
    job.save(
        stage, 1, centre=estimate.centre, weight=estimate.weight, defocus_map=search.defocus_map
    )


def layer_scales(job: Job, search: DefocusSearch) -> Tensor:
    """Scales of the layers, back to front: what the user gave, else what the map needs."""
    back, front = defocus_search.automatic_range(search.defocus_map)
    back = job.settings.back_scale or back
    front = job.settings.front_scale or front
    if front >= back:
        raise FitError(
            f"The front scale {front:.3g} is not smaller than the back scale {back:.3g} that was "
            "found; give both."
        )
    views = job.problem.views
    return torch.linspace(back, front, job.settings.layers, device=views.device, dtype=views.dtype)


def closed_form_image(
    job: Job,
    stage: str,
    problem: FitProblem,
    defocus_map: Tensor,
    expected: Expectation | None = None,
) -> Generator[FitEvent, None, Tensor]:
    """The Wiener image (C, h, w) of a map, on the grid of the given problem."""
    scales = defocus_search.search_scales(problem, WIENER_SCALES)
    on_grid = defocus_search.on_grid_of(problem, defocus_map)
    image = torch.zeros_like(problem.views[0])
    strength, check = _image_smoothness(job), job.control.check
    images = wiener_images(problem, on_grid, scales, strength, check, expected)
    for step, image in enumerate(images, start=1):
        yield job.event(stage, step, WIENER_SCALES, image=image)
    job.clock.end_stage(stage)
    return image.clamp_min(0)


def _careful_image(
    job: Job, stage: str, care: OutlineCare, expected: Expectation | None = None
) -> Generator[FitEvent, None, Tensor]:
    """The Wiener image at full resolution, without rims along outlines."""
    problem = job.problem
    image = yield from closed_form_image(job, stage, problem, care.defocus_map, expected)
    around, check = problem.in_pixels(RANGE_PX), job.control.check
    return care.limited(image, problem.views.mean(0), around, check)


def _shapes(job: Job, defocus_map: Tensor, scales: Tensor) -> LayerShapes:
    job.control.check()
    reach = job.problem.in_pixels(OCCLUSION_REACH_PX)
    return layer_shapes(defocus_map, scales, reach, job.control.check)


def preview(job: Job, search: DefocusSearch) -> Generator[FitEvent, None, Solution]:
    """The closed form alone."""
    scales = layer_scales(job, search)
    care = outline_care(job.problem, search.defocus_map, job.control.check)
    image = yield from _careful_image(job, "image", care)
    defocus_map = defocus_search.on_grid_of(job.problem, search.defocus_map)
    return _solution(job, image, _shapes(job, defocus_map, scales), scales, search)


def standard(job: Job, search: DefocusSearch) -> Generator[FitEvent, None, Solution]:
    """The closed form, a map with sharp edges, then the occlusion-aware renderer."""
    search = yield from _with_sharp_edges(job, search)
    scales = layer_scales(job, search)
    surfaces = defocus_search.on_grid_of(job.problem, search.defocus_map)
    care = outline_care(job.problem, search.defocus_map, job.control.check)
    start = yield from _detailed_image(job, care, surfaces)
    shapes = _shapes(job, surfaces, scales)
    image = start
    if job.settings.weights.data:
        rendered = yield from _rendered_image(job, start, shapes, scales)
        image = start + RELAXATION * (1 - care.care) * (rendered - start)
    return _solution(job, image, shapes, scales, search)


def _detailed_image(
    job: Job, care: OutlineCare, surfaces: Tensor
) -> Generator[FitEvent, None, Tensor]:
    """The Wiener image, then again with what it shows as expectation, weaker, then stronger."""
    image = job.state.tensors.get("start")
    if image is None:
        image = yield from _careful_image(job, "deblur", care)
        job.save("deblur", 1, start=image)
    for stage, belief in EXPECTED.items():
        if not job.done(stage):
            expected = Expectation.of(image, surfaces, belief, job.control.check)
            image = yield from _careful_image(job, stage, care, expected)
            job.save(stage, 1, start=image)
    return image


def _with_sharp_edges(job: Job, search: DefocusSearch) -> Generator[FitEvent, None, DefocusSearch]:
    if job.done("edges"):
        return search
    reduced = job.problem.reduced(EDGE_FACTOR)
    sharp = yield from closed_form_image(job, "start", reduced, search.defocus_map)
    rounds = defocus_search.with_sharp_edges(search, sharp, _map_smoothness(job), job.control.check)
    search = yield from _staged(job, "edges", ROUNDS, rounds)
    _save_search(job, "edges", search)
    return search


def _rendered_image(
    job: Job, start: Tensor, shapes: LayerShapes, scales: Tensor
) -> Generator[FitEvent, None, Tensor]:
    """The image that explains the views best through the renderer, from ``start``."""
    rounds = job.settings.image_rounds
    bands = bands_of(job.problem, float(scales[0]))
    image = job.state.tensors.get("image", torch.zeros_like(start))
    for number, band in enumerate(bands):
        before = number * rounds
        done = min(max(job.done("image") - before, 0), rounds)
        if done == rounds:
            continue
        part = job.state.tensors["band"] if done else band.of(start)
        steps = _rendered_band(job, band, part, shapes, scales, done)
        for index, (part, terms) in enumerate(steps, start=done * job.settings.image_steps + 1):
            shown = start.clone()
            band.of(shown).copy_(part)
            count = before * job.settings.image_steps + index
            total = len(bands) * rounds * job.settings.image_steps
            yield job.event("image", count, total, terms, image=shown)
            if index % job.settings.image_steps == 0:
                done += 1
                if done == rounds:
                    band.of(image).add_(band.weight * part)
                job.save("image", before + done, image=image, band=part)
    job.clock.end_stage("image")
    return image


def _rendered_band(
    job: Job, band: Band, part: Tensor, shapes: LayerShapes, scales: Tensor, done: int
) -> Iterator[tuple[Tensor, dict[str, float]]]:
    """Steps of all rounds that are left for one band of the image: (C, rows, w) and terms."""
    problem, settings = band.problem(job.problem), job.settings
    within = band.shapes(shapes)
    renderer = LayeredRenderer(problem, scales, within, settings.blend_px, job.control.check)
    strength, pitch = SMOOTHNESS * _image_smoothness(job), problem.pixel_pitch
    for _ in range(done, settings.image_rounds):
        steps = settings.image_steps
        for step in sharpen_round(renderer, problem.views, part, strength, pitch, steps):
            yield step
            part = step[0]


def _solution(
    job: Job, image: Tensor, shapes: LayerShapes, scales: Tensor, search: DefocusSearch
) -> Solution:
    check = job.control.check
    possible = within_capture(job.problem, image)
    image = calmed(job.problem, possible, _image_smoothness(job), check)
    return Solution(
        image,
        shapes.defocus_map(scales, check),
        shapes.color(image, check),
        shapes.alpha,
        scales,
        defocus_search.on_grid_of(job.problem, search.confidence),
    )
