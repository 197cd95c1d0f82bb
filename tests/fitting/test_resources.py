"""Memory is known before a fit, and a shortage is one sentence with figures and remedy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from napari_dpdeblur.errors import FitError
from napari_dpdeblur.fitting import resources
from napari_dpdeblur.fitting.resources import (
    available_memory,
    estimate_memory,
    estimate_time_s,
    require_memory,
    usable_threads,
)


def test_it_loads_neither_torch_nor_pydantic() -> None:
    program = (
        "import sys, napari_dpdeblur.fitting.resources as e; e.estimate_memory(1008, 1344);"
        "sys.exit(any(m in sys.modules for m in ('torch', 'pydantic')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("preset", ["preview", "standard", "paper"])
def test_more_of_anything_needs_more(preset: str) -> None:
    for function in (estimate_memory, estimate_time_s):
        least = function(504, 672, 1, 6, preset)  # type: ignore[arg-type]
        for larger in ((1008, 672, 1, 6), (504, 1344, 1, 6), (504, 672, 3, 6), (504, 672, 1, 24)):
            assert function(*larger, preset) > least  # type: ignore[arg-type]


def test_rows_that_were_interpolated_cost_less() -> None:
    assert estimate_memory(1008, 1344, row_upsampling=2) < estimate_memory(1008, 1344)
    assert estimate_time_s(1008, 1344, row_upsampling=2) < estimate_time_s(1008, 1344)


def test_steps_take_time_where_the_preset_has_them() -> None:
    whole, half = (estimate_time_s(1008, 1344, preset="paper", steps=n) for n in (10_000, 5_000))
    assert half == pytest.approx(whole / 2)
    assert whole == estimate_time_s(1008, 1344, preset="paper")
    assert estimate_time_s(1008, 1344, steps=5) == estimate_time_s(1008, 1344)


def test_a_shortage_is_a_sentence_with_figures_and_remedy() -> None:
    with pytest.raises(FitError, match=r"fit of 001 needs about \d+\.\d GB of memory, but only"):
        require_memory(available_memory() * 2, "001")
    with pytest.raises(FitError, match=r"are free; fit a crop, use fewer layers or close other"):
        require_memory(available_memory() * 2, "001")
    require_memory(1000, "001")


def test_threads_follow_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert usable_threads() == 3
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert 1 <= usable_threads() <= (os.cpu_count() or 1)


def test_the_limit_of_a_batch_job_counts(tmp_path: Path) -> None:
    groups, root = tmp_path / "cgroup", tmp_path / "sys"
    groups.write_text("0::/slurm/job\n")
    (root / "slurm" / "job").mkdir(parents=True)
    assert resources._group_limit(groups, root) is None
    (root / "slurm" / "job" / "memory.max").write_text("max\n")
    assert resources._group_limit(groups, root) is None
    (root / "slurm" / "memory.max").write_text("8000000000\n")
    assert resources._group_limit(groups, root) == 8_000_000_000
    (root / "slurm" / "job" / "memory.max").write_text("4000000000\n")
    assert resources._group_limit(groups, root) == 4_000_000_000
    (tmp_path / "memory.max").write_text("1\n")  # not a control group
    assert resources._group_limit(groups, root) == 4_000_000_000
    assert resources._group_limit(tmp_path / "missing", root) is None


def test_the_limit_of_a_batch_job_is_shared_with_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    used = psutil.Process().memory_info().rss
    monkeypatch.setattr(resources, "_group_limit", lambda: used + 100_000_000)
    assert 0 < available_memory() <= 200_000_000
    monkeypatch.setattr(resources, "_group_limit", lambda: 1)
    assert available_memory() == 0


def test_a_fit_that_does_not_fit_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    from napari_dpdeblur.fitting import fit_events
    from robustness_scene import small_scene

    scene = small_scene()
    monkeypatch.setattr(resources, "available_memory", lambda: 100_000_000)
    with pytest.raises(FitError, match=r"needs about 0\.6 GB of memory, but only 0\.1 GB are free"):
        next(fit_events(scene.capture, scene.calibration, scene.settings))


THREADS_PROGRAM = """
import torch
from napari_dpdeblur.fitting import fit_events
from robustness_scene import small_scene

scene = small_scene("preview")
for threads in (None, 1):
    settings = scene.settings.model_copy(update={"threads": threads})
    events = fit_events(scene.capture, scene.calibration, settings)
    next(events)
    during = torch.get_num_threads()
    events.close()
    print(during, torch.get_num_threads())
"""


def test_the_setting_and_the_environment_limit_threads() -> None:
    """In a process of its own, to which the number of threads belongs."""
    benchmarks = str(Path(__file__).resolve().parents[2] / "benchmarks")
    path = os.pathsep.join([benchmarks, *filter(None, sys.path)])
    limits = {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    environment = {**os.environ, "PYTHONPATH": path, **limits}
    command = [sys.executable, "-c", THREADS_PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert done.stdout.decode().splitlines() == ["2 2", "1 2"]
