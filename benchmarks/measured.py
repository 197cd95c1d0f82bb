"""Wall time and peak memory of a command of this package, run in a separate process."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

CODE = "from napari_dpdeblur.cli import main; raise SystemExit(main())"


def run_measured(arguments: Sequence[str]) -> tuple[float, float]:
    """Time in s and memory in GB of `napari-dpdeblur ARGUMENTS`, which must succeed.

    On Linux a child inherits its parent's peak, here at most 0.3 GB: too high for tiny commands,
    but below that of any fit.
    """
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            [*_program(), *arguments], stdout=output, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        elapsed_s = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            output.seek(0)
            sys.exit(f"{' '.join(arguments)} failed:\n{output.read().decode(errors='replace')}")
    return elapsed_s, gigabytes(usage)


def gigabytes(usage: resource.struct_rusage) -> float:
    """Peak resident memory; Linux counts in kB, macOS in bytes."""
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9


def _program() -> list[str]:
    """The command installed with this interpreter, so that no other installation is measured."""
    script = shutil.which("napari-dpdeblur", path=str(Path(sys.executable).parent))
    return [script] if script else [sys.executable, "-c", CODE]
