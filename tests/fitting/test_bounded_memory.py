"""Fits in less memory: the same result, in parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from napari_dpdeblur.errors import FitError, SettingsError
from napari_dpdeblur.fitting import FitSettings, fit, resources
from napari_dpdeblur.fitting import result as fit_result
from napari_dpdeblur.fitting.image import filters
from napari_dpdeblur.fitting.parameters.defocus import MapEdgeParameters
from napari_dpdeblur.fitting.parameters.image import VariationParameters
from napari_dpdeblur.fitting.problem import pose_problem
from napari_dpdeblur.fitting.resources import memory_budget, require_memory
from napari_dpdeblur.optics.lazy_layers import LazyLayers
from napari_dpdeblur.results import Result, read_run, write_run
from robustness_scene import small_scene

ROUNDING = 1e-5  # of images with a mean of 0.25, and of defocus scales
HALF_ROUNDING = 1e-3  # of stored layers, float16


def fitted(preset: str) -> Result:
    """A fit of the small scene in three channels."""
    scene = small_scene(preset)
    capture = replace(scene.capture, raw=np.repeat(scene.capture.raw, 3, axis=1))
    return fit(capture, scene.calibration, scene.settings, progress=False)


@pytest.mark.parametrize("preset", ["standard", "preview"])
def test_a_fit_in_parts_has_the_same_result(
    preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Channels one by one, bands of rows, and layers that are computed when they are written.

    Up to rounding: a group of another size is rounded otherwise by the instructions of a processor.
    """
    whole = fitted(preset)
    assert isinstance(whole.mpi.color, np.ndarray)
    monkeypatch.setattr(resources, "DECONVOLUTION_SHARE", 0)
    monkeypatch.setattr(fit_result, "LAYER_SHARE", 0)
    monkeypatch.setattr(filters, "BAND_VALUES", 3 * whole.all_in_focus.shape[-1] * 8)
    parts = fitted(preset)
    assert isinstance(parts.mpi.color, LazyLayers)
    np.testing.assert_allclose(parts.all_in_focus, whole.all_in_focus, atol=ROUNDING)
    np.testing.assert_allclose(parts.defocus_map, whole.defocus_map, atol=ROUNDING)
    np.testing.assert_allclose(parts.mpi_color, whole.mpi_color, atol=ROUNDING)
    saved = [read_run(write_run(r, tmp_path / n)).mpi for r, n in ((whole, "a"), (parts, "b"))]
    for name in ("color", "alpha", "defocus_scales"):
        stored = [getattr(mpi, name) for mpi in saved]
        np.testing.assert_allclose(*stored, rtol=HALF_ROUNDING, atol=ROUNDING)


def test_a_band_reaches_as_far_as_the_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    image = torch.rand(2, 300, 20)
    parameters = VariationParameters(steps=9)
    whole = filters.total_variation_filter(image, 0.1, parameters)
    monkeypatch.setattr(filters, "BAND_VALUES", 2 * 20 * 16)
    assert torch.equal(filters.total_variation_filter(image, 0.1, parameters), whole)


def test_a_large_map_has_larger_pixels() -> None:
    scene = small_scene()
    problem = pose_problem(
        scene.capture, scene.calibration, scene.settings, torch.device("cpu"), None
    )
    megapixels = problem.views[0, 0].numel() / 1e6
    assert problem.map_pitch_px(MapEdgeParameters()) == MapEdgeParameters().pixel_pitch_px
    few = MapEdgeParameters(max_map_megapixels=megapixels / 10)
    pitch = problem.map_pitch_px(few)
    assert problem.reduced(pitch).views[0, 0].numel() <= 1.1e6 * few.max_map_megapixels
    assert problem.reduced(pitch // 2).views[0, 0].numel() > 1e6 * few.max_map_megapixels


def test_a_budget_that_is_too_small_is_refused_with_the_figure_that_would_do() -> None:
    message = (
        r"The fit of 001 needs 1\.3 GB of memory, but memory_gb is 0\.5; set it to 1\.3 or fit a "
        r"crop\."
    )
    with pytest.raises(FitError, match=f"^{message}$"):
        require_memory(1_250_000_000, "001", 0.5)
    require_memory(1_250_000_000, "001", 1.3)
    scene = small_scene()
    with pytest.raises(FitError, match=r"but memory_gb is 0\.1; set it to 0\.\d or fit a crop"):
        fit(scene.capture, scene.calibration, scene.settings, memory_gb=0.1, progress=False)


def test_the_budget_is_what_is_free_at_most_6_gb() -> None:
    assert memory_budget(2.5) == 2_500_000_000
    assert 0 < memory_budget(None) <= 6_000_000_000


def test_no_memory_is_refused() -> None:
    with pytest.raises(SettingsError, match="memory_gb"):
        FitSettings().changed(memory_gb=0)


def test_estimates_know_the_defaults_of_the_map() -> None:
    edges = MapEdgeParameters()
    assert edges.pixel_pitch_px == resources.MAP_PITCH_PX
    assert 1e6 * edges.max_map_megapixels == resources.MAX_MAP_PIXELS


def test_a_smaller_budget_needs_less_and_the_figure_named_suffices() -> None:
    sizes = (3168, 4752, 3)
    needs = [
        resources.estimate_memory(*sizes, preset="preview", budget_bytes=b * 10**9)
        for b in (2, 4, 6, 12)
    ]
    assert needs == sorted(needs)
    assert needs[0] < needs[-1]
    assert resources.estimate_memory(*sizes) <= 6_000_000_000
