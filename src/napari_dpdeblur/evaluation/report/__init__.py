"""A self-contained HTML report of a comparison."""

from napari_dpdeblur.evaluation.report.page import build_page

__all__ = ["build_page"]
