"""Work that no worker survives."""

from __future__ import annotations

import os
from typing import Any


def die(task: Any) -> None:
    """End the process as if it had been killed for want of memory."""
    os._exit(1)
