"""The napari plugin. Nothing outside of this package imports napari or Qt."""
