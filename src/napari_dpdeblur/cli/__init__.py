"""The command `napari-dpdeblur`: parse, call, print; one module per command."""

from napari_dpdeblur.cli.main import main

__all__ = ["main"]
