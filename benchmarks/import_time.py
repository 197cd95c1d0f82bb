"""Time of `import napari_dpdeblur`, compared with an interpreter that imports nothing.

    python benchmarks/import_time.py [--json] [--save]

Best of five new interpreters each. The limit for the package is 0.3 s.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time

from results_file import add_save_option, save_figures

REPEATS = 5
LIMIT_S = 0.3


def best_of(code: str) -> float:
    """Shortest wall time of a new interpreter that runs ``code``."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def measure() -> dict[str, float]:
    """Wall times in seconds and their difference."""
    empty, package = best_of("pass"), best_of("import napari_dpdeblur")
    return {
        "interpreter_s": round(empty, 4),
        "with_import_s": round(package, 4),
        "import_s": round(max(package - empty, 0.0), 4),
        "limit_s": LIMIT_S,
    }


def main() -> int:
    """Print the figures; the exit status is 1 when the limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_save_option(parser)
    options = parser.parse_args()
    figures = measure()
    if options.save:
        save_figures("import_time", figures)
    if options.json:
        print(json.dumps(figures))
    else:
        print("\n".join(f"{name:<16}{value}" for name, value in figures.items()))
    return int(figures["import_s"] > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
