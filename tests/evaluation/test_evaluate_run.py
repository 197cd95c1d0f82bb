"""A run folder against ground-truth files."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from napari_dpdeblur.cli.compare import evaluate
from napari_dpdeblur.errors import EvaluationError, ResultError
from napari_dpdeblur.evaluation.evaluate_run import evaluate_run, format_report
from napari_dpdeblur.optics.mpi import MultiplaneImage
from napari_dpdeblur.results import Result, read_image, write_run
from napari_dpdeblur.results.tiff_files import write_image


@pytest.fixture
def truth(tmp_path: Path) -> tuple[Path, Path]:
    random = np.random.default_rng(0)
    sharp = gaussian_filter(random.standard_normal((64, 80)), 2)
    sharp = 20000 * (sharp - sharp.min()) / np.ptp(sharp)
    defocus = np.tile(np.linspace(0, 255, 80), (64, 1))
    paths = tmp_path / "sharp.png", tmp_path / "defocus.png"
    cv2.imwrite(str(paths[0]), sharp.astype(np.uint16))
    cv2.imwrite(str(paths[1]), defocus.astype(np.uint8))
    return paths


@pytest.fixture
def run(tmp_path: Path, truth: tuple[Path, Path]) -> Path:
    sharp = cv2.imread(str(truth[0]), cv2.IMREAD_UNCHANGED).astype(np.float32) / 65535
    defocus = cv2.imread(str(truth[1]), cv2.IMREAD_UNCHANGED).astype(np.float32) / 255
    random = np.random.default_rng(1)
    noise = 0.01 * sharp.max() * random.standard_normal(sharp.shape).astype(np.float32)
    result = Result(
        all_in_focus=(sharp + noise)[None],
        defocus_map=1.2 - 0.9 * defocus,
        confidence=np.ones_like(sharp),
        mpi=MultiplaneImage(
            np.stack([sharp[None]] * 2),
            np.ones((2, 1, 64, 80), np.float32),
            np.array([1.2, 0.3]),
        ),
    )
    return write_run(result, tmp_path / "run")


def test_all_six_metrics_are_reported(run: Path, truth: tuple[Path, Path]) -> None:
    report = json.loads(json.dumps(evaluate_run(run, *truth), allow_nan=False))
    assert report["image"]["psnr_db"] == pytest.approx(40.0, abs=0.5)
    assert report["image"]["mae"] == pytest.approx(0.01 * np.sqrt(2 / np.pi), rel=0.1)
    assert report["image"]["ssim"] > 0.9
    assert report["image"]["alignment"]["warning"] is None
    assert report["defocus"]["aiwe1"] == pytest.approx(0.0, abs=1e-6)
    assert report["defocus"]["aiwe2"] == pytest.approx(0.0, abs=1e-6)
    assert report["defocus"]["one_minus_spearman"] == pytest.approx(0.0, abs=1e-6)


def test_either_truth_is_enough(run: Path, truth: tuple[Path, Path]) -> None:
    assert "defocus" not in evaluate_run(run, sharp=truth[0])
    assert "image" not in evaluate_run(run, defocus=truth[1])


def test_the_table_names_all_numbers_and_the_protocol(run: Path, truth: tuple[Path, Path]) -> None:
    table = format_report(evaluate_run(run, *truth))
    for name in ("PSNR", "SSIM", "MAE", "AIWE(1)", "AIWE(2)", "1 - |rho_s|", "affine transform"):
        assert name in table
    assert "warning" not in table


def test_the_table_shows_a_missing_alignment(tmp_path: Path, run: Path) -> None:
    cv2.imwrite(str(tmp_path / "flat.png"), np.full((64, 80), 9000, np.uint16))
    table = format_report(evaluate_run(run, sharp=tmp_path / "flat.png"))
    assert "not aligned because one of them is constant" in table


def command(*words: str) -> None:
    parser = argparse.ArgumentParser()
    evaluate.add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["evaluate", *words])
    arguments.run(arguments)


def test_the_command_prints_json(
    run: Path, truth: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    command(str(run), "--sharp", str(truth[0]), "--defocus", str(truth[1]), "--json")
    assert json.loads(capsys.readouterr().out) == evaluate_run(run, *truth)


def test_the_command_prints_a_table(
    run: Path, truth: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    command(str(run), "--defocus", str(truth[1]))
    assert capsys.readouterr().out.strip() == format_report(evaluate_run(run, defocus=truth[1]))


@pytest.fixture
def signed(tmp_path: Path, run: Path) -> Path:
    """The map of the run moved to both sides of the focus plane, and that as truth."""
    values = read_image(run / "defocus_map.tif")[0] - 0.75
    write_image(run / "defocus_map.tif", values)
    path = tmp_path / "signed.npy"
    np.save(path, values)
    return path


def test_the_sign_is_reported_against_signed_truth(run: Path, signed: Path) -> None:
    report = evaluate_run(run, defocus=signed)
    assert report["defocus"]["right_sign"] == 1.0
    assert "right sign     100.00 %" in format_report(report)
    assert "farther than 0.15 from the focus" in report["defocus"]["protocol"]
    np.save(signed, -np.load(signed))
    turned = evaluate_run(run, defocus=signed)["defocus"]
    assert turned["right_sign"] == 0.0
    assert turned["aiwe1"] == pytest.approx(0.0, abs=1e-6), "which is blind to the sign"


def test_unsigned_truth_must_say_so(
    run: Path, signed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(signed, np.abs(np.load(signed)))
    assert evaluate_run(run, defocus=signed)["defocus"]["aiwe1"] > 0.05
    command(str(run), "--defocus", str(signed), "--unsigned", "--json")
    found = json.loads(capsys.readouterr().out)["defocus"]
    assert found["aiwe1"] == pytest.approx(0.0, abs=1e-6)
    assert "right_sign" not in found
    assert "absolute values" in found["protocol"]


def test_signed_sixteen_bits(
    tmp_path: Path, run: Path, signed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = np.round(32768 + 8192 * np.load(signed)).astype(np.uint16)
    cv2.imwrite(str(tmp_path / "signed.png"), stored)
    command(str(run), "--defocus", str(tmp_path / "signed.png"), "--signed", "--json")
    found = json.loads(capsys.readouterr().out)["defocus"]
    assert found["right_sign"] == 1.0
    assert found["aiwe1"] < 1e-4
    with pytest.raises(SystemExit):
        command(str(run), "--defocus", str(signed), "--signed", "--unsigned")
    assert "not allowed with argument" in capsys.readouterr().err


def test_without_truth_there_is_nothing_to_do(run: Path) -> None:
    with pytest.raises(EvaluationError, match="No ground truth was given; specify a sharp"):
        evaluate_run(run)


def test_a_missing_run_is_named(tmp_path: Path, truth: tuple[Path, Path]) -> None:
    with pytest.raises(ResultError, match=r"run folder .*none does not exist; check the path"):
        evaluate_run(tmp_path / "none", *truth)


def test_a_larger_result_is_compared_by_its_centre(run: Path, truth: tuple[Path, Path]) -> None:
    whole = evaluate_run(run, *truth)
    for name in ("all_in_focus.tif", "defocus_map.tif"):
        image = read_image(run / name)
        write_image(run / name, np.pad(image, ((0, 0), (16, 16), (20, 20))))
    report = evaluate_run(run, *truth)
    assert report["image"]["psnr_db"] == pytest.approx(whole["image"]["psnr_db"], abs=1e-3)
    assert report["defocus"]["aiwe1"] == pytest.approx(whole["defocus"]["aiwe1"], abs=1e-6)
    note = "The central 64 x 80 px of the result were compared: the result has 96 x 120 px"
    assert report["image"]["note"].startswith(note)
    assert format_report(report).count(note) == 2


def test_a_larger_result_of_another_shape_is_refused(run: Path, truth: tuple[Path, Path]) -> None:
    image = read_image(run / "all_in_focus.tif")
    write_image(run / "all_in_focus.tif", np.pad(image, ((0, 0), (2, 2), (40, 40))))
    with pytest.raises(EvaluationError, match="compare images of the same scene, crop"):
        evaluate_run(run, truth[0])
