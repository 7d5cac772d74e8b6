"""The whole story of one or several models in one page: `skedasis.report(...)`.

`story` computes it, `words` says it, `pictures` draws it, and `build` puts it on a page.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Report(ModuleType):
    """The verb and its room have one name. Whoever imports the room first can still call the verb."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call `skedasis.report.build.report`."""
        from skedasis.report.build import report

        return report(*args, **kwargs)


sys.modules[__name__].__class__ = _Report
