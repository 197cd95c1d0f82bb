"""Methods to compare with, each a function of a capture and a calibration.

Names are imported on first use, because most methods load torch; the stub file beside this one says
where they are.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
