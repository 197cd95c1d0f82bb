"""Fit many captures on a dask cluster: plan, workers, run folders, index."""

from napari_dpdeblur.batch.index import Entry, Index, read_index
from napari_dpdeblur.batch.plan import Plan, make_plan

__all__ = ["Entry", "Index", "Plan", "make_plan", "read_index"]
