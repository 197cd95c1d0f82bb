"""What a dual-pixel lens does to light: kernels, blur, the multiplane image, noise.

Pure torch: knows nothing of files, napari or Qt.
"""

from napari_dpdeblur.optics.blur import TiledBlur, TileLayout
from napari_dpdeblur.optics.kernels import KernelGrid, check_kernels
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.optics.noise import bias_correction

__all__ = [
    "KernelGrid",
    "MultiplaneImage",
    "TileLayout",
    "TiledBlur",
    "bias_correction",
    "check_kernels",
]
