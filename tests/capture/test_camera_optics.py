from __future__ import annotations

import numpy as np
import pytest
from PIL import ExifTags, Image
from PIL.TiffImagePlugin import IFDRational

from napari_dpdeblur.capture import CameraOptics, open_capture
from napari_dpdeblur.capture.camera_optics import read_optics
from napari_dpdeblur.errors import CaptureError

CANON = CameraOptics(50.0, 4.0, 1.0, 1e3 * 36 / 768, "Canon EOS R6 Mark II")


@pytest.mark.parametrize("distance_m", [0.6, 0.9, 1.5, 4.0])
def test_blur_of_the_published_canon(distance_m):
    blur = CANON.blur_diameter_px(distance_m)
    assert blur == pytest.approx(14.1 * abs(1 - 1 / distance_m), rel=0.006)


def test_blur_vanishes_at_the_focus_and_grows_to_its_limit():
    assert CANON.blur_diameter_px(1.0) == 0
    assert CANON.blur_diameter_px(1e9) == pytest.approx(CANON.blur_at_infinity_px)
    # Similar triangles: aperture 12.5 mm, image planes of 1 m and infinity 2.63 mm apart.
    sensor_mm = 12.5 * (50 * 1000 / 950 - 50) / 50
    assert CANON.blur_at_infinity_px == pytest.approx(sensor_mm / (36 / 768))


@pytest.mark.parametrize(
    ("missing", "option"),
    [
        ("focal_length_mm", "--focal-length-mm"),
        ("f_number", "--f-number"),
        ("focus_distance_m", "--focus-distance-m"),
        ("pixel_pitch_um", "--sensor-width-mm"),
    ],
)
def test_what_is_missing_is_named(missing, option):
    known = {name: value for name, value in CANON.known().items() if name != missing}
    optics = CameraOptics(**known)
    assert not optics.is_complete
    with pytest.raises(CaptureError, match=f"is unknown; give it with {option}"):
        optics.blur_diameter_px(2)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_absurd_values(value):
    with pytest.raises(CaptureError, match="The f-number must be a number above 0, not"):
        CameraOptics(f_number=value)
    with pytest.raises(CaptureError, match="distance"):
        CANON.blur_diameter_px(-abs(value))


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("f_number", 1e-12, "The f-number of 1e-12 is not possible; it must be between 0.1 and"),
        ("focal_length_mm", 1e300, "focal length of 1e[+]300 mm is not possible"),
        ("focus_distance_m", 1e-320, "is not possible; it must be between 0.001 and 1e[+]09 m"),
        ("pixel_pitch_um", 1e-9, "The pixel pitch of 1e-09 um is not possible"),
    ],
)
def test_numbers_that_only_overflow(name, value, sentence):
    with pytest.raises(CaptureError, match=sentence):
        CameraOptics(**{name: value})


def test_focus_distance_in_the_wrong_unit():
    with pytest.raises(CaptureError, match=r"0\.01 m must be larger than the focal length of 50 m"):
        CameraOptics(focal_length_mm=50, focus_distance_m=0.01)


def test_what_is_given_replaces_what_is_known(make_capture):
    capture = make_capture(np.ones((2, 1, 4, 768), np.uint16), optics=CameraOptics(35.0, 2.0))
    capture = capture.with_optics(sensor_width_mm=36.0, f_number=4.0, focus_distance_m=None)
    assert capture.optics == CameraOptics(35.0, 4.0, None, 46.875)
    assert capture.describe()["optics"] == {
        "focal_length_mm": 35.0,
        "f_number": 4.0,
        "pixel_pitch_um": 46.875,
    }
    assert capture.with_orientation("transposed").with_optics(sensor_width_mm=36).optics == (
        capture.optics
    )


def test_unknown_optics_are_not_described(make_capture):
    capture = make_capture(np.ones((2, 1, 4, 8), np.uint16)).with_optics(f_number=None)
    assert capture.optics is None
    assert "optics" not in capture.describe()


def test_a_description_can_be_read_again():
    assert CameraOptics.of(CANON.describe()) == CANON


def _exif(**tags: object) -> Image.Exif:
    exif = Image.Exif()
    exif[ExifTags.Base.Make] = "Canon"
    exif[ExifTags.Base.Model] = "Canon EOS R6m2"
    exif[ExifTags.IFD.Exif] = {getattr(ExifTags.Base, name): value for name, value in tags.items()}
    return exif


FULL = {
    "FocalLength": IFDRational(50, 1),
    "FNumber": IFDRational(4, 1),
    "SubjectDistance": IFDRational(100, 100),
    "FocalPlaneXResolution": IFDRational(6000, 36),
    "FocalPlaneResolutionUnit": 4,
    "ExifImageWidth": 6000,
}


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".tif"])
def test_optics_from_exif(tmp_path, views, suffix):
    for word, view in zip("lr", views(), strict=True):
        Image.fromarray(view).save(tmp_path / f"{word}{suffix}", exif=_exif(**FULL).tobytes())
    optics = open_capture(tmp_path).optics
    assert optics is not None
    assert optics.known() == pytest.approx(
        {
            "focal_length_mm": 50.0,
            "f_number": 4.0,
            "focus_distance_m": 1.0,
            "pixel_pitch_um": 1e3 * 36 / 90,  # the picture was reduced from 6000 to 90 columns
            "camera": "Canon EOS R6m2",
        }
    )
    assert optics.is_complete


def test_pitch_from_the_crop_factor(tmp_path, views):
    exif = _exif(FocalLength=IFDRational(438, 100), FocalLengthIn35mmFilm=27)
    Image.fromarray(views()[0]).save(tmp_path / "l.jpg", exif=exif)
    optics = read_optics(tmp_path / "l.jpg", 4032)
    assert optics is not None
    assert optics.pixel_pitch_um == pytest.approx(1.45, rel=0.01)


@pytest.mark.parametrize(
    "tags",
    [
        {"FNumber": IFDRational(0, 0), "SubjectDistance": IFDRational(0xFFFFFFFF, 1)},
        {"FocalLength": IFDRational(50, 1), "SubjectDistance": IFDRational(1, 100)},
        {"FocalPlaneXResolution": IFDRational(0, 1), "FocalPlaneResolutionUnit": 77},
    ],
)
def test_absurd_exif_counts_as_unknown(tmp_path, views, tags):
    Image.fromarray(views()[0]).save(tmp_path / "l.jpg", exif=_exif(**tags))
    optics = read_optics(tmp_path / "l.jpg", 90)
    assert optics is not None
    assert set(optics.known()) <= {"camera", "focal_length_mm"}


def test_files_without_exif(tmp_path, views, app_pair):
    Image.fromarray(views()[0]).save(tmp_path / "l.jpg")
    assert read_optics(tmp_path / "l.jpg", 90) is None
    assert open_capture(app_pair[0]).optics is None
    assert read_optics(tmp_path / "missing.jpg", 90) is None


def test_damaged_exif_is_no_error(tmp_path, views):
    Image.fromarray(views()[0]).save(tmp_path / "l.jpg", exif=_exif(**FULL).tobytes())
    content = (tmp_path / "l.jpg").read_bytes()
    start = content.index(b"Exif\0\0") + 6
    for cut in range(4, 200, 7):
        damaged = content[: start + cut] + b"\xff" * 20 + content[start + cut + 20 :]
        (tmp_path / "l.jpg").write_bytes(damaged)
        read_optics(tmp_path / "l.jpg", 90)
        (tmp_path / "l.jpg").write_bytes(content[: start + cut])
        read_optics(tmp_path / "l.jpg", 90)


def test_impossible_numbers_in_exif_count_as_unknown(tmp_path, views):
    tags = {**FULL, "FNumber": IFDRational(1, 10**6)}
    for word, view in zip("lr", views(), strict=True):
        Image.fromarray(view).save(tmp_path / f"{word}.png", exif=_exif(**tags).tobytes())
    optics = open_capture(tmp_path).optics
    assert optics is not None
    assert optics.f_number is None
    assert optics.focal_length_mm == 50.0
