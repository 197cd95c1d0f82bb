"""Joint defocus estimation and deblurring of dual-pixel captures, as a napari plugin.

The journey of the data: file pair -> `capture` -> (with `calibration`) `fit` -> `results`.
Importing this package loads neither torch nor napari nor Qt.
"""

from napari_dpdeblur._version import __version__
from napari_dpdeblur.errors import DpDeblurError

__all__ = ["DpDeblurError", "__version__"]
