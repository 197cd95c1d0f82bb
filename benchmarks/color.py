"""Colour from a photo: error of colours, registration and time, with known ground truth.

A green pair of the two-sided synthetic scene at 1008 x 1344 px, and a colour photo of the same
scene with another focus, exposure and noise, turned by 2 degrees, scaled by 5 % and shifted by
20 px. The limits apply to this scene; the scene of the sample, with the same green pair and photo,
is measured beside it (figures `table`). With DATA, also the registration of the photo of google2019
at points picked by hand.

    python benchmarks/color.py [DATA] [--scenes two_sided table] [--check] [--save]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from skimage.color import rgb2lab

import napari_dpdeblur as dpdeblur
from napari_dpdeblur.capture.levels import linear_to_srgb
from napari_dpdeblur.capture.photo import open_photo
from napari_dpdeblur.datasets.synthetic.scene import (
    SyntheticScene,
    render_capture,
    two_sided_scene,
)
from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.datasets.synthetic.table_scene import table_scene
from napari_dpdeblur.fitting.photo.coloring import colored
from napari_dpdeblur.fitting.photo.registration import Registration, register
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.results.preview import tone_curve, white_point
from results_file import add_save_option, save_figures

SIZE = (1008, 1344)
FOCUS_SHIFT = 0.4  # of the photo, in defocus scales: it is focused behind the subject
TURN_DEGREES, SCALE, SHIFT_PX = 2.0, 1 / 1.05, (16.0, 12.0)
EXPOSURE, FULL_WELL_ELECTRONS, READ_VARIANCE = 1.3, 2500.0, 1e-5
JPEG_QUALITY = 95
LIMITS = {
    "chroma_error_mean": 4.0,
    "chroma_error_p95": 8.0,
    "luminance_change_db": 0.1,
    "registration_error_px": 1.0,
    "cpu_s": 6.0,
}
HAND_LIMIT_PX = 1.0
LIMITED = "two_sided"  # the scene that the limits are for
# Positions (x, y) picked by eye in enlarged crops: in the upright pair, and in the photo.
HAND_PICKED = {
    "pictogram, upper left corner": ((706.0, 955.6), (352.75, 477.43)),
    "pictogram, lower right corner": ((798.8, 1058.9), (399.4, 529.2)),
    "upper left screw": ((672.6, 817.7), (336.3, 408.4)),
    "upper right screw": ((829.7, 817.5), (414.77, 408.3)),
    "lower left screw": ((679.6, 1094.8), (339.98, 546.77)),
    "spot on the ground": ((1136.8, 1728.6), (568.9, 863.8)),
}

SCENES: dict[str, Callable[[int, int, int], SyntheticScene]] = {
    "two_sided": lambda height, width, seed: two_sided_scene(height, width, seed, channels=3),
    "table": lambda height, width, seed: table_scene(height, width, seed).layered(),
}


@dataclass(frozen=True)
class Pose:
    """Where a pixel (x, y) of the capture lies in the photo: an affine map (2, 3)."""

    matrix: np.ndarray

    @classmethod
    def of(cls, height: int, width: int) -> Pose:
        matrix = cv2.getRotationMatrix2D((width / 2, height / 2), TURN_DEGREES, SCALE)
        matrix[:, 2] += SHIFT_PX
        return cls(matrix)

    def error_px(self, found: Registration) -> float:
        """Mean distance of a registration from this pose."""
        height, width = found.frame.shape
        y, x = np.mgrid[10 : height - 10 : 20, 10 : width - 10 : 20]
        there = found.warp.positions(x, y)
        true = np.einsum("ij,jkl->ikl", self.matrix, np.stack([x, y, np.ones_like(x)]))
        return float(np.hypot(*(np.stack(there) - true)).mean())


def photo_of(scene: SyntheticScene, grid: Any, pose: Pose, folder: Path) -> Path:
    """A JPEG of the scene with another focus, exposure, noise and pose."""
    moved = (scene.defocus_scales + FOCUS_SHIFT).astype(np.float32)
    views = _blurred(SyntheticScene(scene.color, scene.alpha, moved), grid)
    height, width = views.shape[-2:]
    exposed = np.stack(
        [
            cv2.warpAffine(
                plane,
                pose.matrix,
                (width, height),
                flags=cv2.INTER_CUBIC,
                borderMode=cv2.BORDER_REFLECT,
            )
            for plane in EXPOSURE * views.mean(0)
        ]
    )
    generator = np.random.default_rng(1)
    sigma = np.sqrt(np.maximum(exposed, 0) / FULL_WELL_ELECTRONS + READ_VARIANCE)
    noisy = np.clip(exposed + sigma * generator.standard_normal(exposed.shape), 0, 1)
    encoded = np.round(255 * linear_to_srgb(noisy)).astype(np.uint8)
    path = folder / "photo.jpg"
    cv2.imwrite(
        str(path), encoded[::-1].transpose(1, 2, 0), [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY]
    )
    return path


def _blurred(scene: SyntheticScene, grid: Any) -> np.ndarray:
    import torch

    from napari_dpdeblur.optics import TiledBlur, TileLayout

    scaled = [grid.scaled(float(scale)) for scale in scene.defocus_scales]
    layout = TileLayout.regular(*scene.alpha.shape[-2:], grid.rows, grid.cols)
    with torch.no_grad():
        return np.asarray(scene.layers.render(TiledBlur(scaled, layout)).numpy())


def synthetic_figures(
    name: str, height: int, width: int, preset: str, seed: int, keep: Path | None
) -> dict[str, float]:
    """Errors of the colours of a synthetic scene, and the time they take."""
    scene = SCENES[name](height, width, seed)
    lens = synthetic_calibration(height, width)
    # Without the offset of the kernels, the sharp image lies where the scene does.
    grid = lens.kernel_grid().centred()
    lens = replace(lens, kernels=grid.kernels.numpy())
    green = replace(scene, color=np.ascontiguousarray(scene.color[:, 1:2]))
    capture = render_capture(green, grid, lens.vignetting, seed=seed, pixel_aspect=2)
    pose = Pose.of(height, width)
    settings = FitSettings().changed(preset=preset)
    with tempfile.TemporaryDirectory() as folder:
        photo = open_photo(photo_of(scene, grid, pose, Path(folder)))
        grey = dpdeblur.fit(capture, lens, settings)
        wall, cpu = time.perf_counter(), time.process_time()
        registration = register(capture, photo, settings.parameters.photo_registration)
        result = colored(grey, registration, (0, 0, height, width), settings.parameters)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    truth = scene.all_in_focus * lens.vignetting.mean(0)
    refined = registration.refined(
        grey.all_in_focus[0],
        grey.defocus_map,
        (0, 0, height, width),
        settings.parameters.photo_registration,
    )
    if keep is not None:
        _write_pictures(keep / name, truth, result)
    return {
        **color_errors(truth, result.all_in_focus),
        "luminance_change_db": abs(
            psnr(truth[1], result.all_in_focus[1]) - psnr(truth[1], grey.all_in_focus[0])
        ),
        "green_psnr_db": psnr(truth[1], grey.all_in_focus[0]),
        "filled_share": float(result.color_filled.mean()),
        "first_registration_error_px": pose.error_px(registration),
        "registration_error_px": pose.error_px(refined),
        "cpu_s": cpu,
        "wall_s": wall,
    }


def color_errors(truth: np.ndarray, found: np.ndarray) -> dict[str, float]:
    """Distance of a* and b* of two linear images (3, H, W), at equal mean brightness."""
    gain = float((truth[1] * found[1]).sum() / (found[1] ** 2).sum())
    white = white_point(truth)
    true, other = (rgb2lab(tone_curve(image, white) / 255) for image in (truth, gain * found))
    error = np.hypot(*(true - other)[..., 1:].transpose(2, 0, 1))
    own = np.abs(np.hypot(true[..., 1], true[..., 2]) - np.hypot(other[..., 1], other[..., 2]))
    return {
        "chroma_error_mean": float(error.mean()),
        "chroma_error_p95": float(np.percentile(error, 95)),
        "saturation_error_mean": float(own.mean()),
        "saturation_error_p95": float(np.percentile(own, 95)),
    }


def psnr(truth: np.ndarray, found: np.ndarray) -> float:
    """PSNR of an image (H, W) at the brightness that fits best."""
    gain = float((truth * found).sum() / (found * found).sum())
    error = float(np.mean((truth - gain * found) ** 2))
    return float(10 * np.log10(float(truth.max()) ** 2 / error))


def _write_pictures(folder: Path, truth: np.ndarray, result: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    white = white_point(truth)
    for name, image in (("truth", truth), ("result", result.all_in_focus)):
        cv2.imwrite(str(folder / f"{name}.png"), tone_curve(image, white)[..., ::-1])


def hand_errors_px(data: Path) -> dict[str, float]:
    """Distance of the registration of google2019 from points picked by hand, in capture px."""
    folder = data / "google2019" / "test"
    capture = dpdeblur.open(folder)
    photo = open_photo(next((folder / "scaled_images").rglob("*.jpg")))
    found = register(capture, photo, FitSettings().parameters.photo_registration)
    errors = {}
    for name, ((x, y), (photo_x, photo_y)) in HAND_PICKED.items():
        # The capture is transposed, so that its disparity runs along x.
        there_y, there_x = (float(v[0]) for v in found.warp.positions(np.array([y]), np.array([x])))
        scale = photo.size_px[0] / capture.shape[-2]
        errors[name] = float(np.hypot(there_x - photo_x, there_y - photo_y) / scale)
    return errors


def _print(figures: dict[str, Any], of: str = "") -> None:
    for name, value in figures.items():
        if isinstance(value, dict):
            _print(value, f"{name}: ")
        else:
            print(f"{of + name:42s} {value:.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", nargs="?", type=Path, help="folder that contains google2019")
    parser.add_argument("--size", nargs=2, type=int, default=SIZE, metavar=("H", "W"))
    parser.add_argument("--scenes", nargs="+", choices=SCENES, default=list(SCENES))
    parser.add_argument("--preset", default="standard")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pictures", type=Path, help="folder for pictures of truth and result")
    parser.add_argument("--check", action="store_true", help="fail if a limit is exceeded")
    add_save_option(parser)
    given = parser.parse_args()
    figures: dict[str, Any] = {}
    if given.data is not None:
        figures["hand_picked_px"] = hand_errors_px(given.data)
    for name in given.scenes:
        found = synthetic_figures(name, *given.size, given.preset, given.seed, given.pictures)
        figures |= found if name == LIMITED else {name: found}
    hand = figures.get("hand_picked_px", {})
    _print(figures)
    if given.save:
        save_figures("color", figures)
    is_limited = LIMITED in given.scenes
    wrong = [n for n, limit in LIMITS.items() if is_limited and not figures[n] <= limit]
    wrong += [name for name, value in hand.items() if value > HAND_LIMIT_PX]
    if given.check and wrong:
        raise SystemExit(f"Limit exceeded: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
