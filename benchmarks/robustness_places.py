"""Commands at places and with streams that fail: one sentence, no traceback, nothing left behind.

    python benchmarks/robustness_places.py [--rounds 20] [--seed 0] [--save]

Each round makes every kind of place anew, with random names, and gives it to every command as input
and as output: names and paths that are too long, bytes that are no text, dangling, circular and
leading links, pipes, files in place of folders, folders without permissions (root gives up its
rights with `setpriv`), and the home of nobody. The streams are closed, full or ASCII at random.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from napari_dpdeblur.cli import main as command
from results_file import add_save_option, save_figures

# {p}: the place, {s}: a simulated capture, {o}: an output that does not exist.
LENS = "--calibration {s}/synthetic.dpcal"
SHOTS = "--discs {s} --white {s} --black {s}"
INPUTS = (
    "info {p}",
    "info {p}/a_left.pgm",
    "info {p}/a_left.pgm {p}/a_right.pgm",
    "convert {p} -o {o}",
    f"fit {{p}} {LENS} -o {{o}}",
    "fit {s} --calibration {p} -o {o}",
    "fit {s} --calibration {p}/lens.dpcal -o {o}",
    f"fit {{s}} {LENS} -o {{o}} --settings {{p}}/a.yaml",
    f"fit {{s}} {LENS} -o {{o}} --photo {{p}}/a.png",
    f"fit {{s}} {LENS} -o {{o}} --photo {{p}}",
    "calibrate estimate {p} -o {o}.dpcal",
    f"batch {{p}} {LENS} -o {{o}}",
    f"batch {{p}}/a_left.pgm {LENS} -o {{o}}",
    "batch {s} --calibration {p}/lens.dpcal -o {o}",
    f"render {{p}} {LENS} -o {{o}}",
    f"render {{p}}/mpi.tif {LENS} -o {{o}}",
    "evaluate {p} --sharp {s}/synthetic_all_in_focus.tif",
    "evaluate {s} --sharp {p}/a.png",
    f"baseline wiener {{p}} {LENS} -o {{o}}",
    f"baseline onnx {{s}} {LENS} -o {{o}} --model {{p}}/a.onnx",
    "benchmark {p} -o {o}",
    "ablation {p} -o {o}",
    "focus-stack {p} -o {o} --name 1",
    "focus-stack {p}/a.png -o {o} --name 1",
    "calibrate run --discs {p} --white {p} --black {p} --target {s}/none -o {o}",
    f"calibrate run {SHOTS} --target {{p}}/target.json -o {{o}}",
    "calibrate show {p}",
    "calibrate show {p}/lens.dpcal",
    "calibrate distance {p}/lens.dpcal --constants 1 2",
)
OUTPUTS = (
    "convert {s} -o {p}/x",
    f"fit {{s}} {LENS} -o {{p}}/x",
    f"fit {{s}} {LENS} -o {{p}}/x/deeper",
    f"batch {{s}} {LENS} -o {{p}}/x",
    "simulate -o {p}/x",
    f"baseline wiener {{s}} {LENS} -o {{p}}/x",
    "focus-stack {s}/synthetic_all_in_focus.tif -o {p}/x --name 1",
    "demo -o {p}/x --headless",
    "calibrate target --screen 640x480 --pitch 32 -o {p}/x",
    "calibrate simulate -o {p}/x",
    f"calibrate run {SHOTS} --target {{s}}/none -o {{p}}/x.dpcal",
)

# One command after the other in one process; a traceback is a status, too.
PROGRAM = """
import json, sys, traceback
from napari_dpdeblur.cli import main
from napari_dpdeblur.cli.streams import prepare_streams
prepare_streams()  # otherwise a file below would get the number of a closed stream
answers = open(sys.argv[1], "w")
for line in open(sys.argv[2]):
    try:
        status = main(json.loads(line))
    except SystemExit as stop:
        status = stop.code
    except BaseException:
        status = traceback.format_exc()
    answers.write(json.dumps(status) + "\\n")
    answers.flush()
"""
STREAMS = ("", "2>&-", ">&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full", ">/dev/full 2>/dev/full")


def long_name(folder: Path, choose: random.Random) -> str:
    return str(folder / (choose.choice("n焦é") * choose.randint(256, 400)))


def long_path(folder: Path, choose: random.Random) -> str:
    return str(folder.joinpath(*["n" * choose.randint(100, 250)] * 45))


def odd_bytes(folder: Path, choose: random.Random) -> str:
    name = bytes(choose.choice(b"\xff\xe9\x80\n\t\"'\\*?;|") for _ in range(choose.randint(1, 40)))
    return os.fsdecode(os.fsencode(folder) + b"/" + name)


def dangling_link(folder: Path, choose: random.Random) -> str:
    (folder / "dangling").symlink_to("nowhere/at/all")
    return str(folder / choose.choice(("dangling", "dangling/deeper")))


def circular_link(folder: Path, choose: random.Random) -> str:
    (folder / "circle").symlink_to("circle")
    return str(folder / "circle")


def leading_links(folder: Path, choose: random.Random) -> str:
    place, outside = folder / "links", folder / "outside"
    place.mkdir()
    outside.write_text(PRECIOUS)  # never a file of the system: a broken promise would damage it
    for name in NAMES:
        (place / name).symlink_to(outside)
    return str(place)


def pipes(folder: Path, choose: random.Random) -> str:
    place = folder / "pipes"
    place.mkdir()
    for name in NAMES:
        os.mkfifo(place / name)
    return str(place)


def file_in_the_way(folder: Path, choose: random.Random) -> str:
    (folder / "file").write_bytes(choose.randbytes(choose.choice((0, 1, 1000))))
    return str(folder / "file")


def locked(folder: Path, choose: random.Random) -> str:
    place = folder / "locked"
    place.mkdir()
    for name in NAMES:
        (place / name).write_bytes(b"P5 1 1 65535 ab")
    place.chmod(choose.choice((0o000, 0o100, 0o200, 0o400, 0o600)))
    return str(place)


def nobody(folder: Path, choose: random.Random) -> str:
    return "~nosuchuser"


PRECIOUS = "precious"
NAMES = ("a_left.pgm", "a_right.pgm", "lens.dpcal", "mpi.tif", "a.png", "a.yaml", "target.json")
PLACES: tuple[Callable[[Path, random.Random], str], ...] = (
    long_name,
    long_path,
    odd_bytes,
    dangling_link,
    circular_link,
    leading_links,
    pipes,
    file_in_the_way,
    locked,
    nobody,
)


# Where nothing can be written; the others are wrong as inputs only.
NO_OUTPUTS = (long_name, long_path, dangling_link, circular_link, file_in_the_way, locked)


def attempt(
    make: Callable[[Path, random.Random], str], simulated: Path, choose: random.Random
) -> list[str]:
    """Run every command at one place; returns what broke a promise."""
    folder = Path(tempfile.mkdtemp(prefix="dpdeblur-places-"))
    try:
        names = {"p": make(folder, choose), "s": str(simulated), "o": str(folder / "output")}
        outputs = OUTPUTS if make in NO_OUTPUTS else ()
        commands = [
            [word.format(**names) for word in words.split(" ")] for words in (*INPUTS, *outputs)
        ]
        before = {path.name for path in folder.iterdir()}
        statuses, notes = run(commands, folder, choose.choice(STREAMS), choose)
        outside = folder / "outside"
        is_damaged = outside.exists() and outside.read_text(errors="replace") != PRECIOUS
        left = {path.name for path in folder.iterdir()} - before - {"answers", "commands"}
        damage = [f"{make.__name__}: a link was written through"] * is_damaged
        return damage + _broken(make.__name__, commands, statuses, notes, left)
    finally:
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
        shutil.rmtree(folder)


def run(
    commands: Sequence[Sequence[str]], folder: Path, streams: str, choose: random.Random
) -> tuple[list[object], str]:
    """Exit status of each command, and all that was printed on standard error."""
    answers, given = folder / "answers", folder / "commands"
    given.write_text("".join(json.dumps(list(words)) + "\n" for words in commands))
    encoding = {"PYTHONIOENCODING": choose.choice(("ascii", "utf-8"))}
    words = [*_without_rights(), sys.executable, "-c", PROGRAM, str(answers), str(given)]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {streams}', "sh", *words],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=600,
        check=False,
        env={**os.environ, **encoding},
    )
    return [json.loads(line) for line in answers.read_text().splitlines()], done.stderr


def _without_rights() -> list[str]:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        return []
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


def _broken(
    place: str,
    commands: Sequence[Sequence[str]],
    statuses: Sequence[object],
    notes: str,
    left: set[str],
) -> list[str]:
    broken = [
        f"{place}: {' '.join(words)[:200]}: {status}"
        for words, status in zip(commands, statuses, strict=False)
        if status != 2
    ]
    if len(statuses) != len(commands):
        broken.append(f"{place}: the process ended after {len(statuses)} commands: {notes[-500:]}")
    if "Traceback" in notes or "libpng" in notes:
        broken.append(f"{place}: {notes[-500:]}")
    if left:
        broken.append(f"{place}: {', '.join(sorted(left))} was left behind")
    return broken


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what broke a promise; 1 if anything did."""
    parser = argparse.ArgumentParser(description="Commands at places that fail.")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="random seed")
    add_save_option(parser)
    options = parser.parse_args(arguments)
    choose = random.Random(options.seed)
    broken: list[str] = []
    with tempfile.TemporaryDirectory(prefix="dpdeblur-simulated-") as scratch:
        simulated = Path(scratch) / "simulated"
        command(["simulate", "-o", str(simulated), "--size", "128x96", "--json"])
        for _ in range(options.rounds):
            for make in PLACES:
                broken += attempt(make, simulated, choose)
    print(*broken, sep="\n")
    each = len(PLACES) * len(INPUTS) + len(NO_OUTPUTS) * len(OUTPUTS)
    tried = options.rounds * each
    print(f"{tried} commands, {len(broken)} promises broken")
    if options.save:
        save_figures("robustness_places", {"commands": tried, "broken": len(broken)})
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
