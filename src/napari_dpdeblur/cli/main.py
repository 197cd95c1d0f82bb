"""Entry point of the command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from napari_dpdeblur import __version__
from napari_dpdeblur.cli import batch, calibrate, convert, demo, fetch, fit, info, render, simulate
from napari_dpdeblur.cli.arguments import PROGRAM, tell
from napari_dpdeblur.cli.compare import ablation, baseline, benchmark, evaluate, focus_stack
from napari_dpdeblur.cli.old_names import with_current_names
from napari_dpdeblur.cli.signals import Stopped, stopping_signals
from napari_dpdeblur.cli.streams import prepare_streams
from napari_dpdeblur.computing.heap import share_one_heap
from napari_dpdeblur.errors import DpDeblurError, shortened

BAD_INPUT_STATUS = 2
INTERRUPTED_STATUS = 130

# In the order of the help text. Each module offers add_parser(subparsers), which sets `run`.
COMMANDS = (
    info,
    convert,
    calibrate,
    fit,
    batch,
    simulate,
    render,
    evaluate,
    baseline,
    benchmark,
    ablation,
    focus_stack,
    fetch,
    demo,
)


def build_parser() -> argparse.ArgumentParser:
    """Build the parser with all commands."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="All-in-focus images and defocus maps from dual-pixel captures.",
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 2, with one sentence, for bad input."""
    prepare_streams()
    words = with_current_names(sys.argv[1:] if argv is None else argv)
    # Torch threads that spin while they wait slow each other down on a busy machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    share_one_heap()
    try:
        with stopping_signals():
            _run(words)
    except DpDeblurError as error:
        tell(str(error))
        return BAD_INPUT_STATUS
    except MemoryError:
        tell("not enough memory.")
        return BAD_INPUT_STATUS
    except BrokenPipeError:  # as in `... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED_STATUS
    except OSError as error:  # paths that a command uses before it knows what they are
        tell(f"{shortened(error.filename or 'A file')} cannot be used: {error.strerror or error}.")
        return BAD_INPUT_STATUS
    except Stopped as stop:
        tell(f"terminated by {stop}")
        return 128 + stop.number
    except KeyboardInterrupt:
        tell("interrupted")
        return INTERRUPTED_STATUS
    return 0


def _run(words: Sequence[str]) -> None:
    try:
        arguments = build_parser().parse_args(words)
    except SystemExit:  # after the help text
        sys.stdout.flush()
        raise
    arguments.run(arguments)
    sys.stdout.flush()
