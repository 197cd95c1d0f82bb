"""The verdict on a calibration as coloured text."""

from __future__ import annotations

from html import escape
from typing import Any

COLORS = {"good": "#3fbf7f", "acceptable": "#e6b422", "bad": "#f0625d"}
UNKNOWN = "#9aa0a6"


def verdict_html(verdict: dict[str, Any] | None, front: str, is_short: bool = False) -> str:
    """The grade, each figure that is not good with its remedy, and where the front comes from.

    ``is_short`` leaves out the front.
    """
    from_front = f"Kernels in front of the focus plane: {escape(front)}."
    if not verdict or "grade" not in verdict:
        return (
            f'<b style="color:{UNKNOWN}">No verdict</b>: this calibration was neither measured '
            f"nor estimated with this program.<br>{from_front}"
        )
    grade = str(verdict["grade"])
    lines = [f'Verdict: <b style="color:{COLORS.get(grade, UNKNOWN)}">{escape(grade)}</b>']
    lines += [*_problems(verdict), *([] if is_short else [from_front])]
    if in_front := verdict.get("front"):
        lines += [f"In front: {line}" for line in _problems(in_front)]
    return "<br>".join(lines)


def _problems(verdict: dict[str, Any]) -> list[str]:
    """Figures that are not good with their remedies, and notes, as HTML."""
    lines = []
    for check in verdict.get("checks", []):
        if check["grade"] != "good":
            color = COLORS.get(check["grade"], UNKNOWN)
            figure = f"{check['meaning']}: {check['value']:g}"
            lines.append(
                f'<span style="color:{color}">&#9632;</span> {escape(figure)}. '
                f"<i>{escape(check['remedy'])}</i>"
            )
    return lines + [escape(str(note)) for note in verdict.get("notes", [])]
