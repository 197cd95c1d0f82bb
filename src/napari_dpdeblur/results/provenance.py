"""Read and write `run.yaml`, the provenance of a result."""

from __future__ import annotations

import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import yaml

from napari_dpdeblur.errors import ResultError
from napari_dpdeblur.files import read_regular
from napari_dpdeblur.files.plain import parse_yaml
from napari_dpdeblur.files.reading import accessing
from napari_dpdeblur.results.provenance_check import invalid_entry

FORMAT = "napari-dpdeblur run"
FORMAT_VERSION = 2  # 1: with layers that are not compressed
READABLE_VERSIONS = (1, FORMAT_VERSION)
MAX_BYTES = 64_000_000
PACKAGES = (
    "napari-dpdeblur",
    "torch",
    "numpy",
    "scipy",
    "scikit-image",
    "tifffile",
)
# Any of these provides cv2; an environment may have another one than the dependency.
OPENCV_PACKAGES = (
    "opencv-python-headless",
    "opencv-python",
    "opencv-contrib-python-headless",
    "opencv-contrib-python",
)


def software_versions() -> dict[str, str]:
    """Versions of all software that can affect a result."""
    versions = {"python": platform.python_version(), "platform": platform.platform()}
    for name in PACKAGES:
        versions[name] = _version(name) or "not installed as a package"
    return versions | _opencv_versions()


def _opencv_versions() -> dict[str, str]:
    """The OpenCV packages that are installed; a build from source is named opencv."""
    found = {name: version for name in OPENCV_PACKAGES if (version := _version(name))}
    return found or {"opencv": cv2.__version__}


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def write_provenance(path: Path, provenance: dict[str, Any]) -> None:
    """Write `provenance`, preceded by format name and version."""
    content = {"format": FORMAT, "format_version": FORMAT_VERSION, **_plain(provenance, "run")}
    text = yaml.dump(content, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=100)
    path.write_text(text, encoding="utf-8")


def read_provenance(path: Path) -> dict[str, Any]:
    """Read `run.yaml`; only plain values are accepted, so it cannot execute code."""
    with accessing(path, ResultError):
        if not path.is_file():
            raise ResultError(f"{path.parent} is not a run folder: it has no {path.name}.")
    try:
        content = parse_yaml(read_regular(path, MAX_BYTES).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _unreadable(path, "it is not plain YAML") from error
    except ValueError as error:
        raise _unreadable(path, str(error)) from error
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    return _without_header(path, content)


def _without_header(path: Path, content: Any) -> dict[str, Any]:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _unreadable(path, f"it does not start with 'format: {FORMAT}'")
    version = content.get("format_version")
    if version not in READABLE_VERSIONS:
        raise ResultError(
            f"{path} has format version {version}, but only versions 1 and {FORMAT_VERSION} "
            "are supported; update napari-dpdeblur."
        )
    if (wrong := invalid_entry(content)) is not None:
        raise _unreadable(path, wrong)
    return {key: content[key] for key in content if key not in ("format", "format_version")}


def _plain(value: Any, name: str) -> Any:
    """Convert NumPy values, tuples and paths to plain YAML values."""
    if value is None or isinstance(value, bool | int | float | str):
        # A subclass, such as numpy.float64 or a string enumeration, is reduced to its base.
        plain = next((t(value) for t in (bool, int, float, str) if isinstance(value, t)), None)
        return _encodable(plain) if isinstance(plain, str) else plain
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Path):
        return _encodable(str(value))
    if isinstance(value, dict):
        return {str(key): _plain(item, f"{name}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, name) for item in value]
    raise ResultError(
        f"The provenance entry {name} has type {type(value).__name__}, which run.yaml cannot "
        "store; use numbers, text, lists and mappings."
    )


def _encodable(text: str) -> str:
    """Text with escapes for bytes of a file name that are not UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _unreadable(path: Path, reason: str) -> ResultError:
    return ResultError(
        f"{path} cannot be read because {reason}; use the original file or repeat the fit."
    )


# The C version is twenty times faster on a long loss history, but not always available.
_BaseDumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_BaseDumper):  # type: ignore[misc]
    """Writes no aliases, because the reader refuses them."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
