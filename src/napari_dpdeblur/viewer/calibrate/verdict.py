"""The verdict on a calibration as coloured text."""

from __future__ import annotations

from html import escape
from typing import Any

COLORS = {"good": "#3fbf7f", "acceptable": "#e6b422", "bad": "#f0625d"}
UNKNOWN = "#9aa0a6"


def verdict_html(verdict: dict[str, Any] | None) -> str:
    """The grade, and each figure that is not good with its remedy."""
    if not verdict or "grade" not in verdict:
        return (
            f'<b style="color:{UNKNOWN}">No verdict</b>: this calibration was not made with '
            "this program."
        )
    grade = str(verdict["grade"])
    lines = [f'Verdict: <b style="color:{COLORS.get(grade, UNKNOWN)}">{escape(grade)}</b>']
    for check in verdict.get("checks", []):
        if check["grade"] != "good":
            color = COLORS.get(check["grade"], UNKNOWN)
            figure = f"{check['meaning']}: {check['value']:g}"
            lines.append(
                f'<span style="color:{color}">&#9632;</span> {escape(figure)}. '
                f"<i>{escape(check['remedy'])}</i>"
            )
    lines += [escape(str(note)) for note in verdict.get("notes", [])]
    return "<br>".join(lines)
