"""Run the notebooks of this folder and compare their outputs with the stored ones.

    python examples/run_notebooks.py [--write]

The exit status is 1 if a cell fails or its kinds of output change. ``--write`` stores the new
outputs instead.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient

HERE = Path(__file__).parent
KERNEL = "this_python"
TIMEOUT_S = 600


def executed(path: Path) -> Any:
    """Run a notebook with this interpreter, whatever kernels are installed."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        specification = {
            "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            "display_name": KERNEL,
            "language": "python",
            "env": {"OMP_WAIT_POLICY": "PASSIVE"},  # do not waste cores that are shared
        }
        (Path(folder) / KERNEL).mkdir()
        (Path(folder) / KERNEL / "kernel.json").write_text(json.dumps(specification))
        kernels = KernelSpecManager(kernel_dirs=[folder])
        client = NotebookClient(
            notebook, timeout=TIMEOUT_S, kernel_name=KERNEL, record_timing=False
        )
        client.create_kernel_manager()
        client.km.kernel_spec_manager = kernels
        metadata = notebook.metadata.copy()
        client.execute(cwd=folder)
        notebook.metadata = metadata
    return notebook


def without_noise(notebook: Any) -> Any:
    """Leave out bars and the warnings of other packages, and pictures that are there as PNG."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
            for output in cell.outputs:
                output.get("data", {}).pop("image/jpeg", None)
    return notebook


def kinds(notebook: Any) -> list[list[str]]:
    """For each cell, what kinds of output it has; numbers may differ between computers."""
    return [
        [
            kind
            for output in cell.get("outputs", [])
            for kind in sorted(output.get("data", ["text"]))
        ]
        for cell in notebook.cells
    ]


def main() -> int:
    """Run all; say which one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="store the new outputs")
    is_writing = parser.parse_args().write
    status = 0
    for path in sorted(HERE.glob("*.ipynb")):
        stored, new = nbformat.read(path, as_version=4), without_noise(executed(path))
        if is_writing:
            nbformat.write(new, path)
        elif kinds(new) != kinds(stored):
            print(f"{path.name} shows {kinds(new)}, but {kinds(stored)} is stored in it.")
            status = 1
        else:
            print(f"{path.name}: as stored")
    return status


if __name__ == "__main__":
    sys.exit(main())
