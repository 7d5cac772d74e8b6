"""Code that reproduces each figure of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from skedasis.methods.ale import ALE, RHALE
from skedasis.methods.base import Parameters
from skedasis.methods.mplot import MPlot
from skedasis.methods.pdp import PDP
from skedasis.report import interactions
from skedasis.report.uncertainty import ROWS, Unsure
from skedasis.results.effects import Effects

CURVES = 100
"""Individual curves that a figure shows: more of them are a smear."""


DEFAULTS: Mapping[str, Any] = {
    "seed": 0, "memory": "1GB", "keep": "256MB", "threads": 1, "tree": "auto", "heterogeneity_rows": 10_000,
}  # fmt: skip
"""Of `skedasis.explain`: what is not said."""


GIVEN = ("y", "weights", "schema", "groups")
"""Keywords whose values are too large to be written: they are called by their names."""


def main_method(kind: str) -> Parameters:
    """Return the method that stands first for a kind of feature: nominal ones have no slopes for RHALE."""
    return ALE() if kind == "nominal" else RHALE()


def pdp_method(kind: str, *, rows: bool) -> PDP:
    """Return the PDP for a kind of feature: the levels of a nominal one have no first from which curves could start."""
    return PDP(center="mean" if kind == "nominal" else "start", ice=CURVES if rows else 0)


def written(method: Parameters) -> str:
    """Return a method as its user writes it.

    Examples
    --------
    >>> print(written(PDP(center="start", ice=100)), written(ALE()))
    sd.PDP(ice=100, center='start') sd.ALE()
    """
    usual = type(method)()
    said = [
        f"{f.name}={getattr(method, f.name)!r}"
        for f in fields(method)
        if getattr(method, f.name) != getattr(usual, f.name)
    ]
    return f"sd.{type(method).__name__}({', '.join(said)})"


@dataclass(frozen=True, eq=False)
class Call:
    """How a model was explained, as its user writes it.

    Parameters
    ----------
    model : str
        What stands for the quantity: ``model`` or ``models['name']``.
    given : dict
        Keywords of `skedasis.explain`, as they were passed.
    output : str
        What picks one of several outputs, such as ``['setosa']``; or nothing.
    bare : str
        What stands for the model itself, where the quantity is not it.
    """

    model: str
    given: Mapping[str, Any]
    output: str = ""
    bare: str = ""

    def keywords(self, *, without: Sequence[str] = (), **other: str) -> str:
        """Return the keywords behind the positional ones."""
        named = [n for n in GIVEN if self.given.get(n) is not None and n not in without]
        said = {name: name for name in named}
        for name, usual in DEFAULTS.items():
            if name not in without and name in self.given and self.given[name] != usual:
                said[name] = repr(self.given[name])
        said |= other
        return "".join(f", {name}={text}" for name, text in said.items())

    def explain(self, features: str, method: str, quantity: str = "", **other: str) -> str:
        """Return the call of `skedasis.explain`."""
        output = "" if quantity else self.output
        quantity = quantity or self.model
        # A pair, or a list, is a dictionary by output as well.
        keywords = self.keywords(**other)
        return f"sd.explain({quantity}, X, {features}, method={method}{keywords}){output}"


def codes(
    call: Call,
    effects: Effects,
    pairs: Sequence[tuple[str, str]],
    unsure: Unsure | None,
    *,
    rows: bool,
) -> dict[tuple[str, ...], str]:
    """Return the code of each figure.

    Parameters
    ----------
    call : Call
    effects : Effects
        Of all features.
    pairs : sequence of (str, str)
        Whose surfaces are drawn.
    unsure : Unsure, optional
    rows : bool
        Whether curves of single rows are drawn.

    Returns
    -------
    dict
        By ``("main", feature)``: RHALE, or ALE in its place; ``("ale", feature)``; ``("pdp", feature)``;
        ``("mplot", feature)``; ``("compare", feature)``: three of them over one another; ``("trust", feature)``;
        ``("all",)``; ``("places",)``; ``("pair", first, second)``; ``("diagnosis",)``; ``("entropy", feature)`` and
        ``("entropy pdp", feature)``. ``("import",)`` is what comes before.
    """
    found: dict[tuple[str, ...], str] = {("import",): _preamble(call, unsure)}
    for name, effect in effects.items():
        for (about, *_), text in _of_feature(call, name, effect.about.feature.kind, rows=rows):
            found[about, name] = text
    numeric = [n for n, e in effects.items() if e.about.feature.kind != "nominal"]
    if numeric:
        every = call.explain(repr(numeric), written(RHALE()))
        found["all",] = f"{every}.plot()"
        found["places",] = f"{every}.ranking()"
    for pair in pairs:
        found["pair", *pair] = f"{call.explain(repr(pair), written(interactions.METHOD))}.plot()"
    if unsure is not None:
        found |= _of_unsure(call, unsure)
    return found


def _preamble(call: Call, unsure: Unsure | None) -> str:
    """Return what comes before any other code: imports, and what the names mean."""
    names = ["X", *(n for n in GIVEN if call.given.get(n) is not None)]
    if unsure is not None and unsure.diagnosis is not None and "y" not in names:
        names.append("y")
    imports = ["import skedasis as sd"]
    if unsure is not None and unsure.sampled:
        imports.insert(0, "import numpy as np")
    what = "models" if call.model.startswith("models") else "model"
    return "\n".join([*imports, f"# {what}, {', '.join(names)}: as they were given to sd.report"])


def _of_feature(call: Call, name: str, kind: str, *, rows: bool) -> list[tuple[tuple[str], str]]:
    main, ale, mplot = written(main_method(kind)), written(ALE()), written(MPlot())
    pdp = written(pdp_method(kind, rows=rows))
    where = repr(name)
    three = ", ".join(call.explain(where, m) for m in (ale, pdp, mplot))
    beside = call.explain(where, pdp)
    return [
        (("main",), f"{call.explain(where, main)}.plot()"),
        (("ale",), f"{call.explain(where, ale)}.plot()"),
        (("pdp",), f"{beside}.plot()"),
        (("mplot",), f"{call.explain(where, mplot)}.plot()"),
        (("compare",), f"sd.compare([{three}])"),
        (("trust",), f"{call.explain(where, main)}.trust(X=X, beside={beside}{_seed(call)})"),
    ]


def _seed(call: Call) -> str:
    seed = call.given.get("seed", 0)
    return f", seed={seed!r}" if seed else ""


def _of_unsure(call: Call, unsure: Unsure) -> dict[tuple[str, ...], str]:
    """Return the code of an entropy's figures."""
    found: dict[tuple[str, ...], str] = {}
    model, entropy = call.bare or call.model, f"sd.entropy({call.bare or call.model})"
    taken: dict[str, str] = {}
    if unsure.sampled:
        seed = int(call.given.get("seed", 0))
        some = f"np.random.default_rng({seed}).choice(len(X), {ROWS}, replace=False)"
        mask = f"np.isin(np.arange(len(X)), {some})"
        taken = {"weights": mask if call.given.get("weights") is None else f"weights * {mask}"}
    for name, effect in unsure.rhale.items():
        method = written(main_method(effect.about.feature.kind))
        found["entropy", name] = f"{call.explain(repr(name), method, entropy, **taken)}.plot()"
    for name, effect in unsure.pdp.items():
        method = written(PDP(ice=int(effect.spec.parameters.get("ice", 0))))
        text = call.explain(repr(name), method, entropy, **taken)
        found["entropy pdp", name] = f"{text}.plot()"
    if unsure.diagnosis is not None:
        kept = {name: repr(value) for name, value in unsure.kept.items()}
        keywords = call.keywords(without=("y", "heterogeneity_rows"), **kept)
        found["diagnosis",] = f"sd.diagnose({model}, X, y{keywords}).plot()"
    return found
