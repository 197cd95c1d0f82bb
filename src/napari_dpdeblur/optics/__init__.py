"""What a dual-pixel lens does to light: kernels, blur, the multiplane image, noise.

Pure torch: knows nothing of files, napari or Qt.
"""

from napari_dpdeblur.optics.blur import TiledBlur
from napari_dpdeblur.optics.kernels import KernelGrid, check_kernels
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.optics.noise import bias_correction
from napari_dpdeblur.optics.tiles import TileLayout, TileWindows

__all__ = [
    "KernelGrid",
    "MultiplaneImage",
    "TileLayout",
    "TileWindows",
    "TiledBlur",
    "bias_correction",
    "check_kernels",
]
