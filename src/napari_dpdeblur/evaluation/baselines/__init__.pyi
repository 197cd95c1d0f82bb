from .prediction import Prediction as Prediction
from .registry import BASELINES as BASELINES
from .registry import Baseline as Baseline
from .registry import baseline as baseline

__all__ = ["BASELINES", "Baseline", "Prediction", "baseline"]
