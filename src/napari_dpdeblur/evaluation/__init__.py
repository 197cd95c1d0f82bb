"""Evaluation against ground truth: alignment and the six published metrics.

Names are imported on first use, so that the command line can list the baselines without loading
OpenCV; the stub file beside this one says where they are.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
