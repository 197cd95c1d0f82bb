"""Frames of the movies of a multiplane image: focus, parallax, turntable."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from napari_dpdeblur.array_types import FloatArray
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results.refocus.aperture import Aperture
from napari_dpdeblur.results.refocus.renderer import Refocuser, Shot, preview_reduction
from napari_dpdeblur.results.refocus.viewpoint import SharpViews

FOCUS, PARALLAX, TURNTABLE = "focus", "parallax", "turntable"
FPS, FRAMES = 12.0, 24  # frames in one direction
# To each side, and the depth of the turned scene in widths of the image: together they move the
# nearest layer about as far as layers are continued behind it.
TURN_DEG, SPREAD = 15.0, 0.12

Render = Callable[[], FloatArray]


def swing(count: int) -> list[float]:
    """Positions from 1 to -1, slower at both ends as a pendulum: (count,)."""
    return [float(np.cos(angle)) for angle in np.linspace(0, np.pi, count)]


def focus_sweep(mpi: MultiplaneImage, shot: Shot, count: int) -> list[Shot]:
    """The shot with its focus going from the nearest to the farthest layer in equal steps."""
    scales = np.asarray(mpi.defocus_scales if mpi.defocus is None else mpi.defocus)
    if mpi.defocus is not None:
        scales = scales[np.asarray(mpi.alpha) > 0]
    focuses = np.linspace(float(scales.min()), float(scales.max()), count)
    return [Shot(float(focus), shot.aperture, shot.views) for focus in focuses]


def movie_renders(
    kind: str, mpi: MultiplaneImage, aperture: Aperture, shot: Shot, count: int
) -> Iterator[Render]:
    """What renders each frame (C, h, w) of one direction of a movie, at preview size.

    A movie of the focus has the aperture of ``shot``; the others are sharp, and a parallax keeps
    what is at the focus of ``shot`` in place.
    """
    shape = (mpi.color.shape[-2], mpi.color.shape[-1])
    reduction = preview_reduction(shape)
    if kind == FOCUS:
        parts = (mpi.color, mpi.alpha, mpi.defocus_scales)
        refocuser = Refocuser(*parts, aperture, reduction, defocus=mpi.defocus)
        for wanted in focus_sweep(mpi, shot, count):
            yield lambda wanted=wanted: refocuser.render(wanted)  # type: ignore[misc]
        return
    sharp = SharpViews(mpi, reduction)
    sway_px = aperture.sway_px()
    for place in swing(count):
        if kind == PARALLAX:
            yield lambda place=place: sharp.parallax((place * sway_px, 0.0), shot.focus)  # type: ignore[misc]
        else:
            yield lambda place=place: sharp.turned(place * TURN_DEG, SPREAD)  # type: ignore[misc]
