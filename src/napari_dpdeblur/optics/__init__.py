"""What a dual-pixel lens does to light: kernels, blur, the multiplane image, noise.

Pure torch: knows nothing of files, napari or Qt. Names are imported on first use, so that kernels
can be checked without loading torch; the stub file beside this one says where they are.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
