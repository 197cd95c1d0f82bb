"""A virtual display for one test process, so that no other can take its focus or clipboard."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess


def use_own_display() -> None:
    """Move from the given X display to one of this process; without Xvfb, stay on the given one."""
    if not os.environ.get("DISPLAY") or shutil.which("Xvfb") is None:
        return
    reading, writing = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1366x768x24", "-nolisten", "tcp"],
        pass_fds=[writing],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    atexit.register(server.kill)
    os.close(writing)
    with os.fdopen(reading) as answer:
        number = answer.readline().strip()  # empty when the server could not start
    if number:
        os.environ["DISPLAY"] = f":{number}"
        os.environ.pop("XAUTHORITY", None)
