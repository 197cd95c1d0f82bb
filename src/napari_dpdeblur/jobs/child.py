"""Child process: receives a job on standard input, reports on standard output."""

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
from napari_dpdeblur.computing.heap import share_one_heap
from napari_dpdeblur.errors import DpDeblurError, OperationCancelled
from napari_dpdeblur.generators import finish
from napari_dpdeblur.jobs.channel import receive, send
from napari_dpdeblur.jobs.messages import Cancelled, Command, Failed, Finished, Job, Message

NICENESS = 10
PATIENCE_S = 2.0  # to clean up after the parent has gone


def main() -> None:
    """Run the job that the parent sends, then exit."""
    commands, messages = _private_streams()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is handled by the parent
    _give_way()
    share_one_heap()
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
    os._exit(0)  # a regular exit would wait for the listening thread


class _NobodyListens(Exception):
    """The parent has closed the pipe."""


def _tell(messages: BinaryIO, message: Message) -> None:
    try:
        send(messages, message)
    except OSError as error:
        raise _NobodyListens from error


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """The pipes; output of libraries is redirected to standard error."""
    messages = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return sys.stdin.buffer, messages


def _give_way() -> None:
    """Lower the priority below that of the window; on Windows the parent does it."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)


def _obey(commands: BinaryIO, control: Control) -> None:
    """Execute the commands of the parent; exit when it is gone."""
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
    """Run the job and return its last message."""
    try:
        return Finished(_result(job, control, messages))
    except OperationCancelled:
        return Cancelled()
    except DpDeblurError as error:
        return Failed(str(error))
    except MemoryError:
        return Failed(f"{job.title} ran out of memory; close other programs or process less data.")
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
