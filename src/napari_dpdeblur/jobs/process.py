"""Parent process: start, control and end the child process of a job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO, cast

from napari_dpdeblur.jobs.channel import receive, send
from napari_dpdeblur.jobs.messages import (
    ENDS,
    Cancelled,
    Command,
    Failed,
    Finished,
    Job,
    Message,
)

# Modules are found through PYTHONPATH; the working folder must not shadow them.
_START = (
    "import sys; sys.path[:] = filter(None, sys.path);"
    "from napari_dpdeblur.jobs.child import main; main()"
)
CANCEL_PATIENCE_S = 0.5  # then the child is killed


class JobProcess:
    """One job in a separate process.

    A thread does everything that takes time: starting, sending the job, receiving, and ``prepare``,
    which converts the result. Nothing here blocks; :meth:`messages` returns what has arrived. The
    last message is one of ``ENDS``.
    """

    def __init__(self, job: Job, prepare: Callable[[Any], Any] = lambda result: result) -> None:
        self._job = job
        self._prepare = prepare
        self._arrived: SimpleQueue[Message] = SimpleQueue()
        self._to_send: SimpleQueue[Job | Command | None] = SimpleQueue()
        self._to_send.put(job)
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._cancelled = False
        self._thread = threading.Thread(target=self._run, daemon=True, name=job.title)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """Process id of the child, once it has been started."""
        return self._process.pid if self._process else None

    def messages(self) -> list[Message]:
        """Messages that have arrived since the last call."""
        arrived: list[Message] = []
        with suppress(Empty):
            while True:
                arrived.append(self._arrived.get_nowait())
        return arrived

    def pause(self) -> None:
        """Pause the job at its next step."""
        self._to_send.put(Command.PAUSE)

    def resume(self) -> None:
        """Resume the job."""
        self._to_send.put(Command.RESUME)

    def cancel(self) -> None:
        """Cancel the job within a second; the child is killed if it does not respond."""
        self._cancelled = True
        self._to_send.put(Command.CANCEL)
        last_resort = threading.Timer(CANCEL_PATIENCE_S, self.kill)
        last_resort.daemon = True
        last_resort.start()

    def kill(self) -> None:
        """Kill the child immediately."""
        with self._lock:
            self._cancelled = True
            if self._process is not None and self._process.poll() is None:
                self._process.kill()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the job to end, and return whether it has; for scripts and tests."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._arrived.put(self._prepared(self._conversation()))
        except Exception as error:  # otherwise the end would go unnoticed
            text = f"{self._job.title} failed unexpectedly: {error}"
            self._arrived.put(Failed(text, traceback.format_exc()))

    def _conversation(self) -> Message:
        """Relay messages and return the last one."""
        try:
            process = self._start()
        except OSError as error:
            return Failed(f"{self._job.title} could not be started: {error.strerror or error}.")
        sender = threading.Thread(target=self._send_all, args=(process,), daemon=True)
        sender.start()
        last = self._listen(process)
        process.kill()
        process.wait()
        self._to_send.put(None)
        sender.join()
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):  # unsent data is lost with the child
                cast(BinaryIO, stream).close()
        return last or self._sudden_end(process.returncode)

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=_environment(),
                creationflags=_priority_flags(),
            )
            if self._cancelled:
                self._process.kill()
            return self._process

    def _send_all(self, process: subprocess.Popen[bytes]) -> None:
        """Send the job and the commands; the listener notices if the child is gone."""
        with suppress(OSError):
            while (message := self._to_send.get()) is not None:
                send(cast(BinaryIO, process.stdin), message)

    def _listen(self, process: subprocess.Popen[bytes]) -> Message | None:
        try:
            while True:
                message: Message = receive(cast(BinaryIO, process.stdout))
                if isinstance(message, ENDS):
                    return message
                self._arrived.put(message)
        except (EOFError, OSError):
            process.wait()
            return None

    def _sudden_end(self, code: int) -> Message:
        if self._cancelled:
            return Cancelled()
        cause = f"exit code {code}"
        if code < 0:
            cause = signal.Signals(-code).name
        return Failed(
            f"{self._job.title} was terminated ({cause}), most likely because memory ran out; "
            "start it again, with a smaller region or fewer layers if that does not help."
        )

    def _prepared(self, message: Message) -> Message:
        return Finished(self._prepare(message.result)) if isinstance(message, Finished) else message


def _environment() -> dict[str, str]:
    """Environment of the child: module path of the parent, and passive waiting of threads."""
    folders = os.pathsep.join(path for path in sys.path if path)
    return {"OMP_WAIT_POLICY": "PASSIVE", **os.environ, "PYTHONPATH": folders}


def _priority_flags() -> int:
    if sys.platform == "win32":
        return subprocess.BELOW_NORMAL_PRIORITY_CLASS | subprocess.CREATE_NO_WINDOW
    return 0
