"""Old spellings of options, rewritten before the command line is parsed.

They are accepted, with a note, for two minor releases after the one that renamed them (0.2).
"""

from __future__ import annotations

from collections.abc import Sequence

from napari_dpdeblur.cli.arguments import tell

LEVELS = {"--black": "--black-level", "--white": "--white-level"}
RENAMED = {
    **dict.fromkeys(("info", "convert", "fit", "batch", "baseline"), LEVELS),
    "calibrate run": {"--vignetting": "--sheets"},
}


def with_current_names(words: Sequence[str]) -> list[str]:
    """Replace old spellings by the current ones, with a note for each."""
    command = " ".join(words[:2] if "calibrate" in words[:1] else words[:1])
    renamed = [_renamed(word, RENAMED.get(command, {})) for word in words]
    return _with_one_size(renamed) if command == "simulate" else renamed


def _renamed(word: str, names: dict[str, str]) -> str:
    """The current name of an option; `--option=value` keeps its value."""
    option, equals, value = word.partition("=")
    if option not in names:
        return word
    tell(f"{option} is deprecated; use {names[option]}.")
    return f"{names[option]}{equals}{value}"


def _with_one_size(words: list[str]) -> list[str]:
    """`--size HEIGHT WIDTH` as `--size WIDTHxHEIGHT`."""
    start = words.index("--size") + 1 if "--size" in words else len(words)
    pair = words[start : start + 2]
    if len(pair) < 2 or not all(word.isdecimal() for word in pair):
        return words
    size = f"{pair[1]}x{pair[0]}"
    tell(f"--size HEIGHT WIDTH is deprecated; use --size WIDTHxHEIGHT, here {size}.")
    return [*words[:start], size, *words[start + 2 :]]
