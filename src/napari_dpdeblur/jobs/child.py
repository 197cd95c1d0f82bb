"""The child's side: take one job from standard input, say on standard output how it goes."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Generator
from importlib import import_module
from typing import Any, BinaryIO

from napari_dpdeblur.cancellation import Control, controlled
from napari_dpdeblur.errors import DpDeblurError, OperationCancelled
from napari_dpdeblur.generators import finish
from napari_dpdeblur.jobs.channel import receive, send
from napari_dpdeblur.jobs.messages import Cancelled, Command, Failed, Finished, Job, Message

NICENESS = 10
PATIENCE_S = 2.0  # to leave things tidy after the parent is gone


def main() -> None:
    """Do the job that the parent sends, then end."""
    commands, messages = _private_streams()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is the parent's business
    _give_way()
    try:
        job: Job = receive(commands)
    except EOFError:
        return
    control = Control()
    threading.Thread(target=_obey, args=(commands, control), daemon=True).start()
    try:
        _tell(messages, _done(job, control, messages))
    except _NobodyListens:
        os._exit(1)
    os._exit(0)  # an orderly end would wait for the thread that listens


class _NobodyListens(Exception):
    """The parent has closed its end."""


def _tell(messages: BinaryIO, message: Message) -> None:
    try:
        send(messages, message)
    except OSError as error:
        raise _NobodyListens from error


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """The pipes; whatever libraries print goes to standard error instead."""
    messages = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return sys.stdin.buffer, messages


def _give_way() -> None:
    """Let the window be served first; on Windows the parent has seen to it."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)


def _obey(commands: BinaryIO, control: Control) -> None:
    """Relay what the parent says; end when it is gone, so that no process is left alone."""
    actions = {
        Command.PAUSE: control.pause,
        Command.RESUME: control.resume,
        Command.CANCEL: control.cancel,
    }
    try:
        while True:
            actions[receive(commands)]()
    except (EOFError, OSError):
        control.cancel()
        time.sleep(PATIENCE_S)
        os._exit(1)


def _done(job: Job, control: Control, messages: BinaryIO) -> Message:
    """Run the job; how it ended."""
    try:
        return Finished(_result(job, control, messages))
    except OperationCancelled:
        return Cancelled()
    except DpDeblurError as error:
        return Failed(str(error))
    except MemoryError:
        return Failed(f"{job.title} ran out of memory; close other programs or take less.")
    except _NobodyListens:
        raise
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        return Failed(f"{job.title} failed unexpectedly: {reason}", traceback.format_exc())


def _result(job: Job, control: Control, messages: BinaryIO) -> Any:
    module, name = job.function.split(":")
    steps: Generator[Message, None, Any] = getattr(import_module(module), name)(job.request)

    def tell(message: Message) -> None:
        control.check()
        _tell(messages, message)

    return finish(controlled(steps, control), tell)
