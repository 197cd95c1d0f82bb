"""Estimated memory of fits, as printed before a fit starts; nothing is measured.

python benchmarks/memory_estimates.py [--save]
"""

from __future__ import annotations

import argparse
import sys

from napari_dpdeblur.fitting.presets import Preset
from napari_dpdeblur.fitting.resources import estimate_memory
from results_file import add_save_option, save_figures

LAYERS = 12
SIZES = ((1008, 1344), (3024, 4032))
PRESETS: tuple[Preset, ...] = ("preview", "standard")
# Channels, and calibrated rows per row of the sensor.
KINDS = {"phone": (1, 2), "square_pixels": (1, 1), "colour": (3, 1)}


def estimates_gb() -> dict[str, float]:
    """Estimates in GB by name, such as `standard_3024x4032_phone`."""
    return {
        f"{preset}_{height}x{width}_{kind}": round(
            estimate_memory(height, width, channels, LAYERS, preset, rows) / 1e9, 3
        )
        for preset in PRESETS
        for height, width in SIZES
        for kind, (channels, rows) in KINDS.items()
    }


def main() -> int:
    """Print the estimates."""
    parser = argparse.ArgumentParser(description="Estimated memory of fits.")
    add_save_option(parser)
    options = parser.parse_args()
    figures = estimates_gb()
    for name, value in figures.items():
        print(f"{name:<36}{value:8.2f} GB")
    if options.save:
        save_figures("memory_estimates", figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
