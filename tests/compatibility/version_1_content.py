"""What the files of version 1 hold, by formula. All values are exact in half precision."""

from __future__ import annotations

import numpy as np

SIZE = (24, 32)
ROWS, COLS, KERNEL_PX = 2, 3, 5
SCALES = (1.25, 0.75, 0.25)
PROVENANCE = {
    "settings": {"preset": "standard", "layers": 3},
    "capture": {"name": "first", "unit": "(raw - black) / white", "files": [], "sha256": []},
    "elapsed_s": 1.5,
    "loss_history": [{"step": 1, "data": 0.5}, {"step": 2, "data": 0.25}],
}


def ramp(*shape: int) -> np.ndarray:
    """0, 1/256, 2/256, ... and again from 0 after 1."""
    return (np.arange(np.prod(shape)) % 257 / 256).astype(np.float32).reshape(shape)


def kernels() -> np.ndarray:
    """Sixteen equal weights: to the left in the left view, to the right in the right one."""
    pair = np.zeros((2, KERNEL_PX, KERNEL_PX), np.float32)
    pair[0, :4, :4] = pair[1, :4, 1:] = 1 / 16
    return np.tile(pair, (ROWS * COLS, 1, 1, 1))


def front_kernels() -> np.ndarray:
    """The kernels turned by 180 degrees with a heavier centre; only version 2 has them."""
    front = kernels()[..., ::-1, ::-1].copy()
    front[..., 2, 2] += 1 / 16
    return front


def calibration() -> dict[str, object]:
    """All entries of the calibration but its field."""
    return {
        "kernels": kernels(),
        "rows": ROWS,
        "cols": COLS,
        "frame_shape": SIZE,
        "vignetting": 0.5 + ramp(2, *SIZE) / 2,
        "camera": "first camera",
        "focus_distance_m": 0.5,
        "captured_on": "2026-01-31",
        "verdict": {"grade": "good", "reasons": []},
        "lens_constants": (0.25, -0.125),
        "source": {"format": "formula"},
    }


def run() -> dict[str, object]:
    """All entries of the run."""
    layers = len(SCALES)
    return {
        "all_in_focus": ramp(1, *SIZE),
        "defocus_map": 0.25 + ramp(*SIZE),
        "confidence": ramp(*SIZE),
        "mpi_color": ramp(layers, 1, *SIZE),
        "mpi_alpha": ramp(layers, 1, *SIZE)[::-1].copy(),
        "defocus_scales": np.array(SCALES),
        "provenance": PROVENANCE,
    }


def defocus() -> np.ndarray:
    """Defocus of each pixel, of which the middle layer is slanted; only version 2 has it."""
    values = np.tile(np.float32(SCALES)[:, None, None, None], (1, 1, *SIZE))
    values[1] += ramp(1, *SIZE) / 4
    return values
