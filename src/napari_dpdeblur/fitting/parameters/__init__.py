"""Parameters: every tuned number of the fit, grouped by stage, for experts.

Stages are given their own group; nothing else decides a result besides the settings. Loads no
torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

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
    ResultParameters,
    VariationParameters,
    WienerParameters,
)
from napari_dpdeblur.fitting.parameters.paper import LossParameters, PaperParameters
from napari_dpdeblur.fitting.parameters.photo import ColorParameters, RegistrationParameters
from napari_dpdeblur.fitting.parameters.problem import ProblemParameters
from napari_dpdeblur.fitting.parameters.report import (
    ConfidenceParameters,
    LayerColorParameters,
    NoiseParameters,
    ReportParameters,
    ViewCheckParameters,
)
from napari_dpdeblur.fitting.parameters.surfaces import LayerStackParameters, SurfaceParameters
from napari_dpdeblur.optics.parameters import OpticsParameters
from napari_dpdeblur.settings_model import NO_UNIT, SettingsModel, setting


class Parameters(SettingsModel):
    """Tuned numbers of the fit, in the order in which a fit uses them."""

    removed: ClassVar[Mapping[str, Any]] = {
        "renderer": {
            "smoothness": 1e-3,
            "free_step": 0.02,
            "negligible_light": 2e-3,
            "data_diagonal": 0.3,
            "relaxation": 0.3,
            "band_overlap": 4.0,
        }
    }

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
    surfaces: SurfaceParameters = setting(
        SurfaceParameters(), NO_UNIT, "Surfaces found in the defocus map."
    )
    layer_stack: LayerStackParameters = setting(
        LayerStackParameters(), NO_UNIT, "Layers made from surfaces."
    )
    layer_colors: LayerColorParameters = setting(
        LayerColorParameters(), NO_UNIT, "Colours of the layers, solved through the renderer."
    )
    noise: NoiseParameters = setting(NoiseParameters(), NO_UNIT, "Noise estimated from the views.")
    report: ReportParameters = setting(
        ReportParameters(), NO_UNIT, "Verdict on how well a fit explains the views."
    )
    views: ViewCheckParameters = setting(
        ViewCheckParameters(), NO_UNIT, "Whether the views can be those of one exposure."
    )
    confidence: ConfidenceParameters = setting(
        ConfidenceParameters(), NO_UNIT, "Confidence of the defocus map."
    )
    layers: LayerParameters = setting(
        LayerParameters(), NO_UNIT, "Evenly spaced layers made from the defocus map."
    )
    deringing: DeringingParameters = setting(
        DeringingParameters(), NO_UNIT, "Removal of ringing and noise where the views are flat."
    )
    result: ResultParameters = setting(
        ResultParameters(), NO_UNIT, "Filters of the finished image and map."
    )
    photo_registration: RegistrationParameters = setting(
        RegistrationParameters(), NO_UNIT, "Alignment of a colour photo with the capture."
    )
    photo_colors: ColorParameters = setting(
        ColorParameters(), NO_UNIT, "Colours taken from a photo."
    )
    paper: PaperParameters = setting(PaperParameters(), NO_UNIT, "The published optimisation.")
    losses: LossParameters = setting(LossParameters(), NO_UNIT, "The published objective.")
