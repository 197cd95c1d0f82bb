"""Mean scores of a report of `napari-dpdeblur benchmark` or `ablation` as a figure set.

    python benchmarks/report_figures.py REPORT NAME

REPORT is the folder that the command wrote, NAME that of the figure set: `comparison` or
`ablation`.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

from napari_dpdeblur.evaluation.comparison.tables import MEAN, MEASURED
from napari_dpdeblur.evaluation.scoring import ALL_METRICS
from results_file import figure_name, save_figures


def mean_scores(report: Path) -> dict[str, dict[str, float]]:
    """The measured means by method and metric."""
    with (report / "table.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["source"] == MEASURED]
    return {
        figure_name(row["method"]): {
            name: float(row[name]) for name in ALL_METRICS if row.get(name)
        }
        for row in rows
        if row["scene"].startswith(MEAN)
    }


def main() -> int:
    """Save the means."""
    parser = argparse.ArgumentParser(description="Mean scores of a report as a figure set.")
    parser.add_argument("report", type=Path, help="folder written by benchmark or ablation")
    parser.add_argument("name", choices=("comparison", "ablation"), help="figure set to write")
    options = parser.parse_args()
    save_figures(options.name, mean_scores(options.report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
