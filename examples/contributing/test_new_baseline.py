"""The new method runs in the comparison and beats doing nothing, at least in the image."""

from __future__ import annotations

import numpy as np
from benchmark_data import CALIBRATION, write_data
from new_baseline import UNSHARP

from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.evaluation.comparison.benchmark import Benchmark
from napari_dpdeblur.evaluation.comparison.methods import known_method
from napari_dpdeblur.evaluation.comparison.result_store import ResultStore


def test_it_is_a_row_of_the_comparison(tmp_path):
    (tmp_path / "data").mkdir()
    data = write_data(tmp_path / "data", names=("001",))
    lens = load_calibration(data / CALIBRATION)
    methods = [known_method("input"), UNSHARP]
    benchmark = Benchmark(data, lens, methods, ["001"], ResultStore(tmp_path / "results"))
    nothing, unsharp = benchmark.rows()
    assert unsharp.status == "ok", unsharp.problems
    assert unsharp.label == "Unsharp mask"
    assert unsharp.values["ssim"] > nothing.values["ssim"]
    assert np.isfinite(list(unsharp.values.values())).all()
    assert list(benchmark.rows())[1] == unsharp, "recalled from the files"
