"""Subcommands of `calibrate`."""

from napari_dpdeblur.cli.calibrate.run import add_parser

__all__ = ["add_parser"]
