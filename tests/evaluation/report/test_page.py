"""The page, opened in a real browser."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from benchmark_data import CALIBRATION, write_data

from napari_dpdeblur.cli import main
from napari_dpdeblur.evaluation.baselines import Prediction
from napari_dpdeblur.evaluation.comparison.tables import TableRow
from napari_dpdeblur.evaluation.report.page import ScenePanel, build_page, data_uri, layer
from napari_dpdeblur.evaluation.report.pictures import ScenePictures
from napari_dpdeblur.evaluation.scoring import Truth

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
METHODS = ("input", "wadhwa", "preview")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    data = write_data(tmp_path_factory.mktemp("data"))
    (folder / "none").mkdir()
    arguments = ["benchmark", str(data), "-o", str(folder), "--calibration"]
    arguments += [str(data / CALIBRATION), "--threads", "1", "--methods", *METHODS]
    arguments += ["--maps", f"Missing <b>={folder / 'none'}"]
    assert main(arguments) == 2, "rows are missing"
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"no browser: install one of {', '.join(BROWSERS)}")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
    with playwright.sync_playwright() as driver:
        # root, as in containers, may not use the sandbox
        opened = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    """The report at 1366 x 768 px without a network; any error on the page fails the test."""
    complaints: list[str] = []
    context = browser.new_context(viewport={"width": 1366, "height": 768}, offline=True)
    opened = context.new_page()
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda message: complaints.append(message.text))
    requests: list[str] = []
    opened.on("request", lambda request: requests.append(request.url))
    opened.goto((report / "report.html").as_uri())
    settle(opened)
    yield opened
    context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


def settle(page: Any) -> None:
    """Wait until all pictures that are to be seen have been drawn."""
    page.wait_for_function(
        "() => [...cache.values()].every((image) => image.complete) && !drawQueued"
    )


def canvas(page: Any) -> np.ndarray:
    """What the canvas shows, (H, W, 3)."""
    settle(page)
    return cv2.imdecode(np.frombuffer(page.locator("#canvas").screenshot(), np.uint8), 1)


def csv_rows(report: Path, scene: str) -> list[dict[str, str]]:
    with (report / "table.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["scene"] == scene]


def shown_rows(page: Any, table: str) -> list[dict[str, str]]:
    """Rows of a table on the page: label, source and the text of each metric."""
    return page.evaluate(
        """(id) => [...document.querySelectorAll(`#${id} tbody tr`)].map((row) => ({
            label: row.dataset.label, source: row.dataset.source,
            ...Object.fromEntries([...row.querySelectorAll("td[data-metric]")]
                .map((cell) => [cell.dataset.metric, cell.textContent]))}))""",
        table,
    )


@pytest.mark.parametrize("table", ["scene-table", "mean-table"])
def test_the_numbers_are_those_of_the_table(page: Any, report: Path, table: str) -> None:
    expected = csv_rows(report, "001" if table == "scene-table" else "mean")
    shown = shown_rows(page, table)
    assert len(shown) == len(expected)
    for row, numbers in zip(shown, expected, strict=True):
        assert (row.pop("label"), row.pop("source")) == (numbers["label"], numbers["source"])
        assert len(row) == 10, "with the columns of one alignment"
        assert row == {name: numbers[name] or "–" for name in row}


def test_rows_of_the_paper_are_marked(page: Any) -> None:
    marked = page.locator("#mean-table tr[data-source=published] .badge").all_inner_texts()
    assert marked == ["published"] * 8


def test_failures_are_named(page: Any) -> None:
    row = page.locator('#scene-table tr[data-label="Missing <b>"]')
    assert "failed: The folder" in row.inner_text()
    assert page.locator("#scene-table b").count() == 0, "names are text, not markup"


def test_the_slider_shows_a_layer_on_each_side(page: Any) -> None:
    before = canvas(page)
    box = page.locator("#canvas").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, middle, steps=4)
    page.mouse.up()
    assert page.evaluate("state.split") == pytest.approx(0.7, abs=0.01)
    after = canvas(page)
    part = slice(int(before.shape[1] * 0.55), int(before.shape[1] * 0.65))
    assert (before[:, part] != after[:, part]).any(), "layer B has given way to layer A"
    left = slice(int(before.shape[1] * 0.2), int(before.shape[1] * 0.45))
    assert (before[50:, left] == after[50:, left]).all()


def test_flipping_between_layers_by_key_and_button(page: Any) -> None:
    page.keyboard.press("f")
    pictures = []
    for key in ("1", "2", "3"):
        page.keyboard.press(key)
        pictures.append(canvas(page)[60:])
    names = page.locator("#choice-a button").all_inner_texts()
    assert names[:2] == ["Input (mean of the views)", "Ground truth"]
    assert not any((a == b).all() for a, b in pairwise(pictures))
    page.locator("#choice-a button", has_text="Ground truth").click()
    assert (canvas(page)[60:] == pictures[1]).all()
    page.keyboard.press("Shift+Digit1")
    page.keyboard.press(" ")
    assert page.evaluate("[state.a, state.b]") == ["input", "truth"]
    assert (canvas(page)[60:] == pictures[0]).all()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("state.a") == "truth"


@pytest.mark.parametrize(
    ("key", "kind"),
    [("i", "image"), ("e", "image error"), ("d", "defocus"), ("x", "defocus error")],
)
def test_every_kind_of_picture(page: Any, key: str, kind: str) -> None:
    page.keyboard.press(key)
    assert page.evaluate("state.kind") == kind
    assert canvas(page)[60:].std() > 5
    assert page.locator("#scale").is_visible() == (kind != "image")
    layers = page.locator("#choice-a button").all_inner_texts()
    assert ("Ground truth" in layers) == ("error" not in kind)
    assert ("Wadhwa et al." in layers) == ("defocus" in kind)


def test_residuals_over_noise(browser: Any, tmp_path: Path) -> None:
    ramp = np.linspace(0, 3, 96 * 128, dtype=np.float32).reshape(96, 128)
    pictures = ScenePictures(ramp[None], Truth("", ""))
    drawn = pictures.of_method(Prediction(residual=ramp), None)
    panel = ScenePanel("001", pictures.defocus_scale, (96, 128), [layer("fit", "Fit", drawn)])
    (tmp_path / "page.html").write_text(build_page("Residuals", [panel], []), "utf-8")
    page = browser.new_page(viewport={"width": 800, "height": 600})
    page.goto((tmp_path / "page.html").as_uri())
    page.keyboard.press("r")
    page.keyboard.press("f")
    settle(page)
    assert page.locator("#choice-a button").all_inner_texts() == ["Fit"]
    assert page.locator("#scale-high").inner_text() == "≥ 3.00 × noise"
    column = canvas(page)[60:, 400].astype(float).sum(-1)
    assert column[-20] > 3 * column[20], "from dark to bright"
    page.close()


def test_the_layers_of_the_fit_pulled_apart(page: Any) -> None:
    page.keyboard.press("y")
    settle(page)
    stack = page.evaluate("scene().layers.at(-1).pictures.layers")
    assert len(stack) > 5
    scales = [layer["scale"] for layer in stack]
    assert scales == sorted(scales, reverse=True), "back to front"
    assert not page.locator("#scale").is_visible()
    before = canvas(page)
    assert before[60:].std() > 5
    box = page.locator("#canvas").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] - 150, middle[1] + 40)
    page.mouse.up()
    settle(page)
    assert page.evaluate("state.yaw") == pytest.approx(0.2)
    assert (canvas(page) != before).any(), "dragging turns them"
    spread = page.evaluate("state.spread")
    page.mouse.wheel(0, -200)
    page.wait_for_function(f"state.spread > {spread}")
    page.keyboard.press("0")
    settle(page)
    assert (canvas(page)[60:] == before[60:]).all(), "as at first"
    page.keyboard.press("i")
    settle(page)
    assert page.evaluate("state.zoom") == 0, "the images were not moved"


def test_zoom_and_movement_are_shared_by_all_panes(page: Any) -> None:
    page.keyboard.press("b")
    box = page.locator("#canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] / 2)
    start = page.evaluate("zoomIn(panes()[0])")
    page.mouse.wheel(0, -400)
    zoom = page.evaluate("state.zoom")
    assert zoom == pytest.approx(start * np.e, rel=0.01)
    places = page.evaluate("panes().map((pane) => [place(pane), pane])")
    offsets = [(at["left"] - pane["left"], at["top"] - pane["top"]) for at, pane in places]
    assert offsets[0] == pytest.approx(offsets[1])
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 4 + 50, box["y"] + box["height"] / 2 + 20, steps=3)
    page.mouse.up()
    moved = page.evaluate("place(panes()[1])")
    assert moved["left"] - places[1][0]["left"] == pytest.approx(50, abs=1)
    assert moved["top"] - places[1][0]["top"] == pytest.approx(20, abs=1)
    page.keyboard.press("ArrowDown")
    assert page.evaluate("state.zoom") == zoom, "another scene, the same place"
    page.keyboard.press("0")
    assert page.evaluate("state.zoom") == 0


def test_zooming_keeps_the_point_under_the_mouse(page: Any) -> None:
    page.keyboard.press("f")
    box = page.locator("#canvas").bounding_box()
    x, y = box["width"] * 0.45, box["height"] * 0.6
    under = f"""(() => {{
        const at = place(panes()[0]);
        return [({x} - at.left) / at.width, ({y} - at.top) / at.height];
    }})()"""
    before = page.evaluate(under)
    page.mouse.move(box["x"] + x, box["y"] + y)
    for _ in range(3):
        page.mouse.wheel(0, -200)
    assert page.evaluate("state.zoom") > 0
    assert page.evaluate(under) == pytest.approx(before, abs=0.002)
    assert re.search(r"row \d+, column \d+", page.locator("#status").inner_text())


def test_scenes_and_their_numbers_change_together(page: Any, report: Path) -> None:
    page.locator("#scenes button", has_text="002").click()
    assert page.locator("#scene-heading").inner_text() == "Scene 002"
    expected = [row["aiwe1"] or "–" for row in csv_rows(report, "002")]
    assert [row["aiwe1"] for row in shown_rows(page, "scene-table")] == expected
    assert "scene=002" in page.url


def test_all_layers_at_once(page: Any) -> None:
    page.keyboard.press("d")
    page.keyboard.press("g")
    assert len(page.evaluate("panes()")) == 4
    assert canvas(page).std() > 5


def test_the_address_brings_back_what_was_shown(page: Any, report: Path) -> None:
    address = (report / "report.html").as_uri()
    page.goto(f"{address}#scene=002&kind=defocus&mode=side&a=wadhwa&b=truth")
    page.reload()
    settle(page)
    assert page.evaluate("[scene().name, state.kind, state.mode, state.a, state.b]") == [
        "002",
        "defocus",
        "side",
        "wadhwa",
        "truth",
    ]


def test_help_lists_the_keys_and_closes(page: Any) -> None:
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()


def test_a_row_of_the_table_selects_its_method(page: Any) -> None:
    page.locator("#scene-table tr[data-method=preview]").click()
    assert page.evaluate("state.a") == "preview"
    assert "is-a" in page.locator("#scene-table tr[data-method=preview]").get_attribute("class")


def test_nothing_hides_the_controls_at_a_laptops_size(page: Any) -> None:
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 1366
    assert page.locator("#stage").bounding_box()["height"] > 400


# without a browser


def test_a_page_without_scenes_and_with_strange_names() -> None:
    row = TableRow("measured", "m", "</script><b>", "mean", values={"psnr_db": 20.0})
    text = build_page("Title & more", [], [row])
    assert "<title>Title &amp; more</title>" in text
    assert "</script><b>" not in text
    assert "{{" not in text.replace("{{ const", "")


def test_pictures_keep_their_colours() -> None:
    import base64
    import io

    from PIL import Image

    picture = np.zeros((40, 60, 3), np.uint8)
    picture[..., 0], picture[..., 2] = 200, np.linspace(0, 255, 60).astype(np.uint8)
    content = base64.b64decode(data_uri(picture, 90).split(",")[1])
    decoded = np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).astype(int)
    assert np.abs(decoded - picture).mean() < 6
