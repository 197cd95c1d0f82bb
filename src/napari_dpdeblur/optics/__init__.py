"""Model of a dual-pixel lens: kernels, blur, the multiplane image, noise.

Independent of files, napari and Qt. Names are imported on first use, so that kernels
can be checked without loading torch; the stub file lists them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
