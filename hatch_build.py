"""What hatchling, which builds the package, asks for: the links and the text of the package's page.

hatchling finds this file by its name. Both follow from the addresses in pyproject.toml (`tools/addresses.py`).
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class PageHook(MetadataHookInterface):
    """Sets the dynamic fields `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the fields to the project's metadata."""
        # `tools` is on no path of the environment in which the package is built.
        code = runpy.run_path(str(Path(self.root, "tools", "addresses.py")), run_name="addresses")
        addresses = code["Addresses"].read(Path(self.root))
        readme = Path(self.root, "README.md").read_text("utf-8")
        text = code["long_description"](readme, addresses, metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = addresses.project_urls()
