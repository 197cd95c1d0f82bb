"""What a dual-pixel lens does to light: kernels, blur, the multiplane image, noise.

Pure torch: knows nothing of files, napari or Qt. Names are imported on first use, so that kernels
can be checked without loading torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from napari_dpdeblur.optics.blur import TiledBlur
    from napari_dpdeblur.optics.kernel_check import check_kernels
    from napari_dpdeblur.optics.kernels import KernelGrid
    from napari_dpdeblur.optics.mpi import MultiplaneImage
    from napari_dpdeblur.optics.noise import bias_correction
    from napari_dpdeblur.optics.tiles import TileLayout, TileWindows

_HOMES = {
    "KernelGrid": "kernels",
    "MultiplaneImage": "mpi",
    "TileLayout": "tiles",
    "TileWindows": "tiles",
    "TiledBlur": "blur",
    "bias_correction": "noise",
    "check_kernels": "kernel_check",
}

__all__ = [
    "KernelGrid",
    "MultiplaneImage",
    "TileLayout",
    "TileWindows",
    "TiledBlur",
    "bias_correction",
    "check_kernels",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
