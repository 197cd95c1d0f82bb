"""Safe reading and atomic writing, shared by all file formats."""

from napari_dpdeblur.files.atomic import atomic_file, sync_folder, write_atomically
from napari_dpdeblur.files.reading import (
    check_inside,
    digest,
    open_regular,
    read_regular,
)

__all__ = [
    "atomic_file",
    "check_inside",
    "digest",
    "open_regular",
    "read_regular",
    "sync_folder",
    "write_atomically",
]
