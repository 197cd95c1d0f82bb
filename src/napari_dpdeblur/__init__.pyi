from ._version import __version__ as __version__
from .api import Calibration as Calibration
from .api import DualPixelCapture as DualPixelCapture
from .api import EstimateSettings as EstimateSettings
from .api import FitSettings as FitSettings
from .api import Photo as Photo
from .api import Result as Result
from .api import Simulation as Simulation
from .api import estimate_lens as estimate_lens
from .api import fetch_pixel4 as fetch_pixel4
from .api import fit as fit
from .api import load_calibration as load_calibration
from .api import load_result as load_result
from .api import open as open
from .api import open_photo as open_photo
from .api import simulate as simulate
from .errors import DpDeblurError as DpDeblurError

__all__ = [
    "Calibration",
    "DpDeblurError",
    "DualPixelCapture",
    "EstimateSettings",
    "FitSettings",
    "Photo",
    "Result",
    "Simulation",
    "__version__",
    "estimate_lens",
    "fetch_pixel4",
    "fit",
    "load_calibration",
    "load_result",
    "open",
    "open_photo",
    "simulate",
]
