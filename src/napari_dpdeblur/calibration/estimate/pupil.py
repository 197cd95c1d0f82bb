"""A parametric dual-pixel pupil, and kernels as its Fourier transform.

A defocused point is an image of the pupil: with the light L(u) that a view receives through the
pupil position u, the kernel at the signed defocus scale d is L(p / (R d)), and its spectrum
K(f) = P(f R d) is the Fourier transform P of L. That is exact for both signs and through d = 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import torch
from torch import Tensor

SAMPLES = 25  # of the pupil, along each axis
REACH = 1.3  # pupil coordinate of the outermost samples' edge; the rim of the disc is at 1
TINY = 1e-6  # keeps the gradient of a distance finite at 0
BARREL_SOFTNESS = 0.15  # out of focus itself
SUPERSAMPLING = 5  # of kernels, along each axis
DIMMEST = 0.05  # of the brightness relative to the centre of the pupil


@dataclass(frozen=True)
class PupilParameters:
    """Shape of the pupil; positions are in pupil radii, x and y across the field in -1..1.

    Both views see the same soft disc, cut by the barrel towards the corners. A soft split along
    the disparity divides its light between them: the left view gets the share
    (1 - a tanh(u' / s)) / 2 and the right one (1 + a tanh(u' / s)) / 2 of the light at u, with
    u' = u + split_shift x + split_cubic x^3 + split_offset.
    """

    edge: float = math.log(0.14)  # log of the softness of the rim
    rim: float = 0.0  # how much brighter the rim is than the centre
    coma: float = 0.0  # slope of the brightness towards the corners
    barrel_radius: float = 1.3
    barrel_shift: float = 0.25  # at the edge of the field
    split_softness: float = math.log(0.9)  # log s
    softness_difference: float = 0.0  # between the views
    softness_growth: float = 0.0  # with x^2
    split_shift: float = 0.0
    split_cubic: float = 0.0
    split_offset: float = 0.0
    contrast: float = 2.0  # logit of a
    contrast_difference: float = 0.0  # between the views
    contrast_growth: float = 0.0  # with x^2
    aspect: float = 0.0  # log of height over width of the pupil
    astigmatism: float = 0.0  # log of the radial stretch, at the edge of the field

    def tensor(self) -> Tensor:
        """All numbers, in the order of the fields."""
        return torch.tensor([getattr(self, name) for name in NAMES])

    @classmethod
    def of(cls, values: Tensor) -> PupilParameters:
        """Numbers in the order of the fields."""
        return cls(*(float(value) for value in values))


NAMES = tuple(field.name for field in fields(PupilParameters))


def pupil_grid() -> Tensor:
    """Positions of the samples of a pupil along one axis: (SAMPLES,)."""
    return ((torch.arange(SAMPLES) + 0.5) / SAMPLES * 2 - 1) * REACH


def pupil_light(values: Tensor, field: Tensor, v: Tensor, u: Tensor) -> Tensor:
    """Light (P, 2, n, m) through positions v (n,) and u (m,) at places (P, 2) of the field.

    ``values`` are those of :class:`PupilParameters`; differentiable in them. Each view sums to 1.
    """
    p = dict(zip(NAMES, values, strict=True))
    y, x = field[:, 0, None, None], field[:, 1, None, None]
    v, u = v[None, :, None] * torch.exp(-p["aspect"]), u[None, None, :]
    v, u = _stretched(v, u, y, x, p["astigmatism"])
    softness = torch.exp(p["edge"])
    disc = _soft_step((1 - _length(v, u)) / softness)
    off_axis = _length(v + p["barrel_shift"] * y, u + p["barrel_shift"] * x)
    barrel = _soft_step((_barrel_radius(p["barrel_radius"]) - off_axis) / BARREL_SOFTNESS)
    brightness = (1 + p["rim"] * (v.square() + u.square()) + p["coma"] * (u * x + v * y)).clamp_min(
        DIMMEST
    )
    common = disc * barrel * brightness
    place = u + p["split_shift"] * x + p["split_cubic"] * x**3 + p["split_offset"]
    light = torch.stack([_share(p, place, x, sign) * common for sign in (-1, 1)], 1)
    return light / light.sum((-2, -1), keepdim=True)


def _stretched(
    v: Tensor, u: Tensor, y: Tensor, x: Tensor, astigmatism: Tensor
) -> tuple[Tensor, Tensor]:
    """Coordinates of a pupil that is stretched along the direction to the centre of the field."""
    squared = y.square() + x.square()
    change = (torch.exp(-astigmatism * squared) - 1) / (squared + 1e-3)
    along = v * y + u * x
    return v + change * along * y, u + change * along * x


def _share(p: dict[str, Tensor], place: Tensor, x: Tensor, sign: int) -> Tensor:
    """Share of the light that the left (-1) or right (1) view gets."""
    growth = x.square()
    difference = sign * p["softness_difference"]
    width = torch.exp(p["split_softness"] + difference + p["softness_growth"] * growth)
    logit = p["contrast"] + sign * p["contrast_difference"] + p["contrast_growth"] * growth
    return 0.5 * (1 + torch.sigmoid(logit) * torch.tanh(sign * place / width))


def _barrel_radius(value: Tensor) -> Tensor:
    """The radius, but not below 1: on the axis the aperture limits the light, not the barrel."""
    return 1 + BARREL_SOFTNESS * torch.nn.functional.softplus((value - 1) / BARREL_SOFTNESS)


def _soft_step(distance: Tensor) -> Tensor:
    return 0.5 * (1 + torch.tanh(distance))


def _length(v: Tensor, u: Tensor) -> Tensor:
    return torch.sqrt(v.square() + u.square() + TINY)


def centroids(light: Tensor) -> Tensor:
    """Centroids (P, 2 views, 2) as (v, u) of the light (P, 2, n, n) through the pupil."""
    grid = pupil_grid().to(light)
    return torch.stack([(light.sum(-1) * grid).sum(-1), (light.sum(-2) * grid).sum(-1)], -1)


def unit_disparity(light: Tensor) -> Tensor:
    """Right minus left centroid along u, in pupil radii: (P,); positive."""
    along = centroids(light)[..., 1]
    return along[:, 1] - along[:, 0]


def field_positions(rows: int, cols: int, height: int, width: int) -> Tensor:
    """Centres (P, 2) of tiles as (y, x), from -1 to 1 along the longer side of the frame."""
    longer = max(height, width)
    y = ((2 * torch.arange(rows) + 1) / rows - 1) * (height / longer)
    x = ((2 * torch.arange(cols) + 1) / cols - 1) * (width / longer)
    return torch.stack(torch.meshgrid(y, x, indexing="ij"), -1).reshape(-1, 2)


def pupil_spectrum(light: Tensor, radius_px: Tensor, fft_px: tuple[int, int]) -> Tensor:
    """Spectra (P, 2, n, m // 2 + 1) of kernels: the pupil stretched to ``radius_px`` (P,), signed.

    Centred: the mean of both centroids is at the origin, because an offset common to both views
    cannot be told from a shift of the scene.
    """
    grid = pupil_grid().to(light)
    turn = 2 * math.pi * radius_px[:, None, None]
    freq_y = torch.fft.fftfreq(fft_px[0]).to(light)
    freq_x = torch.fft.rfftfreq(fft_px[1]).to(light)
    middle = centroids(light).mean(1)[:, :, None]
    angle_y = turn * freq_y[:, None] * (grid - middle[:, :1])
    angle_x = turn * (grid - middle[:, 1:]).transpose(1, 2) * freq_x
    along_y = torch.polar(torch.ones_like(angle_y), -angle_y)[:, None]
    along_x = torch.polar(torch.ones_like(angle_x), -angle_x)[:, None]
    return along_y @ (light.to(along_y.dtype) @ along_x)


def kernel_size_px(radius_px: float) -> int:
    """Odd size that holds a kernel of this radius with its soft rim."""
    return 2 * math.ceil(REACH * radius_px + 1) + 1


def sampled_kernels(values: Tensor, field: Tensor, radius_px: float, size: int) -> Tensor:
    """Kernels (P, 2, size, size) at defocus scale 1, area-sampled; each sums to 1."""
    fine = (torch.arange(size * SUPERSAMPLING) + 0.5) / SUPERSAMPLING - size / 2
    place = fine / radius_px
    kernels = []
    for one in field:  # one tile at a time: supersampled kernels are large
        light = pupil_light(values, one[None], place, place)[0]
        blocks = light.reshape(2, size, SUPERSAMPLING, size, SUPERSAMPLING)
        kernels.append(blocks.sum((2, 4)))
    return torch.stack(kernels)
