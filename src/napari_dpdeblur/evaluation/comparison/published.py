"""Published results (Xin et al. 2021, Tables 1 and 2): means over 17 scenes."""

from __future__ import annotations

from napari_dpdeblur.evaluation.scoring import METRICS

SCENES = 17

_Numbers = tuple[float | None, ...]
_NO_IMAGE = (None, None, None)
_NO_MAP = (None, None, None)
_FULL = (26.692, 0.804, 0.027, 0.047, 0.076, 0.178)

_COMPARISON: dict[str, _Numbers] = {
    "Wiener, two views": (25.806, 0.704, 0.032, 0.156, 0.197, 0.665),
    "DPDNet": (25.591, 0.777, 0.034, *_NO_MAP),
    "DMENet": (*_NO_IMAGE, 0.144, 0.183, 0.586),
    "Punnappurath et al.": (*_NO_IMAGE, 0.124, 0.161, 0.444),
    "Garg et al.": (*_NO_IMAGE, 0.079, 0.102, 0.208),
    "Wadhwa et al.": (*_NO_IMAGE, 0.141, 0.177, 0.540),
    "Xin et al.": _FULL,
    "Xin et al., guided filter": (26.692, 0.804, 0.027, 0.059, 0.083, 0.193),
}
_ABLATION: dict[str, _Numbers] = {
    "no intensity": (14.882, 0.158, 0.136, 0.047, 0.078, 0.185),
    "no alpha": (24.748, 0.726, 0.037, 0.161, 0.206, 0.795),
    "no entropy": (27.154, 0.819, 0.026, 0.057, 0.085, 0.190),
    "no auxiliary": (26.211, 0.768, 0.030, 0.148, 0.190, 0.610),
    "no bias correction": (26.265, 0.790, 0.028, 0.063, 0.092, 0.214),
    "all terms": _FULL,
}

PublishedRows = dict[str, dict[str, float]]


def _named(table: dict[str, _Numbers]) -> PublishedRows:
    return {
        label: {m: v for m, v in zip(METRICS, numbers, strict=True) if v is not None}
        for label, numbers in table.items()
    }


COMPARISON = _named(_COMPARISON)
ABLATION = _named(_ABLATION)
