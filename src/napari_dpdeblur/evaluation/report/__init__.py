"""A page that shows a comparison: one file, no network."""

from napari_dpdeblur.evaluation.report.page import build_page

__all__ = ["build_page"]
