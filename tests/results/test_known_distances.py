"""Distances in metres from pixels of known distance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from napari_dpdeblur.datasets.synthetic.simulation import synthetic_calibration
from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.results.export import write_distance
from napari_dpdeblur.results.known_distances import (
    KNOWN_DISTANCES,
    KnownDistance,
    check_known_distances,
    constants_from,
    with_known_distances,
)
from napari_dpdeblur.results.tiff_files import read_image

A, B = 1.5, -1.2  # focus plane at 0.8 m


@pytest.fixture
def distances_m() -> np.ndarray:
    """A slope from 0.5 m at the left to 3 m at the right: (20, 30)."""
    return np.broadcast_to(np.linspace(0.5, 3.0, 30), (20, 30))


@pytest.fixture
def defocus_map(distances_m) -> np.ndarray:
    return (A + B / distances_m).astype(np.float32)


def test_the_constants_of_the_lens_come_back(defocus_map, distances_m):
    known = [KnownDistance(5, col, float(distances_m[5, col])) for col in (3, 15, 26)]
    a, b = constants_from(defocus_map, known)
    assert (a, b) == pytest.approx((A, B), rel=0.05)  # the median of 5 x 5 px of a slope


def test_outliers_next_to_the_pixel_do_not_count(defocus_map, distances_m):
    flat = np.where(np.arange(30) < 15, defocus_map[0, 3], defocus_map[0, 26]) * np.ones((20, 1))
    noisy = flat.astype(np.float32)
    noisy[5, 3] = 9.0
    known = [KnownDistance(5, col, float(distances_m[5, col])) for col in (3, 26)]
    assert constants_from(noisy, known) == pytest.approx((A, B), rel=1e-4)


def test_at_the_corners(defocus_map, distances_m):
    known = [KnownDistance(0, 0, 0.5), KnownDistance(19, 29, 3.0)]
    found = constants_from(defocus_map, known)
    assert found == pytest.approx((A, B), rel=0.25)  # the medians are one-sided there


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        ([(5, 3, 0.7)], "One known distance is not enough; give those of at least two points"),
        ([], "One known distance is not enough"),
        ([(5, 3, 0.7), (20, 3, 2.0)], "2 m at row 20, column 3 lies outside the result of 20 x 30"),
        ([(5, -1, 0.7), (6, 3, 2.0)], "0.7 m at row 5, column -1 lies outside"),
        ([(5, 3, 0.7), (6, 20, 0.7)], "are all about 0.7 m; choose points whose distances differ"),
        ([(5, 3, 0.0), (6, 20, 0.7)], "must be above 0 m, not 0"),
        ([(5, 3, float("inf")), (6, 20, 0.7)], "must be above 0 m, not inf"),
        ([(5, 3, 1e-320), (6, 20, 0.7)], "of 9.99989e-321 m is not possible; give it in metres"),
        ([(5, 3, 1e308), (6, 20, 0.7)], "between 0.001 and 1,000,000"),
        ([(5, 3, 3.0), (5, 26, 0.7)], "contradict the defocus map"),
        ([(5, 3, 0.7), (6, 3, 2.0)], "The defocus is the same"),
    ],
)
def test_distances_that_say_nothing(defocus_map, points, sentence):
    known = [KnownDistance(*point) for point in points]
    with pytest.raises(ResultError) as error:
        constants_from(defocus_map, known)
    assert sentence in str(error.value)


def test_they_are_checked_before_a_fit():
    with pytest.raises(ResultError, match="lies outside the result of 4 x 5 px"):
        check_known_distances([KnownDistance(4, 0, 1.0), KnownDistance(0, 0, 2.0)], (4, 5))


def test_a_result_gets_constants_and_distances(make_result, defocus_map, tmp_path):
    lens = synthetic_calibration(20, 30, 1, 1)
    plain = replace(make_result(), defocus_map=defocus_map, calibration=lens)
    assert plain.lens_constants is None
    assert plain.distance_map is None
    known = [KnownDistance(5, 3, 0.7586), KnownDistance(5, 26, 2.7414)]
    result = with_known_distances(plain, known)
    assert result.calibration.lens_constants == result.lens_constants
    assert result.calibration.content_hash() == lens.content_hash()
    assert result.provenance["calibration"]["lens_constants"] == list(result.lens_constants)
    assert result.provenance[KNOWN_DISTANCES][0] == [5, 3, 0.7586]
    assert result.distance_map[10, 26] == pytest.approx(2.74, abs=0.05)
    without_lens = replace(result, calibration=None)
    assert without_lens.lens_constants == result.lens_constants, "from the provenance"
    path = write_distance(tmp_path / "depth.tif", result.distance_map)
    np.testing.assert_array_equal(read_image(path)[0], result.distance_map)
    with pytest.raises(ResultError, match=r"depth.png has the wrong suffix for the distance map"):
        write_distance(tmp_path / "depth.png", result.distance_map)
