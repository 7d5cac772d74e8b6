"""From one model to what there is to tell of it: its passes, and what follows from them without asking it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from skedasis.data.dataset import Source
from skedasis.data.features import Feature
from skedasis.methods.ale import ALE, RHALE
from skedasis.methods.mplot import MPlot
from skedasis.models.introspection import title
from skedasis.report.story.asked import UNSCORED, Answers, Asked, Label, Pass, with_scores
from skedasis.report.story.codes import CURVES, Call, codes, pdp_method
from skedasis.report.story.interest import places
from skedasis.report.story.ledger import ledger
from skedasis.report.story.quality import quality
from skedasis.report.story.rowless import without_rows
from skedasis.report.story.together import Together, strongest
from skedasis.report.story.told import Told
from skedasis.report.story.unsure import Unsure, model_of, unsure
from skedasis.results.checks.check import Trust
from skedasis.results.checks.extrapolation import Space
from skedasis.results.effects import Effects

ByOutput = dict[Label, Effects]


@dataclass(frozen=True)
class Wanted:
    """What is to be told.

    Parameters
    ----------
    features : tuple of Feature
    pairs : int
        Surfaces of each output.
    rows, uncertainty : bool
    size : int
        Rows that take part.
    """

    features: tuple[Feature, ...]
    pairs: int
    rows: bool
    uncertainty: bool
    size: int

    def names(self, *, nominal: bool | None = None) -> list[str]:
        """Return the features' names: all, or those that are nominal, or those that are not."""
        some = (f for f in self.features if nominal in (None, f.kind == "nominal"))
        return [f.name for f in some]


@dataclass(frozen=True, eq=False)
class Shared:
    """What the outputs of a model share.

    Parameters
    ----------
    asked : Asked
    wanted : Wanted
    source : Source
    space : Space
        The rows as points, for `Effect.trust`.
    answers : Answers
    together : dict of label to Together
    unsure : Unsure, optional
    why_not : str
        Why there is none.
    """

    asked: Asked
    wanted: Wanted
    source: Source
    space: Space
    answers: Answers
    together: Mapping[Label, Together]
    unsure: Unsure | None
    why_not: str


def tell(asked: Asked, wanted: Wanted, name: str, note: str, call: Call) -> list[Told]:
    """Return what there is to tell of one model: of each of its outputs."""
    found = _passes(asked, wanted)
    labels = list(found["main"])
    shared = _shared(asked, wanted, found["main"])
    told: list[Told] = []
    for label in labels:
        effects = {kind: of.get(label, Effects({})) for kind, of in found.items()}
        written = call if label is None else replace(call, output=f"[{label!r}]")
        called = name if label is None else f"{name}: {label}"
        one = _told(shared, label, effects, written)
        one = replace(one, name=called, note=note)
        told.append(one if not told else _later(one, told[0]))
    return told if wanted.rows else [_bare(one) for one in told]


def _later(one: Told, first: Told) -> Told:
    """Return what is told of another output: what is the model's stands with the first one."""
    if first.unsure is None:
        return replace(one, passes=())
    reasons = {**one.reasons, "unsure": f"The same for all outputs: see {first.name}."}
    return replace(one, passes=(), unsure=None, reasons=reasons)


def _passes(asked: Asked, wanted: Wanted) -> dict[str, ByOutput]:
    """Explain all features; each kind of feature by the methods that suit it.

    The heterogeneity score does not depend on the method: it is computed once for each feature.
    """
    every, nominal = wanted.names(), wanted.names(nominal=True)
    others = wanted.names(nominal=False)
    rhale, levels = asked.effects(RHALE(), others), asked.effects(ALE(), nominal)
    ale = asked.effects(ALE(), others, **UNSCORED)
    start = asked.effects(pdp_method("continuous", rows=wanted.rows), others, **UNSCORED)
    mean = asked.effects(pdp_method("nominal", rows=wanted.rows), nominal, **UNSCORED)
    main = _joined(rhale, levels, every)
    return {
        "main": main,
        "ale": _joined(_scored(ale, main), levels, every),
        "pdp": _scored(_joined(start, mean, every), main),
        "mplot": asked.effects(MPlot(), every, **UNSCORED),
    }


def _scored(found: ByOutput, main: ByOutput) -> ByOutput:
    return {label: with_scores(effects, main[label]) for label, effects in found.items()}


def _joined(first: ByOutput, second: ByOutput, names: Sequence[str]) -> ByOutput:
    """Return the effects of all features, each from the first of two passes that has it."""
    joined: ByOutput = {}
    for label in first or second:
        a, b = first.get(label, Effects({})), second.get(label, Effects({}))
        found = {n: (a if n in a else b)[n] for n in names}
        joined[label] = Effects(found, (a or b).provenance)
    return joined


def _shared(asked: Asked, wanted: Wanted, effects: ByOutput) -> Shared:
    """Ask for what rests on the effects, or is the same for all outputs."""
    answers = asked.answers()
    walked = _walked(asked)
    pairs = strongest(asked, effects, wanted.pairs, wanted.size, free=walked)
    doubt, why = None, "Uncertainty was not asked for."
    if wanted.uncertainty:
        curves = CURVES if wanted.rows else 0
        doubt, why = unsure(asked, wanted.features, asked.X, free=walked, ice=curves)
    space = Space.of(asked.X, asked.seed)
    return Shared(asked, wanted, asked.source(), space, answers, pairs, doubt, why)


def _walked(asked: Asked) -> bool:
    """Return whether an ensemble of trees is walked instead of being called."""
    said = [str(p.provenance.get("trees", "")) for p in asked.passes]
    return any(s.startswith("exact") for s in said)


def _told(shared: Shared, label: Label, effects: Mapping[str, Effects], call: Call) -> Told:
    """Put together what there is to tell of one output."""
    asked, source, main = shared.asked, shared.source, effects["main"]
    quantity, values = shared.answers.quantities[label], shared.answers.values[label]
    together = shared.together[label]
    good, no_quality = quality(quantity, values, shared.answers.raw, source.y, source.weights)
    spent, no_ledger = ledger(values, source, main, together.surfaces)
    reasons = {"quality": no_quality, "ledger": no_ledger, "unsure": shared.why_not}
    pairs = [s.features for s in together.surfaces]
    first = next(iter(main.values())).about
    return Told(
        name="",
        model=title(model_of(asked.quantity) or asked.quantity),
        quantity=first.quantity,
        axis=first.axis,
        rhale=main,
        ale=effects["ale"],
        pdp=effects["pdp"],
        warnings=tuple(dict.fromkeys(asked.complaints)),
        passes=tuple(asked.passes),
        mplot=effects["mplot"],
        trust=_trust(main, effects["pdp"], shared),
        places=places(main, asked.seed),
        quality=good,
        ledger=spent,
        together=together,
        unsure=shared.unsure,
        reasons={about: why for about, why in reasons.items() if why},
        code=codes(call, main, pairs, shared.unsure, rows=shared.wanted.rows),
    )


def _trust(effects: Effects, beside: Effects, shared: Shared) -> dict[str, Trust]:
    """Return what there is to object to each effect; the rows are read as points once."""
    return {
        name: effect.trust(X=shared.space, beside=beside[name], seed=shared.asked.seed)
        for name, effect in effects.items()
    }


def _bare(told: Told) -> Told:
    """Return the same with no row of the data in it."""
    pairs = tuple(without_rows(s) for s in told.together.surfaces)
    doubt = told.unsure
    if doubt is not None:
        doubt = replace(doubt, rhale=without_rows(doubt.rhale), pdp=without_rows(doubt.pdp))
    return replace(
        told,
        rhale=without_rows(told.rhale),
        ale=without_rows(told.ale),
        pdp=without_rows(told.pdp),
        mplot=without_rows(told.mplot),
        together=replace(told.together, surfaces=pairs),
        unsure=doubt,
        passes=tuple(Pass(p.provenance) for p in told.passes),
    )
