"""Write the files of a comparison: table.csv, table.md and report.html."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from napari_dpdeblur.errors import DpDeblurError, EvaluationError
from napari_dpdeblur.evaluation.comparison.tables import table_rows, to_csv, to_markdown
from napari_dpdeblur.evaluation.report.page import ScenePanel, build_page, layer
from napari_dpdeblur.evaluation.report.pictures import ScenePictures
from napari_dpdeblur.files.atomic import write_atomically

if TYPE_CHECKING:
    from napari_dpdeblur.evaluation.comparison.benchmark import Benchmark
    from napari_dpdeblur.evaluation.comparison.published import PublishedRows
    from napari_dpdeblur.evaluation.comparison.result_store import Row

INPUT, TRUTH = "input", "truth"


def write_comparison(
    benchmark: Benchmark,
    rows: Sequence[Row],
    known: PublishedRows,
    title: str,
    extra: Mapping[str, str] | None = None,
) -> list[str]:
    """Write tables, report and ``extra`` files into the benchmark's folder; returns their names."""
    lines = table_rows(rows, known)
    panels = [_panel(benchmark, scene, rows) for scene in benchmark.scenes]
    texts = {
        "table.csv": to_csv(lines),
        "table.md": to_markdown(lines, title),
        "report.html": build_page(title, [p for p in panels if p is not None], lines),
        **(extra or {}),
    }
    folder = benchmark.store.folder
    benchmark.store.make_folder()
    try:
        for name, text in texts.items():
            write_atomically(folder / name, text.encode())
    except OSError as error:
        raise EvaluationError(
            f"The report in {folder} cannot be written: {error.strerror or error}."
        ) from error
    return list(texts)


def _panel(benchmark: Benchmark, scene: str, rows: Sequence[Row]) -> ScenePanel | None:
    """The images of a scene; None if its capture cannot be opened."""
    try:
        captured = benchmark.captured(scene)
    except DpDeblurError:
        return None
    pictures = ScenePictures(captured, benchmark.truth(scene))
    layers = [layer(TRUTH, "Ground truth", pictures.of_truth())]
    for row in rows:
        if row.scene == scene:
            prediction = benchmark.store.prediction(row)
            drawn = pictures.of_method(prediction, row.alignment)
            entry = layer(row.method, row.label, drawn, prediction.layers)
            layers += [entry] if entry["pictures"] else []
    if INPUT not in [entry["name"] for entry in layers]:
        layers.append(layer(INPUT, "Input", pictures.of_input()))
    layers.sort(key=lambda entry: entry["name"] != INPUT)
    height, width = captured.shape[-2:]
    return ScenePanel(scene, pictures.defocus_scale, (height, width), layers)
