"""Simulate the captures of a calibration through known kernels.

Discs, white screen, black screen and white sheets, as the capture app would save them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np

from napari_dpdeblur.calibration.record import Calibration
from napari_dpdeblur.calibration.sides import FRONT, disparity_px
from napari_dpdeblur.calibration.target.pattern import TARGET_FILE, Target, save_target
from napari_dpdeblur.capture.dual_pixel import DualPixelCapture, Source
from napari_dpdeblur.capture.pgm import APP_PIXEL_ASPECT, write_pgm_pair
from napari_dpdeblur.capture.pixel import APP_BLACK, APP_WHITE, SENSOR_WHITE, app_values
from napari_dpdeblur.datasets.synthetic.screen_pose import Pose, pattern_in_frame
from napari_dpdeblur.errors import CalibrationError

VIGNETTING_SIGMA_PX = 4.0
# Noise variance of a real capture of the app in 10-bit counts: gain times signal plus a constant.
REAL_GAIN_DN, REAL_READ_VARIANCE_DN = 0.57, 3.6


@dataclass(frozen=True)
class Exposure:
    """Brightness and noise: capture values of the brightest white, and noise in 10-bit counts.

    ``screen_black`` is the brightness of the black screen as a share of the white one. A value of
    m counts above black has the variance ``gain_dn`` m + ``read_variance_dn``.
    """

    screen_white: float = 0.63
    screen_black: float = 0.01
    sheet_white: float = 0.32
    gain_dn: float = REAL_GAIN_DN
    read_variance_dn: float = REAL_READ_VARIANCE_DN

    @classmethod
    def noise_free(cls) -> Exposure:
        """Without noise except 10-bit quantisation."""
        return cls(gain_dn=0.0, read_variance_dn=0.0)


def blurred_frame(
    sharp: np.ndarray, calibration: Calibration, scale: float = 1.0, blend_px: int = 32
) -> np.ndarray:
    """Blur an image (H, W) of the whole frame by the lens: float32 (2, H, W).

    Outside the calibrated field the nearest tile is used. Without vignetting.
    """
    import torch

    from napari_dpdeblur.optics import TiledBlur, TileLayout

    rows, top = _tiles_for(
        calibration.field.top, calibration.field.height, calibration.rows, sharp.shape[0]
    )
    cols, left = _tiles_for(
        calibration.field.left, calibration.field.width, calibration.cols, sharp.shape[1]
    )
    tiles = [row * calibration.cols + col for row in rows for col in cols]
    grid = calibration.kernel_grid().select(tiles, len(rows), len(cols)).scaled(scale)
    layout = TileLayout(tuple(top), tuple(left))
    with torch.no_grad():
        layer = torch.from_numpy(np.ascontiguousarray(sharp, np.float32))[None, None]
        return np.asarray(TiledBlur([grid], layout, blend_px)(layer)[0, :, 0].numpy())


def _tiles_for(start: int, length: int, count: int, frame: int) -> tuple[list[int], list[int]]:
    """Tile indices along one axis of the frame, and their edges in pixels."""
    step = length / count
    before, after = int(np.ceil(start / step)), int(np.ceil((frame - start - length) / step))
    indices = [int(np.clip(i, 0, count - 1)) for i in range(-before, count + after)]
    inner = [round(start + i * step) for i in range(1 - before, count + after)]
    return indices, [0, *inner, frame]


def native_rows(views: np.ndarray, ratio: int = int(APP_PIXEL_ASPECT)) -> np.ndarray:
    """Sensor rows whose interpolation to square pixels is closest to ``views``.

    (2, H, W) to (2, H / ratio, W). Calibrated kernels describe images after that interpolation,
    so a plain mean of rows would blur twice.
    """
    return np.asarray(_row_sampling(views.shape[-2], ratio) @ views)


@lru_cache(maxsize=4)
def _row_sampling(height: int, ratio: int) -> np.ndarray:
    """Pseudo-inverse (height / ratio, height) of the row interpolation, float32."""
    identity = np.eye(height // ratio, dtype=np.float32)
    spread = cv2.resize(identity, (height // ratio, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(np.linalg.pinv(spread.astype(np.float64)), np.float32)


def expose(
    views: np.ndarray, exposure: Exposure, generator: np.random.Generator, name: str
) -> DualPixelCapture:
    """Simulate a capture of the app from views (2, H, W): noise, 10 bits, half the rows."""
    signal = np.maximum(native_rows(views), 0.0) * SENSOR_WHITE
    variance = exposure.gain_dn * signal + exposure.read_variance_dn
    noisy = signal + np.sqrt(variance) * generator.standard_normal(signal.shape, np.float32)
    source = Source("synthetic", (), ())
    raw = app_values(noisy)[:, None]
    return DualPixelCapture(raw, APP_BLACK, APP_WHITE, name, source, APP_PIXEL_ASPECT)


@dataclass(frozen=True, eq=False)
class Shoot:
    """Captures for one calibration: discs (a burst), white and black screen, white sheets."""

    discs: tuple[DualPixelCapture, ...]
    white: DualPixelCapture
    black: DualPixelCapture
    sheets: tuple[DualPixelCapture, ...]


def simulate_shoot(
    target: Target,
    calibration: Calibration,
    pose: Pose = Pose(),  # noqa: B008 (frozen)
    exposure: Exposure = Exposure(),  # noqa: B008 (frozen)
    scale: float = 1.0,
    burst: int = 6,
    sheets: int = 6,
    seed: int = 0,
    blend_px: int = 0,
    hidden: np.ndarray | None = None,
) -> Shoot:
    """Simulate captures of ``target`` with the lens of ``calibration``, defocused by ``scale``.

    A negative scale puts the target in front of the focus plane.
    ``blend_px=0`` selects kernels by tile, as the published renderer does. ``hidden`` (rows,
    cols) bool: occluded discs. The vignetting is that of the calibration, with maximum 1. Names
    tell the sides apart: captures behind the focus plane were made at noon, others an hour later.
    """
    if calibration.frame_shape[0] % 2:
        raise CalibrationError(
            f"The number of rows must be even, not {calibration.frame_shape[0]}, because the app "
            "saves every second row."
        )
    generator = np.random.default_rng(seed)
    discs, screen = pattern_in_frame(target, pose, calibration.frame_shape, hidden)
    light = _vignetting(calibration)
    through = [blurred_frame(p, calibration, scale, blend_px) * light for p in (discs, screen)]
    black = exposure.screen_black * through[1]
    lit = (1 - exposure.screen_black) * through[0] + black

    hour = 13 if scale * disparity_px(calibration.kernels).mean() > 0 else 12

    def shot(views: np.ndarray, level: float, number: int, kind: str) -> DualPixelCapture:
        return expose(views * level, exposure, generator, f"20240101_{hour}{kind}_{number:03d}")

    return Shoot(
        tuple(shot(lit, exposure.screen_white, i, "0000") for i in range(burst)),
        shot(through[1], exposure.screen_white, 0, "0100"),
        shot(black, exposure.screen_white, 0, "0200"),
        tuple(shot(light, exposure.sheet_white, i, "0300") for i in range(sheets)),
    )


def _vignetting(calibration: Calibration) -> np.ndarray:
    """Vignetting (2, H, W) with maximum 1, smoothed because measured maps are noisy."""
    if calibration.vignetting is None:
        return np.ones((2, *calibration.frame_shape), np.float32)
    smooth = [cv2.GaussianBlur(m, (0, 0), VIGNETTING_SIGMA_PX) for m in calibration.vignetting]
    return np.asarray(np.stack(smooth) / np.max(smooth))


def write_shoot(
    shoot: Shoot, target: Target, folder: Path, front: Shoot | None = None
) -> list[Path]:
    """Write PGM pairs into `discs`, `white`, `black` and `sheets`, and `target.json`.

    Those of the target in front of the focus plane go into `front_discs` and so on.
    """
    groups = {**_target_groups(shoot), "sheets": shoot.sheets}
    if front is not None:
        groups |= {FRONT + name: captures for name, captures in _target_groups(front).items()}
    files: list[Path] = []
    try:
        for name, captures in groups.items():
            (folder / name).mkdir(parents=True, exist_ok=True)
            for capture in captures:
                left, right = capture.raw[:, 0]
                files += write_pgm_pair(
                    folder / name, capture.name, left, right, capture.pixel_aspect
                )
    except OSError as error:
        raise CalibrationError(f"{folder} cannot be written: {error.strerror or error}.") from error
    save_target(target, folder / TARGET_FILE)
    return [*files, folder / TARGET_FILE]


def _target_groups(shoot: Shoot) -> dict[str, tuple[DualPixelCapture, ...]]:
    return {"discs": shoot.discs, "white": (shoot.white,), "black": (shoot.black,)}
