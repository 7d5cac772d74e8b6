"""From sections to one file: the template, its looks, its script, and the policy that allows these and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from skedasis.plots.html import csp
from skedasis.plots.html import script as figures_script
from skedasis.plots.html import style as figures_style
from skedasis.report.numbers import named


@cache
def _text(name: str) -> str:
    return resources.files("skedasis.report").joinpath("templates", name).read_text("utf-8")


@cache
def _environment() -> Environment:
    # Everything that comes from a user is escaped: a column may be called <script>.
    made = Environment(
        loader=PackageLoader("skedasis.report"), autoescape=True, undefined=StrictUndefined
    )
    made.filters["named"] = named
    return made


def written(sections: Mapping[str, Any]) -> str:
    """Return the page.

    Parameters
    ----------
    sections : mapping
        What the templates ask for. Text is escaped; only SVG, whose text is escaped already, comes as `Markup`.

    Returns
    -------
    str
        One file: it fetches nothing, and runs its own script alone.
    """
    from skedasis import __version__

    style = f"{figures_style()}\n{_text('page.css')}"
    script = f"{figures_script()}\n{_text('page.js')}"
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            **sections,
            version=__version__,
            policy=csp([style], [script]),
            style=Markup(style),  # noqa: S704 - files of this package
            script=Markup(script),  # noqa: S704
        )
    )
