"""All baselines: the one list that the command line and the comparison read."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from napari_dpdeblur.evaluation.baselines.prediction import Method


@dataclass(frozen=True)
class Baseline:
    """Label of a baseline in tables; module of this package and name of its function."""

    label: str
    function: str


#: Baselines by their name on the command line.
BASELINES = {
    "input": Baseline("Input (mean of the views)", "mean_view:mean_view"),
    "wiener": Baseline("Wiener, two views", "wiener:wiener"),
    "wadhwa": Baseline("Wadhwa et al.", "wadhwa:wadhwa"),
    "punnappurath": Baseline("Punnappurath et al.", "punnappurath:punnappurath"),
}


def baseline(name: str) -> Method:
    """The function of a baseline, loaded on first use; names are the keys of ``BASELINES``."""
    module, function = BASELINES[name].function.split(":")
    return cast("Method", getattr(import_module(f"{__package__}.{module}"), function))
