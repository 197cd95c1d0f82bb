"""Subcommands of `calibrate`."""

from napari_dpdeblur.cli.calibrate.run import add_parser as add_parser
