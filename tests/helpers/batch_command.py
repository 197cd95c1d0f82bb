"""The arguments of a small batch."""

from __future__ import annotations

from pathlib import Path


def command_of(captures: Path, calibration_path: Path, output: Path, *options: str) -> list[str]:
    """Arguments of the command line for a quick batch."""
    given = ["batch", str(captures), "--calibration", str(calibration_path), "-o", str(output)]
    return [*given, "--preset", "preview", "--layers", "4", *options]
