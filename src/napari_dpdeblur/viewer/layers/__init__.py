"""Results, captures and calibrations as napari layers."""
