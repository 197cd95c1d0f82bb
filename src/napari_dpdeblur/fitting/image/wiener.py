"""All-in-focus image in closed form: two-view Wiener images, joined by the defocus map."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from napari_dpdeblur.cancellation import check_cancelled
from napari_dpdeblur.computing.cores import in_order
from napari_dpdeblur.computing.memory import in_groups
from napari_dpdeblur.fitting.image.filters import box_mean, largest_around, total_variation_filter
from napari_dpdeblur.fitting.image.layers import inpaint, weights_of_layers
from napari_dpdeblur.fitting.parameters import Parameters
from napari_dpdeblur.fitting.parameters.image import PriorParameters, WienerParameters
from napari_dpdeblur.fitting.problem import FitProblem
from napari_dpdeblur.optics import TileWindows
from napari_dpdeblur.optics.blur import group_size
from napari_dpdeblur.optics.defocused import power_of


@dataclass(frozen=True)
class ImagePrior:
    """An image and its map as prior for deconvolving the views again.

    ``image`` (C, h, w) fills in the frequencies that the lens has removed, so that edges are
    complete, ``weight`` times as strongly as the prior without it. ``surfaces`` (h, w) is the
    defocus of what is visible: occluders of a surface are removed from the views before that
    surface is deconvolved, as far as their blurred boundary reaches, because a boundary with
    another blur would ring.
    """

    image: Tensor
    surfaces: Tensor
    weight: float
    parameters: PriorParameters

    @classmethod
    def of_stage(
        cls, stage: str, image: Tensor, surfaces: Tensor, parameters: Parameters
    ) -> ImagePrior:
        """The prior of the stage "detail" or "refine": the image's edges without ringing."""
        own = parameters.prior
        weight, variation = {
            "detail": (own.detail_weight, own.detail_variation),
            "refine": (own.refine_weight, own.refine_variation),
        }[stage]
        smooth = total_variation_filter(image, variation, parameters.variation)
        return cls(smooth, surfaces, weight, own)

    def of_channels(self, channels: slice) -> ImagePrior:
        """The prior of some of the channels."""
        return replace(self, image=self.image[channels])

    def views_of_surface(self, problem: FitProblem, scale: float) -> Tensor:
        """The views (V, C, h, w), with occluders replaced by what lies around them."""
        own = 1 - self._occluded(problem, scale)
        if bool((own == 1).all()):  # nothing to fill, as in a scene of little depth
            return problem.views
        known = (own > 0.5).to(own.dtype)
        filled = torch.empty_like(problem.views)
        for out, view in zip(filled, problem.views, strict=True):
            check_cancelled()
            out[:] = inpaint(view, known).lerp_(view, own)
        return filled

    def _occluded(self, problem: FitProblem, scale: float) -> Tensor:
        """1 where light from in front of a surface arrives, 0 where none does: (1, h, w)."""
        parameters, surfaces = self.parameters, self.surfaces[None]
        nearer_by, step = scale - surfaces, parameters.boundary_step
        missing = (parameters.occluder_step - nearer_by) / parameters.occluder_blend
        in_front = (1 - missing).clamp(0, 1)
        occluded = in_front
        nearest = float(surfaces.min())
        for number in range(math.floor(nearest / step), math.ceil(scale / step)):
            middle = (number + 0.5) * step
            layer = in_front * ((surfaces - middle).abs() <= step / 2)
            if bool(layer.any()):
                reach = problem.in_pixels(round(parameters.boundary_reach_px * abs(middle)))
                occluded = torch.maximum(occluded, largest_around(layer, reach))
            check_cancelled()
        return box_mean(occluded, problem.in_pixels(parameters.boundary_fade_px))


def wiener_images(
    problem: FitProblem,
    defocus_map: Tensor,
    scales: Tensor,
    parameters: WienerParameters,
    smoothness: float = 1.0,
    prior: ImagePrior | None = None,
    noise: float | None = None,
) -> Iterator[Tensor]:
    """Deconvolve at each scale (supplement, Eq. 13) and interpolate between scales.

    Yields the image (C, h, w) as it grows; the last one is complete.
    ``defocus_map`` (h, w) is on the grid of the views, ``scales`` (S,) fall evenly.
    ``smoothness`` multiplies the regularisation that keeps noise from being amplified, towards
    zero or towards the ``prior``; ``noise`` is that of the views at half resolution, at mean
    intensity.
    """
    noise_to_signal = parameters.noise_to_signal
    if noise is not None:
        share = (noise / parameters.reference_noise) ** 2
        noise_to_signal *= min(max(share, parameters.least_share), 1.0)
    floor = max(smoothness * noise_to_signal, parameters.min_noise_to_signal)

    def weighted(part: tuple[float, Tensor]) -> Tensor | None:
        scale, weight = part
        touched = problem.layout.largest(weight, parameters.blend_px)[0].tolist()
        tiles = [tile for tile, largest in enumerate(touched) if largest > 0]
        if not tiles:
            return None
        return weight * _surface(problem, scale, tiles, floor, parameters, prior)

    image = torch.zeros_like(problem.views[0])
    weights = zip(scales.tolist(), weights_of_layers(defocus_map, scales), strict=True)
    for part in in_order(weighted, weights, image.device):
        if part is not None:
            image += part
        yield image


def _surface(
    problem: FitProblem,
    scale: float,
    tiles: list[int],
    floor: float,
    parameters: WienerParameters,
    prior: ImagePrior | None,
) -> Tensor:
    """The image (C, h, w) of what has this defocus, in some of the tiles."""
    if prior is None:
        return _deconvolved(problem, scale, tiles, floor, parameters, None)
    views = problem.kept(("views", scale), lambda: prior.views_of_surface(problem, scale))
    check_cancelled()
    own = replace(problem, views=views)
    return _deconvolved(own, scale, tiles, prior.weight * floor, parameters, prior.image)


def _deconvolved(
    problem: FitProblem,
    scale: float,
    touched: list[int],
    noise_to_signal: float,
    parameters: WienerParameters,
    expected: Tensor | None,
) -> Tensor:
    """The image (C, h, w) if all of it had this defocus; 0 in tiles that are not touched."""
    views = problem.views
    height, width = (size // 2 + parameters.margin_px for size in problem.kernels_at(scale).size_px)
    windows = TileWindows.of(problem.layout, (height, width), parameters.blend_px, views)
    windows = windows.restricted(touched)
    padded = [windows.pad(image) for image in (*views, *([] if expected is None else [expected]))]
    out = torch.zeros_like(views[0])
    check_cancelled()

    def sharpened(tiles: range) -> Tensor:
        part = windows.restricted(tiles)
        spectrum = problem.spectrum_at(scale, part.tiles, part.fft_px)
        transforms = [torch.fft.rfft2(part.cut(image)) for image in padded]
        sharp = _two_view_wiener(spectrum, noise_to_signal, *transforms)
        window: Tensor = torch.fft.irfft2(sharp, s=part.fft_px)
        return window

    def add(tiles: range, sharp: Tensor) -> None:
        windows.restricted(tiles).scatter(sharp, out)
        check_cancelled()

    count = group_size(windows, views.shape[1], out.device)
    in_groups(len(touched), count, sharpened, add, out.device)
    return out


def _two_view_wiener(
    spectrum: Tensor, floor: float, left: Tensor, right: Tensor, mean: Tensor | None = None
) -> Tensor:
    """Spectra (P, C, n, m) of the sharp windows from those of both views and the prior's mean."""
    power = power_of(spectrum)[:, None]
    # What the lens passes unchanged, such as the mean intensity, needs no regularisation.
    prior = (1 - power / spectrum.shape[1]).clamp_(0, 1).mul_(floor)
    prior[..., 0, 0] = 0
    # Conjugate views, and real factors of real parts: conjugate kernels and complex factors cost
    # copies.
    sharp = left.conj_physical_().mul_(spectrum[:, :1])
    sharp += right.conj_physical_().mul_(spectrum[:, 1:])
    parts = torch.view_as_real(sharp.conj_physical_())
    if mean is not None:
        parts.addcmul_(prior[..., None], torch.view_as_real(mean))
    parts.div_(power.add_(prior)[..., None])
    return sharp
