"""Figures in the documentation are those of benchmarks/results, and no other ones."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from load_script import load_script

import memory_estimates
import report_figures
import results_file
from napari_dpdeblur.evaluation.comparison import published
from napari_dpdeblur.evaluation.comparison.result_store import Row
from napari_dpdeblur.evaluation.comparison.tables import table_rows, to_csv

REPOSITORY = Path(__file__).resolve().parents[2]
RESULT_FILES = sorted((REPOSITORY / "benchmarks" / "results").glob("*.json"))


FILLER = load_script("docs/fill_figures.py")
PAGES = list(FILLER.pages())

# Numbers that nobody measured here: limits that are promised or checked, and published scores.
CONSTANTS = {
    "README.md": set(),
    "docs/explanation/results.md": {
        "24.62 dB",  # published, input of all 17 scenes
        *("99 %", "100 ms", "500 ms", "1 s", "5 %", "0.5 s", "1.5 s", "3 s"),  # limits
        *("99.5 %", "33 dB"),  # limits of the two-sided scene
    },
    "docs/explanation/speed.md": set(),
    "docs/explanation/robustness.md": {
        *("3 %", "0.3 s", "65 %", "6 GB", "1 GB", "2 s"),  # limits of the tests
        *("4 MB", "1 MB", "64 MB", "80 MB", "400 MB", "512 MB", "768 MB"),  # disk, readers
    },
}
MARKED = "@"  # stands for a marked figure
NUMBER = rf"(?:\d(?:[\d.,]*\d)?|{MARKED})"
WITH_UNIT = re.compile(
    rf"(?<![\w.])((?:{NUMBER}(?:, | and | to | / ))*{NUMBER}) (dB|s|GB|ms|MB|%)(?![\w])"
)


def page_name(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


def visible_text(text: str) -> str:
    """A page without its code, with every marked figure as ``MARKED``."""
    plain = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "``", FILLER.MARKER.sub(MARKED, plain))


def unmarked(text: str, constants: set[str]) -> list[str]:
    """Numbers with a unit, and scores in tables, that are neither marked nor constants."""
    shown = visible_text(text)
    found = [
        f"{number} {unit}"
        for numbers, unit in WITH_UNIT.findall(shown)
        for number in re.findall(r"\d(?:[\d.,]*\d)?", numbers)
    ]
    return [each for each in found if each not in constants] + _unmarked_scores(shown)


def _unmarked_scores(shown: str) -> list[str]:
    """Cells of tables that begin with a decimal number and have no unit; published ones may."""
    rows = [line for line in shown.splitlines() if line.startswith("|")]
    cells = [
        cell.strip(" *") for row in rows if "published" not in row for cell in row.split("|")[2:]
    ]
    return [cell for cell in cells if re.match(r"\d+\.\d+(?! ?(?:dB|s|GB|ms|MB|%))\b", cell)]


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_figures_are_those_of_the_result_files(page: Path) -> None:
    text = page.read_text("utf-8")
    assert FILLER.differences(text, FILLER.filled(text)) == [], "run: python docs/fill_figures.py"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_markers_are_complete_and_inside_a_line(page: Path) -> None:
    text = page.read_text("utf-8")
    assert len(FILLER.OPENING.findall(text)) == len(FILLER.MARKER.findall(text))
    # At the start of a paragraph or list item the whole line would become raw HTML.
    assert re.findall(r"^\s*(?:[-*>]|\d+\.)?\s*<!--=.*$", text, re.MULTILINE) == []


@pytest.mark.parametrize("name", CONSTANTS)
def test_every_measured_number_comes_from_a_result_file(name: str) -> None:
    text = (REPOSITORY / name).read_text("utf-8")
    assert FILLER.MARKER.search(text)
    assert unmarked(text, CONSTANTS[name]) == []


@pytest.mark.parametrize("path", RESULT_FILES, ids=lambda path: path.stem)
def test_a_result_file_tells_how_it_was_made(path: Path) -> None:
    content = json.loads(path.read_text("utf-8"))
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", content["date"])
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", content["version"])
    assert content["machine"]["cores"] >= 1
    assert re.match(r"python benchmarks/|napari-dpdeblur ", content["command"])
    assert content["figures"]
    assert not re.search(r"[\"\s]/\w+/", path.read_text("utf-8")), "a path of some computer"


@pytest.mark.parametrize("name", ["README.md", "docs/explanation/results.md"])
def test_published_scores_are_those_of_the_paper(name: str) -> None:
    rows = [row.split("|")[1:-1] for row in (REPOSITORY / name).read_text("utf-8").splitlines()]
    shown = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows if row}
    for label in ("DPDNet", "Garg et al.", "Xin et al."):
        (cells,) = (v for k, v in shown.items() if k.startswith(label) and "published" in k)
        scores = published.COMPARISON[label]
        assert [cell for cell in cells if cell != "-"] == [
            f"{value:.{2 if metric == 'psnr_db' else 3}f}" for metric, value in scores.items()
        ]


def test_stored_estimates_are_those_of_the_program() -> None:
    stored = FILLER.figure_set("memory_estimates")
    assert stored == pytest.approx(memory_estimates.estimates_gb())


def test_an_old_figure_is_noticed_and_replaced() -> None:
    psnr = f"{FILLER.figure('quality_standard.psnr_db'):.1f}"
    old = "It has <!--=quality_standard.psnr_db:.1f-->12.3<!--/--> dB."
    new = FILLER.filled(old)
    assert new == f"It has <!--=quality_standard.psnr_db:.1f-->{psnr}<!--/--> dB."
    assert FILLER.differences(old, new) == [f"quality_standard.psnr_db: 12.3 -> {psnr}"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing.psnr_db", "no figure set nothing"),
        ("quality_standard.beauty", "no figure quality_standard.beauty"),
        ("robustness_disk.file_system", "is not a number"),
    ],
)
def test_a_marker_without_a_figure_is_an_error(name: str, message: str) -> None:
    with pytest.raises(FILLER.FigureError, match=message):
        FILLER.filled(f"It has <!--={name}:.1f-->12.3<!--/-->.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It takes 28 s.", ["28 s"]),
        ("It takes <!--=a.b:.0f-->28<!--/--> s and 5 %.", []),
        ("They take 1.5, <!--=a.b:.0f-->28<!--/--> and 30 s.", ["1.5 s", "30 s"]),
        ("The limit is `100 s`, the image has 1008 x 1344 px.", []),
        ("| ours | 28.86 | **0.82** | 1 |", ["28.86", "0.82"]),
        ("| ours | <!--=a.b:.2f-->28.86<!--/--> (27.00) |", []),
        ("| theirs, published | 26.69 | 0.80 |", []),
    ],
)
def test_an_unmarked_number_is_noticed(text: str, expected: list[str]) -> None:
    assert unmarked(text, {"5 %"}) == expected


def test_saved_figures_have_short_names_and_few_digits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/blur.py", "/data/pixel4", "--save"])
    figures = {"peak memory GB": 1.23456789, "napari's start": {"time s": 2}}
    content = json.loads(results_file.save_figures("blur", figures, tmp_path).read_text())
    assert content["command"] == "python benchmarks/blur.py pixel4 --save"
    assert content["figures"] == {"peak_memory_gb": 1.23457, "naparis_start": {"time_s": 2}}
    assert {"date", "version", "machine"} <= set(content)


def test_a_report_becomes_a_figure_set_without_published_rows(tmp_path: Path) -> None:
    rows = [Row("two-view", "A", scene, {"psnr_db": 20.0 + i}) for i, scene in enumerate("xyz")]
    table = to_csv(table_rows(rows, published.COMPARISON))
    (tmp_path / "table.csv").write_text(table, "utf-8")
    assert report_figures.mean_scores(tmp_path) == {"two_view": {"psnr_db": 21.0}}


def test_a_missing_figure_changes_no_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known, unknown = tmp_path / "known.md", tmp_path / "unknown.md"
    known.write_text("<!--=quality_standard.psnr_db:.2f-->0<!--/-->", "utf-8")
    unknown.write_text("<!--=no_such_set.psnr_db:.2f-->0<!--/-->", "utf-8")
    monkeypatch.setattr(FILLER, "pages", lambda: iter((known, unknown)))
    monkeypatch.setattr(sys, "argv", ["fill_figures.py"])
    with pytest.raises(SystemExit, match=r"^Nothing was written: .* no_such_set in benchmarks"):
        FILLER.main()
    assert ">0<" in known.read_text("utf-8")
