from .blur import TiledBlur as TiledBlur
from .defocused import DefocusedKernels as DefocusedKernels
from .kernel_check import check_kernels as check_kernels
from .kernels import KernelGrid as KernelGrid
from .mpi import MultiplaneImage as MultiplaneImage
from .noise import bias_correction as bias_correction
from .tiles import TileLayout as TileLayout
from .tiles import TileWindows as TileWindows

__all__ = [
    "DefocusedKernels",
    "KernelGrid",
    "MultiplaneImage",
    "TileLayout",
    "TileWindows",
    "TiledBlur",
    "bias_correction",
    "check_kernels",
]
