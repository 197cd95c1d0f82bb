"""Other data than the published ones: folders of captures, depth, larger frames, lenses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from benchmark_data import CALIBRATION, SIZE, scene_of, write_data

from napari_dpdeblur.calibration import Calibration, Field, load_calibration
from napari_dpdeblur.datasets.synthetic.simulation import simulate, synthetic_calibration
from napari_dpdeblur.errors import EvaluationError
from napari_dpdeblur.evaluation.baselines.prediction import LayerPictures, Prediction
from napari_dpdeblur.evaluation.comparison import estimated_lens
from napari_dpdeblur.evaluation.comparison.benchmark import Benchmark
from napari_dpdeblur.evaluation.comparison.estimated_lens import (
    EstimatedLenses,
    estimated_lens_method,
)
from napari_dpdeblur.evaluation.comparison.methods import NamedMethod, known_method, layer_pictures
from napari_dpdeblur.evaluation.comparison.one_alignment import with_one_alignment
from napari_dpdeblur.evaluation.comparison.result_store import ResultStore, Row
from napari_dpdeblur.evaluation.comparison.scenes import central_crop, find_scenes, opened_scene
from napari_dpdeblur.fitting import fit

ONE = {"psnr_db_one", "ssim_one", "mae_one"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def canon(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Captures in folders of their own, as the Canon set is: pictures and depth in millimetres."""
    folder = tmp_path_factory.mktemp("canon")
    for number in (1, 2):
        place = folder / "casual" / "iphone" / f"00{number}"
        place.mkdir(parents=True)
        made = simulate(*SIZE, seed=number, scene="table")
        for name, view in zip("lr", made.capture.views, strict=True):
            shown = np.round(255 * np.clip(view, 0, 1) ** (1 / 2.2)).astype(np.uint8)
            cv2.imwrite(str(place / f"{name}.png"), shown.transpose(1, 2, 0)[..., ::-1])
        depth_mm = np.round(1000 / (1 - made.defocus_map)).astype(np.uint16)
        cv2.imwrite(str(place / "d.png"), depth_mm)
    board = folder / "flat" / "001" / "0600" / "f4"
    board.mkdir(parents=True)
    for name in "lr":
        cv2.imwrite(str(board / f"{name}.png"), np.zeros(SIZE, np.uint8))
    return folder


def shifted(shift_px: float) -> NamedMethod:
    """The truth, displaced by more pixels in each scene."""

    def predict(capture, lens) -> Prediction:
        number = int(capture.name)
        image = scene_of(number - 1).all_in_focus
        moved = np.float32([[1, 0, shift_px * number], [0, 1, 0]])
        return Prediction(cv2.warpAffine(image[0], moved, SIZE[::-1], borderMode=1)[None])

    return NamedMethod("shifted", "Shifted", predict, lambda scene: str(shift_px))


def benchmark_of(data: Path, folder: Path, *methods: NamedMethod, **changes) -> Benchmark:
    lens = changes.pop("lens", None) or load_calibration(data / CALIBRATION)
    scenes = changes.pop("scenes", ("001", "002"))
    return Benchmark(data, lens, methods, scenes, ResultStore(folder), **changes)


# one alignment for all scenes, as published


def test_one_alignment_for_all_scenes_is_that_of_the_chosen_scene(data: Path, tmp_path: Path):
    benchmark = benchmark_of(data, tmp_path, shifted(1.5))
    plain = list(benchmark.rows())
    first, second = with_one_alignment(benchmark, plain)
    assert first.values["psnr_db_one"] == pytest.approx(first.values["psnr_db"])
    assert second.values["psnr_db_one"] < second.values["psnr_db"] - 3, "displaced further"
    assert second.values["mae_one"] > second.values["mae"]
    first, second = with_one_alignment(benchmark, plain, "002")
    assert second.values["ssim_one"] == pytest.approx(second.values["ssim"])
    assert first.values["psnr_db_one"] < first.values["psnr_db"] - 3


def test_maps_and_single_scenes_have_no_common_alignment(data: Path, tmp_path: Path):
    benchmark = benchmark_of(data, tmp_path, known_method("wadhwa"), scenes=("001", "002"))
    rows = with_one_alignment(benchmark, list(benchmark.rows()))
    assert not any(ONE & set(row.values) for row in rows)
    single = benchmark_of(data, tmp_path, shifted(1.5), scenes=("001",))
    assert not ONE & set(with_one_alignment(single, list(single.rows()))[0].values)


def test_a_scene_that_is_not_compared(data: Path, tmp_path: Path):
    benchmark = benchmark_of(data, tmp_path, shifted(1.5))
    with pytest.raises(EvaluationError, match=r"scene 009 for the alignment is not .* 001, 0"):
        with_one_alignment(benchmark, [], "009")


# folders of captures with measured depth


def test_folders_of_captures_are_scenes_if_they_have_depth(canon: Path):
    assert find_scenes(canon) == ["iphone_001", "iphone_002"]
    assert opened_scene(canon, "iphone_002").name == "iphone_002"


def test_depth_is_scored_with_sign_if_the_focus_distance_is_known(canon: Path, tmp_path: Path):
    lens = replace(synthetic_calibration(*SIZE, rows=1, cols=1), vignetting=None)
    common = {"lens": lens, "scenes": ("iphone_001",)}
    focused = benchmark_of(
        canon, tmp_path, known_method("preview"), optics={"focus_distance_m": 1.0}, **common
    )
    (row,) = focused.rows()
    assert row.problems == ()
    assert row.values["right_sign"] > 0.5
    assert 0 < row.values["depth_error_m"] < 5
    assert "psnr_db" not in row.values
    (unsure,) = benchmark_of(canon, tmp_path, known_method("preview"), **common).rows()
    assert "right_sign" not in unsure.values
    assert unsure.values["aiwe1"] > 0


# larger frames than the truth, and estimated lenses


def test_a_truth_of_the_centre_of_the_frame(data: Path, tmp_path: Path):
    whole = synthetic_calibration(SIZE[0] + 32, SIZE[1] + 48, rows=1, cols=1)
    assert central_crop(data, ("none", "001"), whole) == (16, 24, *SIZE)
    assert central_crop(data, ("001",), load_calibration(data / CALIBRATION)) is None
    assert central_crop(data, ("none",), whole) is None

    def predict(capture, lens) -> Prediction:
        image = np.pad(scene_of(0).all_in_focus, ((0, 0), (16, 16), (24, 24)))
        return Prediction(image, image[0], image[0])

    method = NamedMethod("whole", "Whole", predict, lambda scene: "1")
    crop = (16, 24, *SIZE)
    benchmark = benchmark_of(data, tmp_path, method, lens=whole, crop=crop, scenes=("001",))
    (row,) = benchmark.rows()
    assert row.problems == ()
    assert row.values["psnr_db"] > 60
    assert benchmark.store.prediction(row).residual.shape == SIZE


def test_a_lens_of_the_capture_and_one_of_the_scenes(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What is estimated is tested elsewhere; here, that it is used, and on which captures."""
    asked: list[tuple[list[str], str]] = []
    lens = load_calibration(data / CALIBRATION)

    def estimated(captures, kept: Path) -> Calibration:
        asked.append(([capture.name for capture in captures], kept.name))
        return lens

    monkeypatch.setattr(estimated_lens, "_estimated", estimated)
    lenses = EstimatedLenses(data, ("001", "002"), tmp_path)
    methods = [estimated_lens_method(f"preview@{how}", lenses) for how in ("one", "several")]
    inner = Field(8, 16, 80, 96)
    field = replace(lens, field=inner)
    for scene in ("001", "002"):
        for method in methods:
            found = method.predict(opened_scene(data, scene), field)
            assert found.defocus_map.shape == (80, 96), "the field of the calibration"
            assert found.layers.pixels.shape[1:] == (80, 96, 4)
    assert asked == [
        (["001"], "001.dpcal"),
        (["001", "002"], "lens.dpcal"),
        (["002"], "002.dpcal"),
    ]
    assert "lens estimated from the capture" in methods[0].label
    assert methods[0].signature("001") != methods[1].signature("001")


@pytest.mark.parametrize("name", ["standard@many", "magic@one"])
def test_an_estimate_that_does_not_exist(data: Path, tmp_path: Path, name: str):
    with pytest.raises(EvaluationError, match=f"Unknown method {name}; .*standard@one, standard@s"):
        estimated_lens_method(name, EstimatedLenses(data, ("001",), tmp_path))


def test_the_common_lens_is_that_of_eight_scenes_at_most(tmp_path: Path):
    names = [f"{number:03d}" for number in range(1, 18)]
    assert len(EstimatedLenses(tmp_path, names, tmp_path).chosen) <= 8
    assert EstimatedLenses(tmp_path, names[:3], tmp_path).chosen == names[:3]


# what a report shows of a fit


def test_layers_and_residual_are_stored(tmp_path: Path):
    pixels = np.random.default_rng(0).integers(0, 255, (3, 12, 16, 4)).astype(np.uint8)
    layers = LayerPictures(pixels, np.array([1.0, 0.0, -0.5], np.float32))
    store, row = ResultStore(tmp_path), Row("fit", "Fit", "001")
    store.save(row, "1", Prediction(residual=np.ones(SIZE, np.float32), layers=layers))
    found = store.prediction(row)
    np.testing.assert_array_equal(found.layers.pixels, pixels)
    np.testing.assert_array_equal(found.layers.scales, layers.scales)
    np.testing.assert_array_equal(found.residual, np.ones(SIZE))
    assert store.load(row, "1") is not None
    (store.place(row) / "layers.npz").write_bytes(b"damaged")
    assert store.prediction(row).layers is None


def test_reduced_layers_composite_to_the_result():
    made = simulate(96, 640, scene="table")
    result = fit(made.capture, made.calibration, preset="preview", progress=False)
    layers = layer_pictures(result)
    assert layers.pixels.shape == (len(result.defocus_scales), 72, 480, 4)
    np.testing.assert_array_equal(layers.scales, result.defocus_scales)
    alpha = layers.pixels[..., 3:] / 255
    seen = np.zeros((72, 480, 3))
    for color, cover in zip(layers.pixels[..., :3], alpha, strict=True):
        seen = seen * (1 - cover) + color * cover
    picture = np.asarray(result.all_in_focus).transpose(1, 2, 0)
    expected = cv2.resize(picture, (480, 72), interpolation=cv2.INTER_AREA)
    assert np.corrcoef(seen.ravel(), np.sqrt(np.maximum(expected, 0)).ravel())[0, 1] > 0.95
