"""The stages of a fit, each a generator of events that returns what the next one needs."""

from __future__ import annotations

from collections.abc import Generator

import torch
from torch import Tensor

from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fit import closed_form
from napari_dpdeblur.fit.closed_form import DefocusSearch
from napari_dpdeblur.fit.defocus import ROUNDS
from napari_dpdeblur.fit.events import FitEvent
from napari_dpdeblur.fit.image import SMOOTHNESS, LayeredRenderer, sharpen_round
from napari_dpdeblur.fit.job import Job, Solution
from napari_dpdeblur.fit.layers import LayerShapes, layer_shapes
from napari_dpdeblur.fit.settings import Weights
from napari_dpdeblur.fit.wiener import wiener_images

PUBLISHED = Weights()
OCCLUSION_REACH_PX = 12  # how far a surface goes on behind another, in calibrated pixels
WIENER_SCALES = 16


def search_defocus(job: Job, name: str) -> Generator[FitEvent, None, DefocusSearch]:
    """Evidence for each scale, then the map: stages "evidence" and "defocus map"."""
    saved = job.state.tensors
    if job.done("defocus map"):
        return DefocusSearch(saved["defocus_map"], saved["confidence"])
    problem, weights = job.problem, job.settings.weights
    coarse = problem.reduced(closed_form.search_factor(problem))
    scales = closed_form.search_scales(problem)
    total = len(scales) + closed_form.SWAP_TEST_SCALES
    steps = closed_form.search(coarse, scales, job.settings.bias_correction, name)
    for step in range(1, total + 1):
        next(steps)
        yield job.event("evidence", step, total)
    evidence = closed_form.returned(steps)
    job.clock.end_stage("evidence")
    smoothness = weights.alpha / PUBLISHED.alpha
    rounds = closed_form.propagated(evidence, smoothness, bool(weights.auxiliary))
    for step in range(1, ROUNDS + 1):
        values = next(rounds)
        yield job.event("defocus map", step, ROUNDS, defocus_map=values)
    found = closed_form.returned(rounds)
    job.clock.end_stage("defocus map")
    job.save("defocus map", 1, defocus_map=found.defocus_map, confidence=found.confidence)
    return found


def layer_scales(job: Job, search: DefocusSearch) -> Tensor:
    """Scales of the layers, back to front: what the user gave, else what the map needs."""
    back, front = closed_form.automatic_range(search.defocus_map)
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
    job: Job, stage: str, defocus_map: Tensor
) -> Generator[FitEvent, None, Tensor]:
    """The Wiener image (C, h, w) of a map on the grid of the views."""
    scales = closed_form.search_scales(job.problem, WIENER_SCALES)
    image = torch.zeros_like(job.problem.views[0])
    for step, image in enumerate(wiener_images(job.problem, defocus_map, scales), start=1):
        yield job.event(stage, step, WIENER_SCALES, image=image)
    job.clock.end_stage(stage)
    return image


def _shapes(job: Job, defocus_map: Tensor, scales: Tensor) -> LayerShapes:
    rows, cols = (max(OCCLUSION_REACH_PX // pitch, 1) for pitch in job.problem.pixel_pitch)
    return layer_shapes(defocus_map, scales, (rows, cols))


def preview(job: Job, search: DefocusSearch) -> Generator[FitEvent, None, Solution]:
    """The closed form alone."""
    scales = layer_scales(job, search)
    defocus_map = closed_form.on_grid_of(job.problem, search.defocus_map)
    image = yield from closed_form_image(job, "image", defocus_map)
    return _solution(job, image, _shapes(job, defocus_map, scales), scales, search)


def standard(job: Job, search: DefocusSearch) -> Generator[FitEvent, None, Solution]:
    """The closed form, then the image through the occlusion-aware renderer."""
    scales = layer_scales(job, search)
    defocus_map = closed_form.on_grid_of(job.problem, search.defocus_map)
    shapes = _shapes(job, defocus_map, scales)
    image = job.state.tensors.get("image")
    if image is None:
        image = yield from closed_form_image(job, "start", defocus_map)
    image = yield from _sharpened(job, image, shapes, scales)
    return _solution(job, image, shapes, scales, search)


def _sharpened(
    job: Job, image: Tensor, shapes: LayerShapes, scales: Tensor
) -> Generator[FitEvent, None, Tensor]:
    problem, settings = job.problem, job.settings
    renderer = LayeredRenderer(problem, scales, shapes, settings.blend_px, job.control.check)
    strength = SMOOTHNESS * settings.weights.intensity / PUBLISHED.intensity
    total = settings.image_rounds * settings.image_steps
    for done in range(job.done("image"), settings.image_rounds):
        rounds = sharpen_round(
            renderer, problem.views, image, strength, problem.pixel_pitch, settings.image_steps
        )
        for step, (image, terms) in enumerate(rounds, start=done * settings.image_steps + 1):
            yield job.event("image", step, total, terms, image=image)
        job.save("image", done + 1, image=image)
    job.clock.end_stage("image")
    return image


def _solution(
    job: Job, image: Tensor, shapes: LayerShapes, scales: Tensor, search: DefocusSearch
) -> Solution:
    image = image.clamp_min(0)
    transmittance = shapes.transmittance()
    return Solution(
        image,
        (transmittance[:, 0] * scales[:, None, None]).sum(0),
        shapes.color(image),
        shapes.alpha,
        scales,
        closed_form.on_grid_of(job.problem, search.confidence),
    )
