"""reliability.svg: share of right pixels against confidence, from benchmarks/results."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib.pyplot as plt
from common import INK, LEFT, save

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "reliability.json"
LARGEST_DOT = 900.0  # points^2 of a bin that holds all pixels


def main() -> None:
    """One dot for each bin, as large as its share of the pixels."""
    figures = json.loads(RESULTS.read_text("utf-8"))["figures"]
    bins, error = figures["bins"], figures["errors"]["pooled"]
    figure, axes = plt.subplots(figsize=(4.4, 4.0), layout="constrained")
    axes.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle="--")
    axes.plot(bins["confidence"], bins["right"], color=LEFT, linewidth=1)
    sizes = [LARGEST_DOT * share for share in bins["share"]]
    axes.scatter(bins["confidence"], bins["right"], s=sizes, color=LEFT, alpha=0.7)
    axes.set(
        xlabel="confidence", ylabel="share of pixels right within 0.05", xlim=(0, 1), ylim=(0, 1)
    )
    axes.set_aspect("equal")
    axes.set_title(f"nine scenes, expected calibration error {error:.2f}")
    save(figure, "reliability.svg")


if __name__ == "__main__":
    main()
