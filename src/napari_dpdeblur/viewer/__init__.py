"""The napari plugin. Only this package imports napari and Qt."""
