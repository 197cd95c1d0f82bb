"""Joint defocus estimation and deblurring of dual-pixel captures, as a napari plugin.

The journey of the data: file pair -> `capture` -> (with `calibration`) `fitting` -> `results`.
In Python: `open`, `load_calibration`, `fit`, then `show` and `save` of the result.

Names are imported on first use, as the stub file beside this one says: importing this package
loads neither torch nor napari nor Qt.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
