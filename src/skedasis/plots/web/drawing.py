"""`Drawing`: a finished SVG with what it shows in words, and the element that holds it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from skedasis.plots.web.svg import joined, px, tag


@dataclass(frozen=True)
class Drawing:
    """One picture of a page.

    Parameters
    ----------
    svg : Markup
        One ``<svg>`` element.
    width, height : float
        Its native size in pixels.
    title : str
        A short name, also the element's ``<title>``.
    alt : str
        What is to be seen, in words; the element's ``<desc>``.
    """

    svg: Markup
    width: float
    height: float
    title: str
    alt: str

    def __html__(self) -> str:
        """Return the SVG: so templates take it as it is."""
        return str(self.svg)


def sheet(
    parts: Iterable[Markup],
    size: tuple[float, float],
    *,
    ident: str,
    title: str,
    alt: str,
    role: Literal["img", "group"] = "img",
) -> Drawing:
    """Put what is drawn on a sheet that says what it is.

    Parameters
    ----------
    parts : iterable of Markup
        From below to above.
    size : (float, float)
        Width and height in pixels.
    ident : str
        Unique on the page.
    title, alt : str
    role : {"img", "group"}
        A picture is one stop of the keyboard; a group has links, which are themselves stops.

    Returns
    -------
    Drawing

    Examples
    --------
    >>> made = sheet([], (20.0, 10.0), ident="f1", title="age", alt="nothing")
    >>> print(made.svg)  # doctest: +ELLIPSIS
    <svg xmlns="http://www.w3.org/2000/svg" class="skd narrow" viewBox="0 0 20 10" width="20" height="10" role="img" ...
    """
    width, height = size
    names = f"{ident}-title", f"{ident}-desc"
    svg = tag(
        "svg",
        tag("title", title, id=names[0]),
        tag("desc", alt, id=names[1]),
        joined(parts),
        xmlns="http://www.w3.org/2000/svg",
        class_=f"skd{_wide(width)}",
        viewBox=f"0 0 {px(width)} {px(height)}",
        width=px(width),
        height=px(height),
        role=role,
        # Some browsers stop at whatever listens to the focus of what lies in it, unless it says no.
        tabindex="0" if role == "img" else "-1",
        aria_labelledby=" ".join(names),
    )
    return Drawing(svg, width, height, title, alt)


def _wide(width: float) -> str:
    """Return the class of a sheet that is much narrower or wider than others: its letters shall be as large."""
    if width > 600:
        return " wide"
    return " narrow" if width < 300 else " slim" if width < 400 else ""
