"""Registration of a photo with a capture, and its verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from napari_dpdeblur.array_types import Crop, FloatArray, Picture
from napari_dpdeblur.capture.header import LANDSCAPE
from napari_dpdeblur.capture.photo import Photo
from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting.parameters.photo import RegistrationParameters
from napari_dpdeblur.fitting.photo.alignment import Alignment, Warp, refine
from napari_dpdeblur.fitting.photo.features import (
    FeatureMatch,
    Keypoints,
    find_keypoints,
    match_features,
)
from napari_dpdeblur.fitting.photo.overlap import overlap_picture

if TYPE_CHECKING:
    from napari_dpdeblur.capture import DualPixelCapture

GREEN = 1
PARALLAX_GAIN = 0.9  # of the displacement that is left, from which parallax is believed
DARKEST_MEAN = 1e-4  # share of white; a photo that is darker is black


class RegistrationError(FitError):
    """A photo cannot be aligned with the capture; ``picture`` shows both."""

    def __init__(self, message: str, frame: Frame, photo: Photo, warp: Warp | None) -> None:
        super().__init__(message)
        self.picture: Picture = overlap_picture(frame.image, photo, warp, frame.is_transposed)


@dataclass(frozen=True)
class Frame:
    """The whole capture as one image (H, W) in square pixels: the mean of its views."""

    image: FloatArray
    name: str
    is_transposed: bool = False

    @classmethod
    def of(cls, capture: DualPixelCapture) -> Frame:
        """Mean of both views, linear."""
        mean = capture.with_square_pixels().views.mean((0, 1))
        image = np.ascontiguousarray(mean, np.float32)
        return cls(image, capture.name, capture.orientation != LANDSCAPE)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.image.shape[0], self.image.shape[1]


@dataclass(frozen=True)
class Registration:
    """A photo and where each pixel of the capture's frame lies in it."""

    frame: Frame
    photo: Photo
    alignment: Alignment
    matches: int
    overlap: float

    @property
    def warp(self) -> Warp:
        """From the frame to the photo."""
        return self.alignment.warp

    def picture(self) -> Picture:
        """Capture, photo and squares of both, to check the registration by eye."""
        return overlap_picture(self.frame.image, self.photo, self.warp, self.frame.is_transposed)

    def describe(self) -> dict[str, Any]:
        """Figures for the provenance."""
        return {
            "matching_features": self.matches,
            "overlap": round(self.overlap, 4),
            "correlation": round(self.alignment.correlation, 4),
            "residual_px": round(self.alignment.residual_px, 4),
            "homography": [[float(f"{v:.9g}") for v in row] for row in self.warp.homography],
            "distortion": [[float(f"{v:.6g}") for v in row] for row in self.warp.distortion],
            "parallax": [float(f"{v:.6g}") for v in self.warp.parallax],
        }

    def refined(
        self,
        sharp: FloatArray,
        defocus_map: FloatArray,
        place: Crop,
        parameters: RegistrationParameters,
    ) -> Registration:
        """Aligned with what was fitted: the sharp image and the defocus map (h, w) at a place.

        Blur of the two pixel halves shifts details of the capture a little; the sharp image has
        none. Parallax follows from the defocus, if there is any.
        """
        top, left, height, width = place
        rows, cols = self.frame.shape
        image = self.frame.image.copy()
        image[top : top + height, left : left + width] = sharp
        around = ((top, rows - top - height), (left, cols - left - width))
        defocus = np.pad(defocus_map, around, mode="edge").astype(np.float32)
        green = self.photo.pixels[GREEN]
        parameters = parameters.model_copy(update={"dense_steps": parameters.final_steps})
        found = refine(image, green, self.warp, parameters, levels=1)
        moved = refine(image, green, found.warp, parameters, defocus, levels=1)
        if moved.residual_px < PARALLAX_GAIN * found.residual_px:
            found = moved
        is_usable = found.correlation >= parameters.least_agreement
        return replace(self, alignment=found) if is_usable else self


def register(
    capture: DualPixelCapture, photo: Photo, parameters: RegistrationParameters
) -> Registration:
    """Align a photo with a capture; RegistrationError, in one sentence, if it does not match."""
    if capture.shape[1] != 1:
        raise FitError(
            f"The capture {capture.name} is in colour already; fit it without the photo."
        )
    frame = Frame.of(capture)
    photo = photo.transposed() if frame.is_transposed else photo
    _check_contrast(frame, photo, parameters)
    here = find_keypoints(frame.image, parameters)
    match = _matched(frame, here, photo.pixels[GREEN], parameters)
    if match.homography is None:
        text = (
            f"The photo {photo.name} does not show the scene of the capture {frame.name}, or too "
            "little of it; choose a photo of the same scene from the same place."
        )
        raise _refused(text, frame, here, photo, match, parameters)
    warp = Warp.of(match.homography, frame.shape)
    overlap = _overlap(warp, photo.is_clipped.shape)
    if overlap < parameters.least_overlap:
        text = (
            f"The photo {photo.name} shows only {overlap:.0%} of the capture {frame.name}; take "
            "one that shows the whole scene."
        )
        raise RegistrationError(text, frame, photo, warp)
    alignment = refine(frame.image, photo.pixels[GREEN], warp, parameters)
    if alignment.correlation < parameters.least_agreement:
        text = (
            f"The photo {photo.name} does not match the capture {frame.name} in detail "
            f"(correlation {alignment.correlation:.2f}, at least {parameters.least_agreement:g} is "
            "needed); take it from the same place, without anything moving."
        )
        raise _refused(text, frame, here, photo, match, parameters)
    return Registration(frame, photo, alignment, match.matches, overlap)


def _check_contrast(frame: Frame, photo: Photo, parameters: RegistrationParameters) -> None:
    green = photo.pixels[GREEN]
    mean, spread = float(green.mean()), float(green.std())
    if mean <= DARKEST_MEAN or spread < parameters.constant_contrast * mean:
        text = f"The photo {photo.name} is black or uniform; choose a photo of the scene."
        raise RegistrationError(text, frame, photo, None)


def _matched(
    frame: Frame, here: Keypoints, green: FloatArray, parameters: RegistrationParameters
) -> FeatureMatch:
    return match_features(here, find_keypoints(green, parameters), frame.shape, parameters)


def _refused(
    text: str,
    frame: Frame,
    here: Keypoints,
    photo: Photo,
    match: FeatureMatch,
    parameters: RegistrationParameters,
) -> RegistrationError:
    """The error, with another text if the photo matches better once it is mirrored."""
    mirrored = np.ascontiguousarray(photo.pixels[GREEN][:, ::-1])
    other = _matched(frame, here, mirrored, parameters)
    if other.homography is not None and other.matches > match.matches:
        text = (
            f"The photo {photo.name} is mirrored; switch off mirroring in the camera app or flip "
            "the photo."
        )
    warp = None if match.homography is None else Warp.of(match.homography, frame.shape)
    return RegistrationError(text, frame, photo, warp)


def _overlap(warp: Warp, photo_shape: tuple[int, ...]) -> float:
    """Share of the frame that lies inside the photo."""
    height, width = warp.shape
    y, x = np.meshgrid(np.linspace(0, height - 1, 50), np.linspace(0, width - 1, 50))
    map_x, map_y = warp.positions(x, y)
    rows, cols = photo_shape
    inside = (map_x >= 0) & (map_x <= cols - 1) & (map_y >= 0) & (map_y <= rows - 1)
    return float(inside.mean())
