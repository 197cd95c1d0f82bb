"""Methods x scenes: rows, failures, resuming after an interruption."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from benchmark_data import CALIBRATION, SIZE, scene_of, write_data

from napari_dpdeblur.calibration import load_calibration
from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.evaluation import (
    defocus_path,
    defocus_scores,
    image_scores,
    load_defocus,
    load_sharp,
    sharp_path,
)
from napari_dpdeblur.evaluation.baselines import Prediction
from napari_dpdeblur.evaluation.comparison.benchmark import Benchmark
from napari_dpdeblur.evaluation.comparison.methods import (
    DEFAULT_METHODS,
    KNOWN_METHODS,
    NamedMethod,
    external_method,
    fit_method,
    known_method,
)
from napari_dpdeblur.evaluation.comparison.result_store import ResultStore, Row
from napari_dpdeblur.evaluation.comparison.scenes import find_scenes
from napari_dpdeblur.evaluation.comparison.tables import table_rows, to_markdown
from napari_dpdeblur.evaluation.comparison.write import write_comparison


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


class Counted:
    """A method that says how often it ran; what it says is the truth, moved a little."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, capture, lens) -> Prediction:
        self.runs += 1
        scene = scene_of(int(capture.name) - 1)
        return Prediction(0.9 * scene.all_in_focus, np.float32(2 * scene.defocus_map + 1))


def method_of(predict, name: str = "counted") -> NamedMethod:
    return NamedMethod(name, name, predict, lambda scene: "1")


def benchmark_of(data: Path, folder: Path, *methods: NamedMethod, **changes) -> Benchmark:
    lens = load_calibration(data / CALIBRATION)
    scenes = changes.pop("scenes", ("001", "002"))
    return Benchmark(data, lens, methods, scenes, ResultStore(folder), **changes)


def test_rows_hold_what_the_metrics_say(data: Path, tmp_path: Path) -> None:
    announced = []
    benchmark = benchmark_of(data, tmp_path, known_method("input"))
    rows = list(benchmark.rows(announced.append))
    assert [row.scene for row in rows] == ["001", "002"] == [row.scene for row in announced]
    assert benchmark.total == 2
    image = benchmark.captured("001")
    scores = image_scores(image, load_sharp(sharp_path(data, "001")))
    truth = load_defocus(defocus_path(data, "001"))
    map_scores = defocus_scores(np.ones(SIZE), truth.defocus, truth.confidence)
    assert rows[0].status == "ok"
    assert rows[0].values["psnr_db"] == pytest.approx(scores.psnr_db)
    assert rows[0].values["ssim"] == pytest.approx(scores.ssim)
    assert rows[0].values["aiwe2"] == pytest.approx(map_scores.aiwe2)
    assert rows[0].mean_defocus == 1.0


def _signed_map(scene: str) -> np.ndarray:
    return np.float32(scene_of(int(scene) - 1).defocus_map - 0.6)


def test_signed_truth_scores_the_sign(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    data = write_data(tmp_path / "data", ("001",))
    defocus_path(data, "001").unlink()
    np.save(data / "gt_defocus_map" / "001_gt.npy", _signed_map("001"))
    assert find_scenes(data) == ["001"]
    right = method_of(lambda capture, lens: Prediction(None, _signed_map("001")), "right")
    turned = method_of(lambda capture, lens: Prediction(None, -_signed_map("001")), "turned")
    benchmark = benchmark_of(data, tmp_path, right, turned, scenes=("001",))
    rows = list(benchmark.rows())
    assert [row.values["right_sign"] for row in rows] == [1.0, 0.0]
    assert rows[0].values["aiwe1"] == pytest.approx(0, abs=1e-6)
    write_comparison(benchmark, rows, {}, "Signed")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '"isSigned":true' in text
    assert '"heading":"right sign","larger":true' in text
    unsigned = benchmark_of(data, tmp_path, right, turned, scenes=("001",), sign="unsigned")
    rows = list(unsigned.rows())
    assert ["right_sign" in row.values for row in rows] == [False, False]
    assert [row.values["aiwe1"] for row in rows] == pytest.approx([0, 0], abs=1e-6)


def test_stored_rows_are_not_computed_again(data: Path, tmp_path: Path) -> None:
    counted = Counted()
    first = list(benchmark_of(data, tmp_path, method_of(counted)).rows())
    again = list(benchmark_of(data, tmp_path, method_of(counted)).rows())
    assert counted.runs == 2
    assert again == first
    prediction = ResultStore(tmp_path).prediction(first[0])
    np.testing.assert_allclose(prediction.all_in_focus, 0.9 * scene_of(0).all_in_focus, atol=1e-6)


@pytest.mark.parametrize("damage", ["record", "picture", "method", "truth"])
def test_what_is_not_whole_or_not_the_same_is_computed_again(
    damage: str, data: Path, tmp_path: Path
) -> None:
    if damage == "truth":
        (tmp_path / "data").mkdir()
        data = write_data(tmp_path / "data", ("001",))
    counted = Counted()
    method = method_of(counted)
    (row,) = benchmark_of(data, tmp_path, method, scenes=("001",)).rows()
    place = ResultStore(tmp_path).place(row)
    if damage == "record":
        (place / "result.json").write_text('{"signature": 3')
    elif damage == "picture":
        (place / "all_in_focus.tif").unlink()
    elif damage == "method":
        method = NamedMethod("counted", "counted", counted, lambda scene: "2")
    else:
        cv2.imwrite(str(defocus_path(data, "001")), np.full(SIZE, 9, np.uint8))
    list(benchmark_of(data, tmp_path, method, scenes=("001",)).rows())
    assert counted.runs == 2


def test_failures_are_named_and_the_rest_goes_on(data: Path, tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("small", "nan", "empty")}
    for folder in folders.values():
        folder.mkdir()
    for scene in ("001", "002"):
        cv2.imwrite(str(folders["small"] / f"{scene}.png"), np.zeros((40, 50), np.uint16))
        holes = np.full(SIZE, np.nan, np.float32)
        cv2.imwrite(str(folders["nan"] / f"{scene}.tif"), holes)
    methods = [external_method(name, folder, None) for name, folder in folders.items()]
    methods += [method_of(Counted())]
    rows = list(benchmark_of(data, tmp_path, *methods).rows())
    reasons = {row.method: " ".join(row.problems) for row in rows}
    assert "has shape (1, 40, 50), but the ground truth has (1, 96, 128)" in reasons["small"]
    assert "pixels that are not finite" in reasons["nan"]
    assert "contains no image of scene 002" in reasons["empty"]
    assert [row.status for row in rows if row.method == "counted"] == ["ok", "ok"]
    text = to_markdown(table_rows(rows, {}), "Comparison")
    assert "- nan, scene 001: The all-in-focus image has 12288 pixels" in text
    assert text.count("failed") >= 6


@pytest.mark.parametrize("error", [RuntimeError("out of paper\nsecond line"), MemoryError()])
def test_a_method_that_breaks_does_not_stop_the_others(
    error: Exception, data: Path, tmp_path: Path
) -> None:
    def breaks(capture, lens) -> Prediction:
        raise error

    methods = (method_of(breaks, "breaks"), method_of(Counted()))
    rows = list(benchmark_of(data, tmp_path, *methods, scenes=("001",)).rows())
    assert rows[0].problems == (f"{type(error).__name__}: {str(error)[:12] or 'no reason given'}",)
    assert rows[1].status == "ok"


def test_a_method_that_says_nothing(data: Path, tmp_path: Path) -> None:
    silent = method_of(lambda capture, lens: Prediction())
    (row,) = benchmark_of(data, tmp_path, silent, scenes=("001",)).rows()
    assert row.problems == ("The method returned neither an image nor a defocus map.",)


def test_missing_truth_and_missing_captures(tmp_path: Path) -> None:
    data = write_data(tmp_path, ("001", "002", "003"))
    sharp_path(data, "001").unlink()
    (data / "002_right.pgm").unlink()
    defocus_path(data, "003").write_bytes(b"not a picture")
    scenes = find_scenes(data)
    assert scenes == ["001", "002", "003"]
    rows = list(benchmark_of(data, tmp_path / "r", method_of(Counted()), scenes=scenes).rows())
    assert [row.status for row in rows] == ["failed"] * 3
    assert "ground-truth image" in rows[0].problems[0]
    assert "aiwe1" in rows[0].values, "what can be compared is compared"
    assert "002_left.png does not exist" in rows[1].problems[0]
    assert "cannot be read" in rows[2].problems[0]
    assert "psnr_db" in rows[2].values


def test_a_folder_without_scenes(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="contains no captures or ground truth; expected"):
        find_scenes(tmp_path)
    with pytest.raises(EvaluationError, match="does not exist; check the path"):
        find_scenes(tmp_path / "nowhere")


def test_unknown_methods() -> None:
    assert set(DEFAULT_METHODS) == set(KNOWN_METHODS) - {"paper"}
    with pytest.raises(EvaluationError, match="Unknown method magic; choose from input, wien"):
        known_method("magic")


def test_a_crop_compares_the_same_part_of_the_truth(data: Path, tmp_path: Path) -> None:
    crop = (16, 32, 64, 64)
    settings = {"preset": "preview", "layers": 4, "threads": 1}
    method = fit_method("crop", "crop", settings, crop)
    (row,) = benchmark_of(data, tmp_path, method, crop=crop, scenes=("001",)).rows()
    assert row.status == "ok"
    prediction = ResultStore(tmp_path).prediction(row)
    assert prediction.defocus_map.shape == (64, 64)
    sharp = load_sharp(sharp_path(data, "001"))[:, 16:80, 32:96]
    scores = image_scores(prediction.all_in_focus, sharp)
    assert row.values["psnr_db"] == pytest.approx(scores.psnr_db, abs=1e-3)


def test_results_are_plain_json(data: Path, tmp_path: Path) -> None:
    (row,) = benchmark_of(data, tmp_path, method_of(Counted()), scenes=("001",)).rows()
    record = json.loads((ResultStore(tmp_path).place(row) / "result.json").read_text())
    assert record["row"]["values"] == row.values
    odd = ResultStore(tmp_path).place(Row("../up", "", "a/b"))
    assert odd.parent.parent == tmp_path / "results"
