"""The whole story of one or several models in one page: `skedasis.report(...)`.

| file | what it holds |
|---|---|
| `story` | what there is to tell, as values |
| `words`, `glance`, `levels`, `numbers` | how it is said: sentences, what to look at first, levels, numbers |
| `captions`, `drawings` | the figures' words; the figures of a page, as SVG |
| `sections`, `features`, `deeper`, `origins` | what each part of the page shows |
| `page`, `templates` | the page itself: its HTML, style, script and policy |
| `build` | `report` and `write` |
| `pictures`, `terminal` | the same as PNG files; a ranking and tables for a terminal |
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Report(ModuleType):
    """The verb and its room have one name. Whoever imports the room first can still call the verb."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call `skedasis.report.report.report`."""
        from skedasis.report.report import report

        return report(*args, **kwargs)


sys.modules[__name__].__class__ = _Report
