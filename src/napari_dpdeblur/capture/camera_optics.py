"""CameraOptics: what is known about the lens and the sensor behind a capture, also from EXIF.

EXIF is a convenience: what is missing, damaged or absurd counts as unknown, never as an error.
"""

from __future__ import annotations

import io
import math
import struct
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import IO, Any

from PIL import ExifTags, Image

from napari_dpdeblur.errors import CaptureError
from napari_dpdeblur.files import open_regular

# How each number is called in messages, and the option that gives it.
_NEEDED = {
    "focal_length_mm": ("focal length", "--focal-length-mm"),
    "f_number": ("f-number", "--f-number"),
    "focus_distance_m": ("focus distance", "--focus-distance-m"),
    "pixel_pitch_um": ("pixel pitch", "--sensor-width-mm"),
}

# No camera lies beyond; such numbers come from damaged files and only overflow.
_POSSIBLE = {
    "focal_length_mm": (0.1, 1e5),
    "f_number": (0.1, 1e4),
    "focus_distance_m": (1e-3, 1e9),
    "pixel_pitch_um": (0.01, 1e6),
}
MAX_EXIF_BYTES = 1 << 20
FULL_FRAME_WIDTH_MM = 36.0
_TIFF_STARTS = (b"II*\0", b"MM\0*")
_PNG_START = b"\x89PNG\r\n\x1a\n"
_JPEG_START = b"\xff\xd8"
_JPEG_MARK = b"Exif\0\0"
_APP1, _START_OF_SCAN = 0xE1, 0xDA
_UNIT_MM = {2: 25.4, 3: 10.0, 4: 1.0, 5: 0.001}  # of the resolution of the focal plane
_INFINITE = 0xFFFFFFFF


@dataclass(frozen=True)
class CameraOptics:
    """Focal length, f-number, focus distance and pixel pitch of a capture; None: unknown.

    ``focus_distance_m`` is measured from the lens. ``pixel_pitch_um`` is the distance between
    columns of the capture on the sensor, so it is large for a capture that was reduced.
    """

    focal_length_mm: float | None = None
    f_number: float | None = None
    focus_distance_m: float | None = None
    pixel_pitch_um: float | None = None
    camera: str | None = None

    def __post_init__(self) -> None:
        for name, (words, _) in _NEEDED.items():
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise CaptureError(f"The {words} must be a number above 0, not {value:g}.")
            if value is not None and not _is_possible(name, value):
                least, most = _POSSIBLE[name]
                unit = {"mm": " mm", "m": " m", "um": " um"}.get(name.rpartition("_")[2], "")
                raise CaptureError(
                    f"The {words} of {value:g}{unit} is not possible; it must be between {least:g} "
                    f"and {most:g}{unit}."
                )
        if self.focal_length_mm and self.focus_distance_m:
            self._check_focus(self.focal_length_mm, self.focus_distance_m)

    @staticmethod
    def _check_focus(focal_length_mm: float, focus_distance_m: float) -> None:
        if 1e3 * focus_distance_m <= focal_length_mm:
            raise CaptureError(
                f"The focus distance of {focus_distance_m:g} m must be larger than the focal "
                f"length of {focal_length_mm:g} mm; give it in metres."
            )

    @property
    def is_complete(self) -> bool:
        """Whether the size of the blur follows from what is known."""
        return not self._missing

    @property
    def _missing(self) -> list[str]:
        return [name for name in _NEEDED if getattr(self, name) is None]

    @property
    def blur_at_infinity_px(self) -> float:
        """Diameter of the blur of an infinitely distant point, in px of the capture.

        Thin lens: c = (f / N) f / (s - f) on the sensor, with the focus distance s.
        """
        if self._missing:
            name, option = _NEEDED[self._missing[0]]
            raise CaptureError(
                f"The size of the blur cannot be computed because the {name} is unknown; give it "
                f"with {option}."
            )
        focal, f_number, focus_m, pitch_um = (float(getattr(self, name)) for name in _NEEDED)
        return focal / f_number * focal / (1e3 * focus_m - focal) / (1e-3 * pitch_um)

    def blur_diameter_px(self, distance_m: float) -> float:
        """Diameter of the blur of a point at this distance Z, in px: c abs(1 - s / Z)."""
        if not distance_m > 0:
            raise CaptureError(f"A distance must be above 0 m, not {distance_m:g}.")
        return self.blur_at_infinity_px * abs(1 - float(self.focus_distance_m or 0) / distance_m)

    def updated(self, other: CameraOptics | None) -> CameraOptics:
        """These optics with everything that ``other`` knows."""
        return self if other is None else replace(self, **other.known())

    def known(self) -> dict[str, Any]:
        """What is known, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def describe(self) -> dict[str, Any]:
        """Everything known as plain values, with the size of the blur if it follows."""
        values = {
            name: value if isinstance(value, str) else float(f"{value:.6g}")
            for name, value in self.known().items()
        }
        if self.is_complete:
            values["blur_at_infinity_px"] = round(self.blur_at_infinity_px, 3)
        return values

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> CameraOptics:
        """The optics in a description, such as that of a run; other entries are ignored."""
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in names})


def _is_possible(name: str, value: float) -> bool:
    least, most = _POSSIBLE[name]
    return least <= value <= most


def read_optics(path: Path, width_px: int) -> CameraOptics | None:
    """The optics that a file names; None if it names nothing.

    ``width_px`` is the number of columns of the capture as stored, which may be reduced.
    """
    try:
        with warnings.catch_warnings(), open_regular(path) as (file, _):
            warnings.simplefilter("ignore")  # of damaged EXIF data
            tags = _read_tags(file)
        optics = _optics_of(tags, width_px)
    except Exception:  # damaged EXIF data makes the parser fail in many ways
        return None
    return optics if optics.known() else None


def read_orientation(path: Path) -> int:
    """The EXIF orientation of a picture, 1 to 8; 1, upright, if it is unknown."""
    try:
        with warnings.catch_warnings(), open_regular(path) as (file, _):
            warnings.simplefilter("ignore")  # of damaged EXIF data
            found = int(_read_tags(file).get(ExifTags.Base.Orientation, 1))
    except Exception:  # damaged EXIF data makes the parser fail in many ways
        return 1
    return found if 1 <= found <= 8 else 1


def _read_tags(file: IO[bytes]) -> dict[int, Any]:
    exif = Image.Exif()
    start = file.read(8)
    file.seek(0)
    if start[:4] in _TIFF_STARTS:
        exif.load_from_fp(file)
    elif blob := _find_blob(file, start):
        exif.load_from_fp(io.BytesIO(blob))
    else:
        return {}
    return {**exif, **exif.get_ifd(ExifTags.IFD.Exif)}


def _find_blob(file: IO[bytes], start: bytes) -> bytes:
    if start == _PNG_START:
        return _png_blob(file)
    return _jpeg_blob(file) if start.startswith(_JPEG_START) else b""


def _png_blob(file: IO[bytes]) -> bytes:
    """Content of the chunk eXIf, which may stand before or after the pixels."""
    file.seek(len(_PNG_START))
    while len(head := file.read(8)) == 8:
        length, kind = struct.unpack(">I4s", head)
        if kind == b"eXIf":
            return file.read(min(length, MAX_EXIF_BYTES))
        file.seek(length + 4, io.SEEK_CUR)
    return b""


def _jpeg_blob(file: IO[bytes]) -> bytes:
    file.seek(len(_JPEG_START))
    while len(head := file.read(4)) == 4 and head[0] == 0xFF and head[1] != _START_OF_SCAN:
        body = file.read(int.from_bytes(head[2:], "big") - 2)
        if head[1] == _APP1 and body.startswith(_JPEG_MARK):
            return body[len(_JPEG_MARK) :]
    return b""


def _optics_of(tags: dict[int, Any], width_px: int) -> CameraOptics:
    names = (tags.get(ExifTags.Base.Make), tags.get(ExifTags.Base.Model))
    focal = _positive(tags.get(ExifTags.Base.FocalLength))
    values = {
        "focal_length_mm": focal,
        "f_number": _positive(tags.get(ExifTags.Base.FNumber)),
        "focus_distance_m": _distance(tags.get(ExifTags.Base.SubjectDistance)),
        "pixel_pitch_um": _pitch_um(tags, focal, width_px),
    }
    values = {name: v for name, v in values.items() if v is not None and _is_possible(name, v)}
    try:
        return CameraOptics(**values, camera=_camera(*names))
    except CaptureError:  # a focus distance within the lens
        return CameraOptics(**{**values, "focus_distance_m": None}, camera=_camera(*names))


def _camera(make: Any, model: Any) -> str | None:
    """Make and model, without repeating the make."""
    words = [str(part).strip("\0 ") for part in (make, model) if part]
    if len(words) == 2 and words[1].lower().startswith(words[0].lower()):
        words = words[1:]
    return " ".join(words) or None


def _positive(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, ZeroDivisionError):
        return None
    return number if 0 < number < math.inf else None


def _distance(value: Any) -> float | None:
    """A distance in metres; 0 and infinity (all bits of the numerator set) count as unknown."""
    is_infinite = getattr(value, "numerator", 0) == _INFINITE
    return None if is_infinite else _positive(value)


def _pitch_um(tags: dict[int, Any], focal: float | None, width_px: int) -> float | None:
    """Pitch of the stored columns: from the resolution of the sensor, else from the crop factor.

    The resolution is that of the original picture, whose width EXIF keeps when it is reduced.
    """
    per_unit = _positive(tags.get(ExifTags.Base.FocalPlaneXResolution))
    unit_mm = _UNIT_MM.get(tags.get(ExifTags.Base.FocalPlaneResolutionUnit, 2))
    if per_unit is not None and unit_mm is not None:
        original_px = _positive(tags.get(ExifTags.Base.ExifImageWidth)) or float(width_px)
        return 1e3 * unit_mm / per_unit * original_px / width_px
    equivalent = _positive(tags.get(ExifTags.Base.FocalLengthIn35mmFilm))
    if equivalent is None or focal is None:
        return None
    return 1e3 * FULL_FRAME_WIDTH_MM * focal / equivalent / width_px
