"""Tables of a comparison."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

from napari_dpdeblur.evaluation.comparison import published
from napari_dpdeblur.evaluation.comparison.result_store import Row
from napari_dpdeblur.evaluation.comparison.tables import HEADINGS, table_rows, to_csv, to_markdown

ROWS = [
    Row("a", "A", "001", {"psnr_db": 30.0, "ssim": 0.9, "mae": 0.01}, time_s=2.0),
    Row("a", "A", "002", {"psnr_db": 20.0, "ssim": 0.7, "mae": 0.03}, time_s=4.0),
    Row("b", "B", "001", {"aiwe1": 0.1, "aiwe2": 0.2, "one_minus_spearman": 0.3}),
    Row("b", "B", "002", problems=("It, did not work.",)),
]


def parsed(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_means_are_over_the_scenes_that_went_well() -> None:
    lines = parsed(to_csv(table_rows(ROWS, {})))
    means = {line["method"]: line for line in lines if line["scene"] == "mean"}
    assert (means["a"]["psnr_db"], means["a"]["time_s"]) == ("25.00", "3.0")
    assert (means["a"]["status"], means["b"]["status"]) == ("ok", "failed")
    assert (means["b"]["aiwe1"], means["b"]["psnr_db"]) == ("0.1000", "")
    assert means["b"]["reason"] == "without 002"
    assert lines[3]["reason"] == "It, did not work."


def test_published_rows_stand_beside_ours_and_are_marked() -> None:
    rows = table_rows(ROWS, published.COMPARISON)
    lines = parsed(to_csv(rows))
    paper = next(line for line in lines if line["label"] == "Xin et al.")
    assert (paper["source"], paper["psnr_db"], paper["aiwe1"]) == ("published", "26.69", "0.0470")
    text = to_markdown(rows, "Comparison")
    assert (
        "| Garg et al. | published, 17 scenes | - | - | - | 0.0790 | 0.1020 | 0.2080 | - |" in text
    )
    assert "| A | measured, 2 scenes | 25.00 |" in text
    assert "**26.69**" in text, "the best of a column is bold"


def test_the_sign_has_a_column_where_a_truth_is_signed() -> None:
    plain = table_rows(ROWS, published.COMPARISON)
    assert "right" not in to_csv(plain) + to_markdown(plain, "Comparison")
    signed = [replace(row, values={**row.values, "right_sign": 0.98}) for row in ROWS[:2]]
    signed.append(replace(ROWS[2], values={**ROWS[2].values, "right_sign": 0.96}))
    rows = table_rows(signed, published.COMPARISON)
    lines = parsed(to_csv(rows))
    means = {line["method"]: line["right_sign"] for line in lines if line["scene"] == "mean"}
    assert (means["a"], means["b"], means["Xin et al."]) == ("0.9800", "0.9600", "")
    text = to_markdown(rows, "Comparison")
    assert "| 1-\\|rho\\| | right sign | time s |" in text
    assert "**0.9800**" in text, "larger is better"


def test_identical_images_have_no_finite_psnr() -> None:
    rows = table_rows([Row("a", "A", "001", {"psnr_db": float("inf")})], {})
    assert rows[0].cell("psnr_db") == "inf"


def test_every_published_row_is_complete_or_of_one_half() -> None:
    for table in (published.COMPARISON, published.ABLATION):
        assert {len(values) for values in table.values()} <= {3, 6}
        assert all(set(values) <= set(HEADINGS) for values in table.values())


def test_one_alignment_has_columns_and_published_images_stand_there() -> None:
    values = {"psnr_db": 28.0, "ssim": 0.8, "mae": 0.02, "aiwe1": 0.03}
    one = {"psnr_db_one": 27.0, "ssim_one": 0.7, "mae_one": 0.03}
    rows = [Row("fit", "Fit", "001", {**values, **one})]
    lines = table_rows(rows, {"Paper": {"psnr_db": 26.7, "aiwe1": 0.047}})
    text = to_markdown(lines, "Title")
    assert (
        "| method | source | PSNR | SSIM | MAE | PSNR (one) | SSIM (one) | MAE (one) | AIWE(1) |"
    ) in text
    assert "| Paper | published, 17 scenes | - | - | - | 26.70 | - | - | 0.0470 |" in text
    assert "| **28.00** | **0.8000** | **0.0200** | **27.00** |" in text
    assert "aligned by the transform of one scene, as published" in text


def test_depth_has_a_column_in_metres() -> None:
    rows = [Row("fit", "Fit", "001", {"aiwe1": 0.03, "right_sign": 0.9, "depth_error_m": 0.12})]
    (first, *_), text = parsed(to_csv(table_rows(rows, {}))), to_markdown(table_rows(rows, {}), "T")
    assert first["depth_error_m"] == "0.120"
    assert "| right sign | error m | time s |" in text
