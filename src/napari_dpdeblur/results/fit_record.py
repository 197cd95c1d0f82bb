"""A fit's result as the record that a run folder holds."""

from __future__ import annotations

from napari_dpdeblur.fitting.events import FitResult
from napari_dpdeblur.results.provenance import software_versions
from napari_dpdeblur.results.run_folder import RunRecord


def record_of(result: FitResult) -> RunRecord:
    """Everything that `write_run` stores of a fit."""
    return RunRecord(
        all_in_focus=result.all_in_focus,
        defocus_map=result.defocus_map,
        confidence=result.confidence,
        mpi_color=result.mpi.color.numpy(),
        mpi_alpha=result.mpi.alpha.numpy(),
        defocus_scales=result.defocus_scales,
        provenance={
            **result.provenance,
            "versions": software_versions(),
            "loss_history": result.loss_history,
        },
        captured=result.captured,
    )
