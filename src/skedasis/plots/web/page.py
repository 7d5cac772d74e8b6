"""Pages of figures: one file that fetches nothing, whose only script and style are those it was written with."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path

from markupsafe import Markup, escape

from skedasis.errors import DataError, explained
from skedasis.plots.web.svg import plain, tag


@cache
def asset(name: str) -> str:
    """Return the text of a file in `assets`."""
    return resources.files("skedasis.plots.web").joinpath("assets", name).read_text("utf-8")


def style() -> str:
    """Return how figures look: light, dark, in print and in forced colours."""
    return asset("figure.css") + asset("more.css")


def script() -> str:
    """Return what makes figures live; its function `skedasis.enlive(root)` does so for what is added later."""
    return asset("figure.js")


def csp(styles: Iterable[str], scripts: Iterable[str]) -> str:
    """Return the content security policy of a page with these styles and scripts, and nothing else.

    Parameters
    ----------
    styles, scripts : iterable of str
        The text between the tags of each ``<style>`` and ``<script>``, letter by letter.

    Returns
    -------
    str
        For ``<meta http-equiv="Content-Security-Policy" content="…">``: the page fetches nothing, sends nothing, runs
        no other script, and no text becomes HTML.

    Examples
    --------
    >>> print(csp(["b {}"], []))
    default-src 'none'; script-src 'none'; style-src 'sha256-zy87ZYlZV4kMyp51wB+3ABJeEclAGRFupKDmlDS9DAw='; ...
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_sources(scripts)}",
            f"style-src {_sources(styles)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        ]
    )


def _sources(texts: Iterable[str]) -> str:
    digests = [base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in texts]
    return " ".join(f"'sha256-{d}'" for d in digests) or "'none'"


def page(title: str, body: Markup, *, styles: Sequence[str], scripts: Sequence[str] = ()) -> str:
    """Return a whole page.

    Parameters
    ----------
    title : str
    body : Markup
        What stands between the tags of ``<body>``; the scripts come after it.
    styles, scripts : sequence of str
        They are part of the page, and the only ones that it lets a browser use.

    Returns
    -------
    str
    """
    head = [
        Markup('<meta charset="utf-8">'),
        Markup('<meta http-equiv="Content-Security-Policy" content="{}">').format(
            csp(styles, scripts)
        ),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        # Without an icon of its own a page makes a browser ask its server for one.
        Markup('<link rel="icon" href="data:,">'),
        tag("title", title),
        *(Markup("<style>{}</style>").format(Markup(s)) for s in styles),  # noqa: S704 - our own
    ]
    code = [Markup("<script>{}</script>").format(Markup(s)) for s in scripts]  # noqa: S704 - our own
    lines = [
        Markup('<!doctype html>\n<html lang="en">\n<head>'),
        *head,
        Markup('</head>\n<body class="skd-page">'),
        body,
        *code,
        Markup("</body>\n</html>\n"),
    ]
    return str(Markup("\n").join(lines))


@dataclass(frozen=True, eq=False)
class Explorable:
    """An interactive page: notebooks show it, `save` writes it.

    Parameters
    ----------
    html : str
        The whole page, which fetches nothing.
    title : str
        What it shows.
    height : int
        Pixels that a notebook gives it; it scrolls if it needs more.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> shown = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ALE(bins=5)).explore()
    >>> shown
    <Explorable: x0, ...>
    """

    html: str = field(repr=False)
    title: str
    height: int = 640

    def __repr__(self) -> str:
        return f"<Explorable: {self.title}, {len(self.html) / 1000:,.0f} kB; .save(path) writes it>"

    def save(self, path: str | Path) -> Path:
        """Write the page into a file; one that is there is replaced.

        Parameters
        ----------
        path : str or Path
            Its folder is made where there is none.

        Returns
        -------
        Path

        Raises
        ------
        DataError
            For a folder.
        """
        path = Path(path)
        if path.is_dir():
            fix = f"Write {str(path / 'effects.html')!r}"
            raise DataError(explained("save(path)", f"the folder {str(path)!r}", "a file", fix))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.html, encoding="utf-8", newline="\n")
        return path

    def _repr_html_(self) -> str:
        """Return the page in a frame: it runs its own script, and reaches nothing of the notebook."""
        # Escaped as text, although it is HTML: it is the value of an attribute.
        srcdoc = escape(self.html)
        return (
            f'<iframe title="{plain(self.title)}" srcdoc="{srcdoc}" sandbox="allow-scripts" '
            f'width="100%" height="{self.height}" loading="lazy" frameborder="0"></iframe>'
        )
