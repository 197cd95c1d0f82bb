"""`benchmark`, `ablation` and `baseline` as a user calls them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import benchmark_data
import pytest
import tifffile
from benchmark_data import CALIBRATION, SIZE, write_data

from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.cli import main


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


def common(data: Path, output: Path) -> list[str]:
    calibration = str(data / CALIBRATION)
    return [str(data), "-o", str(output), "--calibration", calibration, "--threads", "1"]


def rows_of(report: Path) -> list[dict[str, str]]:
    with (report / "table.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_benchmark_writes_tables_and_page(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report"
    others = tmp_path / "others"
    others.mkdir()
    options = ["--methods", "input", "wadhwa", "preview", "--maps", f"Others={others}"]
    assert main(["benchmark", *common(data, report), *options, "--json"]) == 2
    printed = json.loads(capsys.readouterr().out)
    assert printed["rows"] == 8
    assert len(printed["failed"]) == 2
    rows = rows_of(report)
    measured = {(row["method"], row["scene"]): row for row in rows if row["source"] == "measured"}
    assert measured["Others", "001"]["status"] == "failed"
    assert float(measured["preview", "mean"]["aiwe1"]) < float(measured["input", "mean"]["aiwe1"])
    assert sum(row["source"] == "published" for row in rows) == 8
    assert (
        "| DPDNet | published, 17 scenes | - | - | - | 25.59 |" in (report / "table.md").read_text()
    )
    page = (report / "report.html").read_text("utf-8")
    assert page.count("data:image/webp;base64,") > 15
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page


def test_benchmark_shows_its_progress(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["benchmark", *common(data, tmp_path / "r"), "--methods", "input"]
    assert main([*arguments, "--scenes", "001", "--maps", f"Others={tmp_path}"]) == 2
    output = capsys.readouterr()
    assert "scene 001, input" in output.err
    assert "contains no image of scene 001" in output.out
    assert output.err.endswith(
        "napari-dpdeblur: 1 of 2 rows failed or are incomplete; the reasons are listed in "
        f"{tmp_path / 'r' / 'table.md'}.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--methods", "magic"], "Unknown method magic"),
        (["--scenes", "001", "--calibration", "nowhere"], "The calibration nowhere does not exist"),
    ],
)
def test_bad_arguments(
    arguments: list[str],
    sentence: str,
    data: Path,
    tmp_path: Path,
    failure: Callable[..., str],
) -> None:
    assert sentence in failure("benchmark", *common(data, tmp_path / "r"), *arguments)
    assert not (tmp_path / "r").exists()


def test_a_pair_that_is_none(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["benchmark", *common(data, tmp_path / "r"), "--onnx", "just-a-file"])
    assert stop.value.code == 2
    assert "must be NAME=PATH, not 'just-a-file'" in capsys.readouterr().err


def test_an_output_that_is_a_file(data: Path, tmp_path: Path, failure: Callable[..., str]) -> None:
    (tmp_path / "r").write_text("a file")
    given = ["benchmark", *common(data, tmp_path / "r"), "--methods", "input"]
    sentence = failure(*given)  # and no row has been computed before
    assert f"The results folder {tmp_path / 'r'} cannot be created (File exists)" in sentence


def test_ablation(data: Path, tmp_path: Path) -> None:
    options = ["--scenes", "002", "--preset", "preview", "--crop", "16,16,64,96"]
    assert main(["ablation", *common(data, tmp_path / "r"), *options]) == 0
    rows = rows_of(tmp_path / "r")
    found = {row["label"]: row for row in rows if row["source"] == "measured"}
    assert float(found["no auxiliary"]["aiwe1"]) > float(found["all terms"]["aiwe1"])
    assert float(found["no intensity"]["psnr_db"]) < float(found["all terms"]["psnr_db"])
    assert found["no bias correction"]["mean_defocus"]
    assert {row["label"] for row in rows if row["source"] == "published"} >= {"no entropy"}
    assert "without" in (tmp_path / "r" / "mean_defocus.svg").read_text()


def test_baseline(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture, calibration = str(data / "001_left.pgm"), str(data / CALIBRATION)
    arguments = ["baseline", "wadhwa", capture, "--calibration", calibration]
    assert main([*arguments, "-o", str(tmp_path / "w")]) == 0
    assert [path.name for path in (tmp_path / "w").iterdir()] == ["defocus_map.tif"]
    assert tifffile.imread(tmp_path / "w" / "defocus_map.tif").shape == SIZE
    arguments[1] = "onnx"
    assert main([*arguments, "-o", str(tmp_path / "o")]) == 2
    assert "--model FILE is needed for the method onnx, and only for it." in capsys.readouterr().err


def test_a_benchmark_with_an_estimated_lens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmark_data, "SIZE", (288, 384))  # enough to estimate a lens from
    (tmp_path / "data").mkdir()
    folder = write_data(tmp_path / "data", ("001",))
    report = tmp_path / "report"
    words = ["benchmark", str(folder), "-o", str(report), "--estimate-lens", "--json"]
    assert main([*words, "--methods", "input", "--threads", "1"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["rows"] == 1
    assert "the lens was estimated from 1 of the scenes." in printed.err
    assert load_calibration(report / "lens.dpcal").is_estimated
