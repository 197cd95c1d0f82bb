"""The long description of the package: README.md with links that work outside the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE_LINK = re.compile(r"(?P<picture>!?)(?P<text>\[[^\]]*\])\((?!\w+:|#)(?P<path>[^)\s]+)\)")


class LongDescription(MetadataHookInterface):
    """Leads relative links and pictures to the address `Source` in pyproject.toml."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling."""
        source = metadata["urls"]["Source"]

        def absolute(link: re.Match[str]) -> str:
            kind = "raw" if link["picture"] else "blob"
            return f"{link['picture']}{link['text']}({source}/{kind}/main/{link['path']})"

        readme = Path(self.root, "README.md").read_text("utf-8")
        text = RELATIVE_LINK.sub(absolute, readme)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
