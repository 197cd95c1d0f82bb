"""The command line that repeats a fit."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from napari_dpdeblur.capture import open_capture
from napari_dpdeblur.cli.main import build_parser
from napari_dpdeblur.fitting.settings import FitSettings
from napari_dpdeblur.viewer.fit.command import fit_command


def test_pictures_are_read_by_the_command_as_in_the_window(tmp_path: Path):
    views = np.random.default_rng(0).integers(0, 60000, (2, 6, 8), dtype=np.uint16)
    paths = [tmp_path / "first.png", tmp_path / "second.png"]
    for path, view in zip(paths, views, strict=True):
        cv2.imencode(".png", view)[1].tofile(path)
    capture = open_capture(*paths, encoding="linear", white=62000, orientation="transposed")
    words = fit_command(capture, "lens.dpcal", FitSettings(), output="run").split()
    arguments = build_parser().parse_args(words[1:])
    again = open_capture(
        *arguments.capture,
        black=arguments.black_level,
        white=arguments.white_level,
        encoding=arguments.encoding,
        orientation=arguments.orientation,
    )
    np.testing.assert_array_equal(again.views, capture.views)
    assert again.source == capture.source


def test_other_formats_need_no_such_words(scene_capture, capture_files):
    command = fit_command(open_capture(capture_files[0]), None, FitSettings())
    assert "--encoding" not in command
