"""The code blocks of a Markdown page, and how they are run."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from napari_dpdeblur.cli.main import PROGRAM, main

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\S*)\s*$")
MARKER = re.compile(r"^ *<!-- (?P<text>.*) -->$")
NEEDS_A_SHELL = re.compile(r"[|&;<>$*~`]")
RUN = ("python", "sh", "console")
SHOWN = ("text", "yaml", "bibtex", "{toctree}", "{eval-rst}")
PROMPT, MORE = "$ ", "> "
# Starts processes and a server of its own, whose warnings would become errors here.
IN_A_CHILD = {"batch"}


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the number of its first line, the marker above."""

    page: Path
    line: int
    language: str
    text: str
    marker: str

    @property
    def place(self) -> str:
        """For messages."""
        return f"{self.page.name}:{self.line}"


def blocks_of(page: Path) -> Iterator[Block]:
    """All fenced blocks of a page, in order."""
    lines = page.read_text("utf-8").splitlines()
    opened: tuple[int, str] | None = None
    for number, line in enumerate(lines):
        fence = FENCE.match(line)
        if fence is None:
            continue
        if opened is None:
            opened = number, fence["language"]
            continue
        start, language = opened
        text = textwrap.dedent("\n".join(lines[start + 1 : number]))
        marker = MARKER.match(lines[start - 1]) if start else None
        yield Block(page, start + 2, language, text, marker["text"] if marker else "")
        opened = None
    if opened is not None:
        raise ValueError(f"{page}:{opened[0] + 1}: a block that does not end")


def commands_of(block: Block) -> list[tuple[str, str | None]]:
    """Commands of a shell block; in a console block each with the output that is shown."""
    if block.language == "sh":
        joined = re.sub(r"\\\n\s*", " ", block.text)
        words = (" ".join(shlex.split(line, comments=True)) for line in joined.splitlines())
        kept = zip(joined.splitlines(), words, strict=True)
        return [(line, None) for line, plain in kept if plain]
    found: list[tuple[str, str]] = []
    for line in block.text.splitlines():
        if line.startswith(PROMPT):
            found.append((line.removeprefix(PROMPT), ""))
        elif line.startswith(MORE) and found and not found[-1][1]:
            found[-1] = (found[-1][0].rstrip("\\") + line.removeprefix(MORE), "")
        else:
            found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return [(command, output or None) for command, output in found]


def run_block(block: Block, names: dict[str, object], printed: Callable[[], str]) -> None:
    """Run a block in the current folder; ``printed`` gives what was printed since the last call."""
    if block.language == "python":
        # empty lines before it, so that a traceback names the line of the page
        code = "\n" * (block.line - 1) + block.text
        exec(compile(code, str(block.page), "exec"), names)
        return
    for command, shown in commands_of(block):
        printed()
        output = run_command(command, block.place, printed)
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        if shown is not None and not doctest.OutputChecker().check_output(shown, output, flags):
            raise AssertionError(f"{block.place}: `{command}` printed\n{output}\nand not\n{shown}")


def run_command(command: str, place: str, printed: Callable[[], str]) -> str:
    """Run one line: our own commands in this process, which saves loading torch each time."""
    words = shlex.split(command, comments=True)
    here = words[0] == PROGRAM and words[1] not in IN_A_CHILD
    if here and not NEEDS_A_SHELL.search(command):
        status, output = main(words[1:]), printed()
    else:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", command],
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        status, output = done.returncode, done.stdout
    if status != 0:
        raise AssertionError(f"{place}: `{command}` ended with status {status}")
    return output
