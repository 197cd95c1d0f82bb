"""Parameters: every tuned number of the fit, grouped by stage, for experts.

Stages are given their own group; nothing else decides a result besides the settings. Loads no
torch.
"""

from __future__ import annotations

from napari_dpdeblur.fitting.parameters.defocus import (
    CostVolumeParameters,
    LocalEstimateParameters,
    MapEdgeParameters,
    PropagationParameters,
    SearchParameters,
    SolverParameters,
)
from napari_dpdeblur.fitting.parameters.image import (
    DeringingParameters,
    LayerParameters,
    OcclusionParameters,
    PriorParameters,
    RendererParameters,
    ResultParameters,
    VariationParameters,
    WienerParameters,
)
from napari_dpdeblur.fitting.parameters.paper import LossParameters, PaperParameters
from napari_dpdeblur.fitting.parameters.problem import ProblemParameters
from napari_dpdeblur.optics.parameters import OpticsParameters
from napari_dpdeblur.settings_model import NO_UNIT, SettingsModel, setting


class Parameters(SettingsModel):
    """Tuned numbers of the fit, in the order in which a fit uses them."""

    problem: ProblemParameters = setting(
        ProblemParameters(), NO_UNIT, "Checks and preparation of the capture."
    )
    optics: OpticsParameters = setting(OpticsParameters(), NO_UNIT, "Kernels and noise.")
    search: SearchParameters = setting(
        SearchParameters(), NO_UNIT, "Range and resolution of the defocus search."
    )
    cost_volume: CostVolumeParameters = setting(
        CostVolumeParameters(), NO_UNIT, "Agreement of the two views at each defocus scale."
    )
    local_estimate: LocalEstimateParameters = setting(
        LocalEstimateParameters(), NO_UNIT, "Defocus estimate of each pixel from its costs."
    )
    propagation: PropagationParameters = setting(
        PropagationParameters(), NO_UNIT, "Edge-aware propagation of the estimates."
    )
    solver: SolverParameters = setting(
        SolverParameters(), NO_UNIT, "Multigrid-preconditioned solver of the propagation."
    )
    map_edges: MapEdgeParameters = setting(
        MapEdgeParameters(), NO_UNIT, "Alignment of the map's edges with those of the image."
    )
    occlusion: OcclusionParameters = setting(
        OcclusionParameters(), NO_UNIT, "Deblurring next to occlusion boundaries."
    )
    wiener: WienerParameters = setting(
        WienerParameters(), NO_UNIT, "Two-view Wiener deconvolution."
    )
    prior: PriorParameters = setting(
        PriorParameters(), NO_UNIT, "Repeated deconvolution with the previous image as prior."
    )
    variation: VariationParameters = setting(
        VariationParameters(), NO_UNIT, "Total-variation filter."
    )
    layers: LayerParameters = setting(
        LayerParameters(), NO_UNIT, "Layers made from the defocus map."
    )
    renderer: RendererParameters = setting(
        RendererParameters(), NO_UNIT, "Occlusion-aware least squares through the renderer."
    )
    deringing: DeringingParameters = setting(
        DeringingParameters(), NO_UNIT, "Removal of ringing and noise where the views are flat."
    )
    result: ResultParameters = setting(
        ResultParameters(), NO_UNIT, "Filters of the finished image and map."
    )
    paper: PaperParameters = setting(PaperParameters(), NO_UNIT, "The published optimisation.")
    losses: LossParameters = setting(LossParameters(), NO_UNIT, "The published objective.")
