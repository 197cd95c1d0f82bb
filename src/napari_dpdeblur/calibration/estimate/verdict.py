"""Grade an estimated lens: does it explain what it has not seen, and do two halves agree?"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from napari_dpdeblur.calibration.estimate.optimise import LensProblem, LensState, optimise
from napari_dpdeblur.calibration.estimate.settings import VerdictParameters
from napari_dpdeblur.calibration.verdict import GRADES, Rule

TEXTURE = (
    "Too little texture: add captures of a textured scene, such as foliage, fabric or print, at "
    "several distances."
)


def rules(limits: VerdictParameters) -> tuple[Rule, ...]:
    """What is graded, and how."""
    return (
        Rule(
            "textured_share",
            "share of the picture with texture, all captures",
            limits.good_texture,
            limits.bad_texture,
            TEXTURE,
        ),
        Rule(
            "held_out_gain",
            "how much better than a neutral lens it explains tiles it has not seen (log cost)",
            limits.good_gain,
            limits.bad_gain,
            "The captures do not support a lens of their own: add captures with more blur and "
            "texture, or use a calibration.",
        ),
        Rule(
            "halves_difference",
            "difference between the lenses of two halves of the picture, relative to their size",
            limits.good_difference,
            limits.bad_difference,
            f"The two halves of the picture contradict each other. {TEXTURE}",
        ),
        Rule(
            "deviation",
            "distance from the generic lens, in standard deviations (RMS over the parameters)",
            limits.good_deviation,
            limits.bad_deviation,
            "The lens is unusual: check that both views come from one exposure, left first.",
        ),
    )


@dataclass(frozen=True)
class HalfLenses:
    """Lenses fitted to every second tile each, and how they do on the others."""

    gain: float
    difference: float


def half_steps(steps: int, parameters: VerdictParameters) -> int:
    """Steps to fit half of the picture with, after ``steps`` on all of it."""
    return max(round(parameters.half_share * steps), 1)


def compare_halves(
    problem: LensProblem, values: Tensor, steps: int
) -> Generator[None, None, HalfLenses]:
    """Fit a lens to each half of the tiles, with ``steps`` each from ``values``; yields each."""
    black = torch.arange(len(problem.field)) % 2 == 0
    halves = [problem.restricted(black), problem.restricted(~black)]
    reference = problem.prior if problem.reference is None else problem.reference
    fitted = []
    for half in halves:
        state = LensState.start(values)
        if half.all_windows():
            for moved in optimise(half, state, steps):
                state = moved
                yield
        fitted.append(state.values)
    gains = []
    with torch.no_grad():
        for mine, other in zip(fitted, reversed(halves), strict=True):
            unseen = other.all_windows()
            if unseen:
                gains.append(other.loss(reference, unseen) - other.loss(mine, unseen))
        a, b = (problem.light(half) for half in fitted)
        difference = (a - b).norm() / (0.5 * (a.norm() + b.norm()))
    return HalfLenses(float(sum(gains)) / max(len(gains), 1), float(difference))


def judge_lens(
    problem: LensProblem, values: Tensor, halves: HalfLenses, limits: VerdictParameters
) -> dict[str, Any]:
    """Grade, figures and remedies as plain values, ready for JSON."""
    weights = torch.cat([one.weight.flatten() for one in problem.evidence])
    textured = float((weights > 0.1).float().mean()) if len(weights) else 0.0
    figures = {
        "textured_share": textured * _used_tiles(problem),
        "held_out_gain": halves.gain,
        "halves_difference": halves.difference,
        "deviation": float(((values - problem.prior) / problem.spread).square().mean().sqrt()),
    }
    checks = [
        {
            "name": rule.name,
            "value": round(figures[rule.name], 5),
            "grade": rule.grade(figures[rule.name]),
            "meaning": rule.meaning,
            "remedy": rule.remedy,
        }
        for rule in rules(limits)
    ]
    grade = max((str(check["grade"]) for check in checks), key=GRADES.index)
    return {"grade": grade, "checks": checks, "notes": []}


def _used_tiles(problem: LensProblem) -> float:
    """Share of the tiles that have enough texture to be used."""
    used = sum(len(one.tiles) for one in problem.evidence)
    return used / max(len(problem.field) * len(problem.evidence), 1)
