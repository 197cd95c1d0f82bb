"""Tables of a comparison as CSV and Markdown, including published results."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from napari_dpdeblur.evaluation.comparison import published
from napari_dpdeblur.evaluation.comparison.published import PublishedRows
from napari_dpdeblur.evaluation.comparison.result_store import Row
from napari_dpdeblur.evaluation.evaluate_run import DEFOCUS_PROTOCOL, IMAGE_PROTOCOL
from napari_dpdeblur.evaluation.scoring import (
    ALL_METRICS,
    DEPTH_ERROR,
    LARGER_IS_BETTER,
    ONE_ALIGNMENT,
    RIGHT_SIGN,
)

HEADINGS = {
    "psnr_db": "PSNR",
    "ssim": "SSIM",
    "mae": "MAE",
    "aiwe1": "AIWE(1)",
    "aiwe2": "AIWE(2)",
    "one_minus_spearman": "1-|rho|",
    "time_s": "time s",
}
# Columns that only some tables have, and the column that they follow.
EXTRA_HEADINGS = {
    "psnr_db_one": ("PSNR (one)", "mae"),
    "ssim_one": ("SSIM (one)", "psnr_db_one"),
    "mae_one": ("MAE (one)", "ssim_one"),
    RIGHT_SIGN: ("right sign", "one_minus_spearman"),
    DEPTH_ERROR: ("error m", RIGHT_SIGN),
}
DIGITS = {"psnr_db": 2, "psnr_db_one": 2, "time_s": 1, DEPTH_ERROR: 3}
MEASURED, PUBLISHED = "measured", "published"
IDENTITY = ("source", "method", "label", "scene", "status")
MEAN = "mean"
DEPTH_NOTE = (
    "Measured depth counts as defocus, linear in its inverse; error m: median error of the depth "
    "after the best affine map of inverse depth."
)


@dataclass(frozen=True)
class TableRow:
    """One line: values by the keys of ``HEADINGS``; ``scenes`` is the number of averaged scenes."""

    source: str
    method: str
    label: str
    scene: str
    status: str = "ok"
    reason: str = ""
    values: dict[str, float] = field(default_factory=dict)
    mean_defocus: float | None = None
    scenes: int = 1

    def cell(self, name: str) -> str:
        """A formatted value, empty if missing."""
        value = self.values.get(name)
        return "" if value is None else number(name, value)


def headings(rows: Sequence[TableRow]) -> dict[str, str]:
    """The columns of a table: those of the sign, the depth and one alignment only if used."""
    columns = list(HEADINGS.items())
    for name, (heading, before) in EXTRA_HEADINGS.items():
        if any(name in row.values for row in rows if row.source == MEASURED):
            names = [column for column, _ in columns]
            last = before if before in names else "one_minus_spearman"
            columns.insert(names.index(last) + 1, (name, heading))
    return dict(columns)


def number(name: str, value: float) -> str:
    """Format a value with the precision of its column."""
    return f"{value:.{DIGITS.get(name, 4)}f}" if math.isfinite(value) else str(value)


def table_rows(rows: Sequence[Row], known: PublishedRows) -> list[TableRow]:
    """Rows of all scenes, means over the successful scenes, and published means."""
    lines = [_scene_row(row) for row in rows]
    methods = dict.fromkeys(row.method for row in rows)
    lines += [_mean_row([row for row in rows if row.method == method]) for method in methods]
    has_one = any(ONE_ALIGNMENT[0] in row.values for row in rows)
    return lines + [
        TableRow(
            PUBLISHED,
            label,
            label,
            MEAN,
            values=_with_one_alignment(values) if has_one else values,
            scenes=published.SCENES,
        )
        for label, values in known.items()
    ]


def _with_one_alignment(values: dict[str, float]) -> dict[str, float]:
    """Published scores of images in the columns of their protocol, not in those of ours."""
    names = dict(zip(("psnr_db", "ssim", "mae"), ONE_ALIGNMENT, strict=True))
    return {names.get(name, name): value for name, value in values.items()}


def _scene_row(row: Row) -> TableRow:
    values = dict(row.values)
    if row.time_s is not None:
        values["time_s"] = row.time_s
    reason = " ".join(row.problems or row.warnings)
    return TableRow(
        MEASURED, row.method, row.label, row.scene, row.status, reason, values, row.mean_defocus
    )


def _mean_row(rows: Sequence[Row]) -> TableRow:
    good = [_scene_row(row) for row in rows if row.status == "ok"]
    names = (*HEADINGS, *EXTRA_HEADINGS)
    means = {name: _mean(row.values.get(name) for row in good) for name in names}
    missing = [row.scene for row in rows if row.status != "ok"]
    return TableRow(
        MEASURED,
        rows[0].method,
        rows[0].label,
        MEAN,
        "ok" if good and not missing else "failed",
        f"without {', '.join(missing)}" if missing else "",
        {name: value for name, value in means.items() if value is not None},
        _mean(row.mean_defocus for row in good),
        len(good),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    """Mean of the values that are not None; None if there are none."""
    found = [value for value in values if value is not None]
    return sum(found) / len(found) if found else None


def to_csv(rows: Sequence[TableRow]) -> str:
    """Format all rows as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = headings(rows)
    writer.writerow([*IDENTITY, *columns, "mean_defocus", "reason"])
    for row in rows:
        defocus = "" if row.mean_defocus is None else number("mean_defocus", row.mean_defocus)
        identity = [getattr(row, name) for name in IDENTITY]
        writer.writerow([*identity, *(row.cell(name) for name in columns), defocus, row.reason])
    return text.getvalue()


def to_markdown(rows: Sequence[TableRow], title: str) -> str:
    """Format as Markdown: means, scenes, failures, protocol."""
    means = [row for row in rows if row.scene == MEAN]
    scenes = dict.fromkeys(row.scene for row in rows if row.scene != MEAN)
    columns = headings(rows)
    parts = [f"# {title}", "## Mean", _means_table(means, columns)]
    for scene in scenes:
        lines = [_line([row.label, *_cells(row, columns)]) for row in rows if row.scene == scene]
        parts += [f"## Scene {scene}", "\n".join([*_heading(["method"], columns), *lines])]
    failed = [row for row in rows if row.status != "ok" and row.scene != MEAN]
    if failed:
        parts += [
            "## Failed",
            "\n".join(f"- {r.label}, scene {r.scene}: {r.reason}" for r in failed),
        ]
    parts += [
        "## Protocol",
        f"Image: {IMAGE_PROTOCOL}. Columns (one): all scenes of a method aligned by the transform "
        f"of one scene, as published. Defocus map: {DEFOCUS_PROTOCOL}. {DEPTH_NOTE} "
        f"Rows marked as published are those of Xin et al. (ICCV 2021): means over their "
        f"{published.SCENES} scenes with one alignment per method. The scenes differ, so compare "
        "with care.",
    ]
    return "\n\n".join(parts) + "\n"


def _means_table(means: Sequence[TableRow], columns: Mapping[str, str]) -> str:
    best = best_of(means)
    lines = [
        _line([row.label, f"{row.source}, {row.scenes} scenes", *_cells(row, columns, best)])
        for row in means
    ]
    return "\n".join([*_heading(["method", "source"], columns), *lines])


def best_of(rows: Sequence[TableRow]) -> dict[str, float]:
    """The best value of each metric."""
    best = {}
    for name in ALL_METRICS:
        values = [row.values[name] for row in rows if name in row.values]
        if values:
            best[name] = max(values) if name in LARGER_IS_BETTER else min(values)
    return best


def _cells(
    row: TableRow, columns: Mapping[str, str], best: dict[str, float] | None = None
) -> list[str]:
    cells = []
    for name in columns:
        text = row.cell(name) or ("failed" if row.status != "ok" and not row.values else "-")
        is_best = best is not None and name in row.values and row.values[name] == best.get(name)
        cells.append(f"**{text}**" if is_best else text)
    return cells


def _heading(first: list[str], columns: Mapping[str, str]) -> list[str]:
    words = [*first, *(heading.replace("|", "\\|") for heading in columns.values())]
    return [_line(words), _line(["---"] * len(words))]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
