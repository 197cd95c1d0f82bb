"""The fit: from a capture and a calibration to a multiplane image.

Names are imported on first use, so that settings can be read without loading torch; the stub file
lists them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
