from .checkpoint import Checkpoint as Checkpoint
from .entry import fit as fit
from .events import FitEvent as FitEvent
from .run import fit_events as fit_events
from .settings import FitSettings as FitSettings

__all__ = ["Checkpoint", "FitEvent", "FitSettings", "fit", "fit_events"]
