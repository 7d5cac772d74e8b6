"""Reports: one self-contained HTML page about one or several models, written by `skedasis.report`.

`content` computes the results of a report as values, with the help of `passes` (calls of `explain`), `budget` (what
they cost, and what is left out), `interactions`, `quality`, `uncertainty`, `given_rows`, `cohorts` and `code`.
`findings` and `text`, with `tables` and `format`, turn values into sentences and tables, `figures` into SVG and PNG,
`data` into JSON. `first_screen`, `features` and `views` arrange the page; `html` puts all into its templates, and
`report` writes it. The shell prints the tables of effects, too.
"""

from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import Any


class _Report(ModuleType):
    """A callable module: `skedasis.report` is a function and a package, whichever is imported first."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call `skedasis.report.report.report`."""
        from skedasis.report.report import report

        return report(*args, **kwargs)

    @property
    def __signature__(self) -> inspect.Signature:
        """Return the signature of the function, for `help` and `inspect.signature`."""
        from skedasis.report.report import report

        return inspect.signature(report)


sys.modules[__name__].__class__ = _Report
