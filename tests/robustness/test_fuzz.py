"""Damaged and arbitrary bytes: only the project's own errors (the long version: tox -e soak)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("resource", reason="limits memory as only POSIX systems can")

import robustness_seeds as seeds
from napari_dpdeblur.capture.image_file import parse_image_header
from napari_dpdeblur.capture.pgm import read_pgm, write_pgm_pair
from napari_dpdeblur.errors import CaptureError, DpDeblurError, SettingsError
from napari_dpdeblur.files.plain import parse_json, parse_yaml
from napari_dpdeblur.fitting.settings import FitSettings
from robustness_fuzz import READERS, fuzz
from robustness_mutate import damaged

FEW = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_are_refused_or_read(name: str, tmp_path: Path) -> None:
    outcome = fuzz(name, 60, tmp_path, seed=1)
    assert not outcome.broken
    assert outcome.refused > 0, "the damage does not reach the reader"


def test_the_damage_depends_on_the_seed_alone() -> None:
    content = bytes(range(256))
    first, second = (damaged(content, content, "one") for _ in range(2))
    assert first == second != content
    assert len({damaged(content, content, str(n)) for n in range(50)}) > 40


@pytest.mark.parametrize(
    ("name", "make"), [("app-pair", seeds.app_pair), ("settings", seeds.settings_file)]
)
def test_a_reader_that_lets_anything_through_is_caught(
    name: str, make: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fuzzer can fail: here the reader raises what it must not."""
    reader = READERS[name]

    def careless(folder: Path) -> None:
        try:
            reader.read(folder)
        except DpDeblurError as error:
            raise IndexError(str(error)) from error

    monkeypatch.setitem(READERS, name, type(reader)(make, careless))
    assert fuzz(name, 20, tmp_path).broken


@FEW
@given(content=st.binary(max_size=400))
def test_any_bytes_as_a_picture(content: bytes, tmp_path: Path) -> None:
    parse_image_header(content)
    parse_image_header(b"\x89PNG\r\n\x1a\n" + content)
    parse_image_header(b"\xff\xd8" + content)
    path = tmp_path / "a_left.pgm"
    path.write_bytes(b"P5 " + content)
    with pytest.raises(CaptureError):
        read_pgm(path)


@FEW
@given(
    width=st.integers(-1, 10**12),
    height=st.integers(-1, 10**12),
    largest=st.integers(-1, 10**6),
    gap=st.sampled_from([b" ", b"\n", b"\t# text\n", b"", b"\0"]),
    data=st.binary(max_size=64),
)
def test_any_header_of_a_pgm(
    width: int, height: int, largest: int, gap: bytes, data: bytes, tmp_path: Path
) -> None:
    words = (b"P5", *(str(number).encode() for number in (width, height, largest)))
    path = tmp_path / "a_left.pgm"
    path.write_bytes(gap.join(words) + b" " + data)
    try:
        pixels, header = read_pgm(path)
    except CaptureError:
        return
    assert pixels.shape == (height, width) == (header.height, header.width)


def complaint(work: Callable[[], object]) -> str:
    """What is said about wrong settings; nothing about good ones."""
    try:
        work()
    except SettingsError as error:
        return str(error)
    return ""


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@FEW
@given(text=st.text(max_size=200))
def test_any_text_as_yaml_json_and_settings(text: str) -> None:
    for parse in (parse_yaml, parse_json):
        try:
            parse(text)
        except ValueError:
            continue
    assert "\n" not in complaint(lambda: FitSettings.from_yaml(text))


@FEW
@given(values=st.dictionaries(st.sampled_from(list(FitSettings.model_fields)), plain, max_size=5))
def test_any_values_as_settings(values: dict[str, object]) -> None:
    assert len(complaint(lambda: FitSettings.of(values))) < 600


def test_good_files_are_still_read(tmp_path: Path) -> None:
    pixels = seeds.pixels(seeds.np.uint16)
    left, _ = write_pgm_pair(tmp_path, "a", pixels, pixels)
    assert (read_pgm(left)[0] == pixels).all()
