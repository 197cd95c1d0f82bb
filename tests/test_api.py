"""The Python interface: `import napari_dpdeblur as dpdeblur`."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

import napari_dpdeblur as dpdeblur
from napari_dpdeblur import api, screen
from napari_dpdeblur.datasets.synthetic.scene import write_synthetic
from napari_dpdeblur.errors import ResultError, SettingsError

SIZE = (64, 96)
PNG_START = b"\x89PNG"
CROP = (0, 0, 32, 32)
SETTINGS = {"preset": "preview", "layers": 4, "front_scale": 0.1, "back_scale": 1.4}


@pytest.fixture(scope="module")
def simulation() -> dpdeblur.Simulation:
    return dpdeblur.simulate(*SIZE, seed=1)


@pytest.fixture(scope="module")
def result(simulation) -> dpdeblur.Result:
    return dpdeblur.fit(simulation.capture, simulation.calibration, progress=False, **SETTINGS)


def run_script(code: str, *arguments: object, **environment: str) -> str:
    """What a script of its own prints; without a display unless one is given."""
    kept = {name: value for name, value in os.environ.items() if "DISPLAY" not in name}
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**kept, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_public_name_exists_and_is_documented():
    for name in set(dpdeblur.__all__) - {"__version__"}:
        assert inspect.getdoc(getattr(dpdeblur, name)), name
    assert set(dpdeblur.__all__) <= set(dir(dpdeblur))
    assert set(api.__all__) == set(dpdeblur.__all__) - {"DpDeblurError", "__version__"}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="attribute no_such_name"):
        dpdeblur.no_such_name  # noqa: B018


@pytest.mark.parametrize(
    "first",
    ["", "import napari_dpdeblur.fitting.settings", "from napari_dpdeblur.fitting import fit"],
)
def test_fit_is_a_function_whatever_was_imported_first(first):
    code = f"import inspect\n{first}\nimport napari_dpdeblur as d\nprint(inspect.isfunction(d.fit))"
    assert run_script(code) == "True\n"
    assert dpdeblur.fit is api.fit


def test_from_files_to_a_run_folder_and_back(simulation, result, tmp_path):
    write_synthetic(tmp_path, simulation.scene, simulation.capture)
    dpdeblur.calibration.save_calibration(simulation.calibration, tmp_path / "lens.dpcal")
    capture = dpdeblur.open(tmp_path / "synthetic_left.pgm")
    calibration = dpdeblur.load_calibration(tmp_path / "lens.dpcal")
    np.testing.assert_array_equal(capture.raw, simulation.capture.raw)
    assert calibration.content_hash() == simulation.calibration.content_hash()

    folder = result.save(tmp_path / "run")
    loaded = dpdeblur.load_result(folder)
    np.testing.assert_array_equal(loaded.all_in_focus, result.all_in_focus)
    np.testing.assert_array_equal(loaded.defocus_map, result.defocus_map)
    assert loaded.provenance["settings"]["preset"] == "preview"
    assert loaded.loss_history == result.loss_history
    assert result.capture is simulation.capture
    np.testing.assert_array_equal(loaded.capture.raw, simulation.capture.raw)
    with pytest.raises(ResultError, match="already exists; choose another name"):
        result.save(folder)
    assert loaded.save(folder, overwrite=True) == folder


def test_the_result_has_shapes_and_finds_the_scene(simulation, result):
    assert result.all_in_focus.shape == (1, *SIZE)
    assert result.defocus_map.shape == result.confidence.shape == SIZE
    assert result.mpi_color.shape == (4, 1, *SIZE)
    assert result.mpi_alpha.shape == (4, 1, *SIZE)
    assert result.defocus_scales[0] > result.defocus_scales[-1], "back to front"
    truth = simulation.scene.defocus_map
    assert np.corrcoef(truth.ravel(), result.defocus_map.ravel())[0, 1] > 0.7


def test_settings_by_name_replace_those_of_an_object(simulation, capsys):
    settings = dpdeblur.FitSettings(**{**SETTINGS, "layers": 3})
    arguments = (simulation.capture, simulation.calibration, settings)
    result = dpdeblur.fit(*arguments, crop=CROP, layers=2)
    assert len(result.defocus_scales) == 2
    assert result.all_in_focus.shape == (1, 32, 32)
    assert result.provenance["settings"]["preset"] == "preview"
    assert "100%" in capsys.readouterr().err, "a bar is the default"
    with pytest.raises(SettingsError, match="colour"):
        dpdeblur.fit(*arguments, colour="red")


def test_progress_can_be_a_function_or_nothing(simulation, capsys):
    arguments = (simulation.capture, simulation.calibration)
    options = {**SETTINGS, "layers": 2, "crop": CROP}
    fractions = []
    dpdeblur.fit(*arguments, progress=lambda event: fractions.append(event.fraction), **options)
    assert fractions == sorted(fractions)
    assert fractions[-1] == pytest.approx(1.0)
    dpdeblur.fit(*arguments, progress=False, **options)
    assert capsys.readouterr() == ("", "")


def test_an_interrupted_fit_goes_on_from_its_checkpoint(simulation, result, tmp_path):
    path = tmp_path / "state"
    stages = []

    def interrupt(event):
        if event.stage == "image":
            raise KeyboardInterrupt

    arguments = (simulation.capture, simulation.calibration)
    with pytest.raises(KeyboardInterrupt):
        dpdeblur.fit(*arguments, progress=interrupt, checkpoint=path, **SETTINGS)
    assert path.exists()
    again = dpdeblur.fit(
        *arguments, progress=lambda e: stages.append(e.stage), checkpoint=path, **SETTINGS
    )
    assert not path.exists()
    assert "cost volume" not in stages
    np.testing.assert_allclose(again.all_in_focus, result.all_in_focus, atol=1e-6)


def test_representations_are_short(simulation, result):
    assert repr(result) == "<Result: 64 x 96 px, 1 channel, 4 layers, defocus 0.10 to 1.40>"
    assert repr(simulation.capture) == (
        "<DualPixelCapture synthetic: 32 x 96 px, 1 channel, uint16, pixel aspect 2>"
    )
    assert repr(simulation.calibration) == (
        "<Calibration of synthetic lens: 6 x 8 tiles of 41 px, field of 64 x 96 px at (0, 0)>"
    )


def test_a_notebook_gets_a_picture(result):
    picture = Image.open(BytesIO(result._repr_png_()))
    np.testing.assert_array_equal(np.asarray(picture), result.picture())
    assert picture.width > 3 * SIZE[1]


SCRIPT = """
import sys, napari_dpdeblur as dpdeblur
result = dpdeblur.load_result(sys.argv[1])
assert "torch" not in sys.modules
{before}
viewer = result.show({arguments})
print(*(layer.name for layer in viewer.layers), sep="|")
"""
CLOSE_SOON = """
from qtpy.QtCore import QTimer
from qtpy.QtWidgets import QApplication
import napari
napari.Viewer()
closing = QTimer()
closing.timeout.connect(QApplication.instance().closeAllWindows)
closing.start(500)
"""
LAYERS = (
    "synthetic right|synthetic left|"
    "synthetic all-in-focus|synthetic defocus map|synthetic confidence|synthetic MPI\n"
)


def test_show_opens_napari_and_comes_back_when_its_window_is_closed(display, result, tmp_path):
    folder = result.save(tmp_path / "run")
    where = {name: value for name, value in os.environ.items() if "DISPLAY" in name}
    shown = run_script(SCRIPT.format(before=CLOSE_SOON, arguments=""), folder, **where)
    assert shown == LAYERS


def test_show_adds_the_views_of_a_fresh_result(display, qtbot, simulation, result, monkeypatch):
    import napari

    viewer = napari.Viewer(show=False)
    monkeypatch.setattr(napari, "run", lambda: None)  # pytest-qt runs the event loop
    try:
        assert result.show() is viewer
        names = [layer.name for layer in viewer.layers]
        assert names[:2] == ["synthetic right", "synthetic left"]
        assert "|".join(names) + "\n" == LAYERS
    finally:
        viewer.close()


def test_show_says_what_to_do_without_a_display(result, monkeypatch):
    monkeypatch.setattr(
        "napari_dpdeblur.results.result.no_window_reason", lambda: "there is no display"
    )
    with pytest.raises(ResultError) as caught:
        result.show()
    assert str(caught.value) == (
        "The result cannot be shown in napari (there is no display); call save(folder) and open "
        "preview.png, or use the pixels of picture()."
    )


def test_show_below_a_cell_needs_ipython(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    with pytest.raises(ResultError, match="only be shown in a notebook; call show"):
        result.show(window=False)


CLIENT = """
import base64, sys
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name="tested")
found = []
code = f"import napari_dpdeblur; napari_dpdeblur.load_result({sys.argv[1]!r}).show()"
client.execute_interactive(code, output_hook=found.append, timeout=120)
client.stop_channels()
manager.shutdown_kernel(now=True)
for message in found:
    if message["msg_type"] == "display_data":
        data = message["content"]["data"]
        print(data["text/plain"], base64.b64decode(data["image/png"])[:4])
"""


def test_show_in_a_kernel_displays_the_picture(result, tmp_path):
    """In a real kernel: what it sends to its front end holds the picture."""
    kernel = tmp_path / "kernels" / "tested"
    kernel.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    specification = {"argv": command, "display_name": "tested", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(specification))
    folder = result.save(tmp_path / "run")
    shown = run_script(CLIENT, folder, JUPYTER_PATH=str(tmp_path), JUPYTER_PLATFORM_DIRS="1")
    assert shown == f"{result!r} {PNG_START!r}\n"


def test_nobody_is_in_a_notebook_without_ipython(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not screen.in_notebook()


def test_a_fit_without_a_calibration_estimates_the_lens(tmp_path):
    capture = dpdeblur.simulate(288, 384).capture
    events = []
    options = {"preset": "preview", "layers": 3, "progress": events.append}
    checkpoint = tmp_path / "fit.checkpoint"
    result = dpdeblur.fit(capture, checkpoint=checkpoint, **options)
    stages = [event.stage for event in events]
    assert stages.index("lens") < stages.index("cost volume")
    assert result.calibration.is_estimated
    assert result.notes[0].startswith("The lens was estimated from this capture (verdict: ")
    assert not list(tmp_path.iterdir()), "checkpoints are removed"
    lens = dpdeblur.estimate_lens(
        capture, dpdeblur.EstimateSettings(rows=1, cols=1), progress=False
    )
    assert (lens.rows, lens.cols) == (1, 1)
    other = dpdeblur.fit(capture, lens, preset="preview", layers=3, progress=False)
    assert other.notes[0].startswith("The lens was estimated from this capture")
    assert other.save(tmp_path / "run")
    assert dpdeblur.load_result(tmp_path / "run").calibration.content_hash() == lens.content_hash()
