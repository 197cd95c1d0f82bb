"""Results of a fit: run folders, previews, export, refocusing."""

from napari_dpdeblur.results.preview import preview_picture, write_preview
from napari_dpdeblur.results.provenance import software_versions
from napari_dpdeblur.results.result import Result
from napari_dpdeblur.results.run_folder import check_run_folder, read_run, write_run
from napari_dpdeblur.results.tiff_files import read_image, read_mpi

__all__ = [
    "Result",
    "check_run_folder",
    "preview_picture",
    "read_image",
    "read_mpi",
    "read_run",
    "software_versions",
    "write_preview",
    "write_run",
]
