"""Code that reproduces each figure of a report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from skedasis.engine.options import ExplainOptions
from skedasis.methods.ale import ALE, RHALE
from skedasis.methods.base import Parameters
from skedasis.methods.mplot import MPlot
from skedasis.methods.pdp import N_POINTS, PDP
from skedasis.report import interactions
from skedasis.report.uncertainty import ROWS, UncertaintySection
from skedasis.results.effects import Effects
from skedasis.results.keywords import CurveScale

CURVES = 100
"""Number of individual curves in a figure: more of them are not distinguishable."""


BY_NAME = ("y", "sample_weight", "schema", "groups")
"""Keywords whose values are too large to be written out: the code refers to them by name."""


def main_method(kind: str) -> Parameters:
    """Return the main method for a kind of feature: RHALE, or ALE for nominal features, which have no slopes."""
    return ALE() if kind == "nominal" else RHALE()


def pdp_method(kind: str, *, rows: bool, points: int | Mapping[str, int] | None = None) -> PDP:
    """Return the PDP for a kind of feature; curves of nominal features, which have no first level, are centred."""
    center, ice = "mean" if kind == "nominal" else "start", CURVES if rows else 0
    return PDP(grid=points or None, center=center, ice=ice)


LEAST_POINTS, WHOLE_GRIDS = 12, 3
"""Points of a PDP whose model is called: at least, and for how many features together the default number."""


def called_points(sizes: Mapping[str, float]) -> dict[str, int]:
    """Return the number of points of the PDP of each feature, whose model is called at every row for each point.

    Features have points in proportion to the sizes of their effects, between the least and the default number: with d
    features, at most 12 d + 114 in all.
    """
    found: dict[str, int] = {}
    most = N_POINTS - LEAST_POINTS
    left, order = WHOLE_GRIDS * most, sorted(sizes, key=lambda n: -sizes[n])
    for k, name in enumerate(order):
        rest = sum(sizes[n] for n in order[k:])
        share = sizes[name] / rest if rest > 0 else 1 / (len(order) - k)
        more = min(most, math.ceil(left * share))
        found[name] = LEAST_POINTS + more
        left -= more
    return found


OF_CURVES = {"all", "main", "ale", "pdp", "mplot", "regions", "entropy", "entropy pdp"}
"""Figures of curves, whose height is an option."""


def at_scale(code: Mapping[tuple[str, ...], str], scale: CurveScale) -> dict[tuple[str, ...], str]:
    """Return the code of figures with the height of their curves."""
    drawn = f"plot(scale={scale!r})"
    return {k: c.replace("plot()", drawn) if k[0] in OF_CURVES else c for k, c in code.items()}


def method_code(method: Parameters) -> str:
    """Return a method as source code."""
    default = type(method)()
    arguments = [
        f"{f.name}={getattr(method, f.name)!r}"
        for f in fields(method)
        if getattr(method, f.name) != getattr(default, f.name)
    ]
    return f"sd.{type(method).__name__}({', '.join(arguments)})"


@dataclass(frozen=True, eq=False)
class Call:
    """The arguments of a call of `skedasis.explain` in the user's code."""

    model: str
    options: ExplainOptions
    output: str = ""
    bare: str = ""

    def keywords(self, *, without: Sequence[str] = (), **other: str) -> str:
        """Return the keyword arguments as source code."""
        arguments = {
            name: name if name in BY_NAME else repr(value)
            for name, value in self.options.changed().items()
            if name != "progress" and name not in without
        }
        arguments |= other
        return "".join(f", {name}={text}" for name, text in arguments.items())

    def explain(self, features: str, method: str, quantity: str = "", **other: str) -> str:
        """Return the call of `skedasis.explain` as source code."""
        output = "" if quantity else self.output
        quantity = quantity or self.model
        # Results of pairs and lists are dictionaries by output, too.
        keywords = self.keywords(**other)
        chosen = f", method={method}" if method else ""
        return f"sd.explain({quantity}, X, {features}{chosen}{keywords}){output}"


def figure_codes(
    call: Call,
    effects: Effects,
    pairs: Sequence[tuple[str, str]],
    uncertainty: UncertaintySection | None,
    regions: Sequence[str] = (),
    by: object = None,
    *,
    rows: bool,
    points: Mapping[str, int],
    split: str = "",
) -> dict[tuple[str, ...], str]:
    """Return the code of each figure. `points` are those of PDPs with another number than the default."""
    seen = any(e.observed is not None for e in effects.values())
    labels = {"y": "y", "observed": "True", **({"split": split} if split else {})} if seen else {}
    found: dict[tuple[str, ...], str] = {
        ("import",): _preamble(call, uncertainty, by, [n for n in labels.values() if n in GIVEN])
    }
    for name, effect in effects.items():
        kind = effect.about.feature.kind
        pdp = pdp_method(kind, rows=rows, points=points.get(name))
        found |= _feature_code(call, name, kind, pdp, labels)
    numeric = [n for n, e in effects.items() if e.about.feature.kind != "nominal"]
    if numeric:
        every = call.explain(repr(numeric), method_code(RHALE()))
        found["all",] = f"{every}.plot()"
        found["places",] = f"{every}.ranking()"
    for pair in pairs:
        found["pair", *pair] = (
            f"{call.explain(repr(pair), method_code(interactions.METHOD))}.plot()"
        )
    for name in regions:
        found["regions", name] = f"{_regions_code(call, name, by)}.plot()"
    if uncertainty is not None:
        found |= _uncertainty_code(call, uncertainty)
    return found


def _regions_code(call: Call, name: str, by: object) -> str:
    """Return the call that finds the regions of a feature, or takes those that the caller named."""
    where = repr(name)
    if by is None:
        return f"sd.regions({call.model}, X, {where}{call.keywords()}){call.output}"
    given = repr(by) if isinstance(by, (str, int, tuple)) else "by"
    return f"sd.explain({call.model}, X, {where}, by={given}{call.keywords()}){call.output}"


def _preamble(
    call: Call, uncertainty: UncertaintySection | None, by: object, more: Sequence[str]
) -> str:
    """Return the code that precedes all others: imports, and a comment on the names used."""
    names = [*dict.fromkeys(["X", *(n for n in call.options.changed() if n in BY_NAME), *more])]
    if by is not None and not isinstance(by, (str, int, tuple)):
        names.append("by")
    if uncertainty is not None and uncertainty.diagnosis is not None and "y" not in names:
        names.append("y")
    draws = uncertainty is not None and uncertainty.sampled and call.options.sample is None
    what = "models" if call.model.startswith("models") else "model"
    imports = "import numpy as np\n" * draws + "import skedasis as sd"
    return f"{imports}\n# {what}, {', '.join(names)}: as passed to sd.report"


GIVEN = ("y", "split")
"""Labels and values of a split, to which the code refers by name."""


def split_code(split: object) -> str:
    """Return a split as source code: a column, or the name of an array; empty without any."""
    return "" if split is None else repr(split) if isinstance(split, (str, int)) else "split"


def _feature_code(
    call: Call, name: str, kind: str, pdp: PDP, labels: Mapping[str, str]
) -> dict[tuple[str, ...], str]:
    main, ale = method_code(main_method(kind)), method_code(ALE())
    if kind == "nominal":  # the default gives their ALE
        main = ale = ""
    methods = {"main": main, "ale": ale, "pdp": method_code(pdp), "mplot": method_code(MPlot())}
    effects = {part: call.explain(repr(name), method) for part, method in methods.items()}
    plots = effects | {"main": call.explain(repr(name), main, **labels)}
    seed = f", random_state={call.options.seed!r}" if call.options.seed else ""
    compared = ", ".join(effects[part] for part in ("ale", "pdp", "mplot"))
    return {
        **{(part, name): f"{effect}.plot()" for part, effect in plots.items()},
        ("compare", name): f"sd.compare([{compared}])",
        ("checks", name): f"{effects['main']}.checks(X=X, beside={effects['pdp']}{seed})",
    }


def _uncertainty_code(call: Call, uncertainty: UncertaintySection) -> dict[tuple[str, ...], str]:
    """Return the code of the figures about predictive uncertainty."""
    found: dict[tuple[str, ...], str] = {}
    model, entropy = call.bare or call.model, f"sd.entropy({call.bare or call.model})"
    taken: dict[str, str] = {}
    if uncertainty.sampled and call.options.sample is not None:
        taken["sample"] = repr(ROWS)
    elif uncertainty.sampled:
        some = f"np.random.default_rng({call.options.seed}).choice(len(X), {ROWS}, replace=False)"
        weights = "" if call.options.sample_weight is None else "sample_weight * "
        taken["sample_weight"] = f"{weights}np.isin(np.arange(len(X)), {some})"
    for name, effect in uncertainty.rhale.items():
        method = method_code(main_method(effect.about.feature.kind))
        found["entropy", name] = f"{call.explain(repr(name), method, entropy, **taken)}.plot()"
    for name, effect in uncertainty.pdp.items():
        method = method_code(PDP(ice=int(effect.spec.parameters.get("ice", 0))))
        text = call.explain(repr(name), method, entropy, **taken)
        found["entropy pdp", name] = f"{text}.plot()"
    if uncertainty.diagnosis is not None:
        kept = {name: repr(value) for name, value in uncertainty.diagnose_keywords.items()}
        keywords = call.keywords(without=("y", "heterogeneity_rows"), **kept)
        found["diagnosis",] = f"sd.diagnose({model}, X, y{keywords}).plot()"
    return found


def program(code: Mapping[tuple[str, ...], str], keys: Iterable[tuple[str, ...]]) -> str:
    """Return the code of some figures as a program; empty if none of them is known."""
    lines = [code[key] for key in keys if key in code]
    return "\n".join([code["import",], "", *lines]) if lines else ""
