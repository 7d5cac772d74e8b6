"""Content of a report as values, and how it is computed.

| file | what it holds |
|---|---|
| `gathering` | `gather`: from models and data to a `Story` |
| `told` | `Story`, and `Told`: all there is to tell of one model, or of one of its outputs |
| `telling` | one model: its passes, and what follows from them |
| `asked` | the model asked by several methods: effects, complaints, costs; its predictions, once |
| `quality`, `scores` | how well it predicts; the scores themselves |
| `ledger` | how much of the variance the drawn effects add up to |
| `interest` | importance against heterogeneity score, with intervals |
| `together` | the strongest pairs |
| `unsure` | what makes it unsure |
| `codes` | the code that makes each figure |
| `rowless` | results without a row of the data |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np

from skedasis.data.categories import TooManyLevels
from skedasis.data.dataset import Source, as_source
from skedasis.data.features import Feature, OutOfRange
from skedasis.engine.select import Choice
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.methods.ale import ALE, RHALE
from skedasis.methods.ale_categorical import MOST_LEVELS
from skedasis.methods.mplot import MPlot
from skedasis.models.introspection import title
from skedasis.plots.svg.overview import Place
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import as_quantity
from skedasis.report.code import CURVES, Call, codes, pdp_method
from skedasis.report.format import listed
from skedasis.report.interactions import Ledger, Together, ledger, strongest
from skedasis.report.passes import UNSCORED, Answers, Asked, Label, Pass, with_scores
from skedasis.report.quality import Quality, quality
from skedasis.report.uncertainty import Unsure, model_of, unsure
from skedasis.results.build.steps import BOTH, DOWN, UP
from skedasis.results.checks.check import Trust
from skedasis.results.checks.extrapolation import Space
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.surface import Surface

# ------------------------------------------------------------------------------------------
# What a report tells, as values.


Code = Mapping[tuple[str, ...], str]
"""Code by what it makes: a kind of figure, and the feature or features of it; see `skedasis.report.code`."""


@dataclass(frozen=True, eq=False)
class Told:
    """What there is to tell of one model, or of one of its outputs.

    Parameters
    ----------
    name : str
        The user's name for it; of one of several outputs with that behind it.
    model, quantity, axis : str
        What the model is; what is explained of it, and that with its unit.
    rhale, ale, pdp : Effects
        Of all features. Nominal features, which have no RHALE, have their ALE in its place. All have the heterogeneity
        scores of `rhale`: a score does not depend on the method.
    warnings : tuple of str
        What the methods complained of.
    note : str
        One sentence of the user's, such as how well the model predicts.
    passes : tuple of Effects or Pass
        What the model was asked, for its provenance. What was asked for all outputs of a model stands with the first.
    mplot : Effects
        M-plots of all features: what is seen in the data, whatever brings it about.
    trust : dict of str to Trust
        What there is to object to each feature's RHALE.
    places : tuple of Place
        Importance and heterogeneity score of each feature with intervals, the most important first.
    quality : Quality, optional
        How well the model predicts the labels.
    ledger : Ledger, optional
        How much of the quantity's variance the effects add up to.
    together : Together
        The pairs that interact most strongly.
    unsure : Unsure, optional
        What makes the model unsure; with the first of several outputs.
    reasons : dict of str to str
        Why "quality", "ledger" or "unsure" is not there.
    code : dict
        What makes each figure again.
    """

    name: str
    model: str
    quantity: str
    axis: str
    rhale: Effects
    ale: Effects
    pdp: Effects
    warnings: tuple[str, ...] = ()
    note: str = ""
    passes: tuple[Effects | Pass, ...] = ()
    mplot: Effects = field(default_factory=lambda: Effects({}))
    trust: Mapping[str, Trust] = field(default_factory=dict)
    places: tuple[Place, ...] = ()
    quality: Quality | None = None
    ledger: Ledger | None = None
    together: Together = field(default_factory=Together)
    unsure: Unsure | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    code: Code = field(default_factory=dict)

    @property
    def pairs(self) -> tuple[Surface, ...]:
        """Return the surfaces of the pairs that interact most strongly, strongest first."""
        return self.together.surfaces


@dataclass(frozen=True, eq=False)
class Story:
    """What there is to tell.

    Parameters
    ----------
    told : tuple of Told
        One a model, or one an output.
    rows : int
        Rows that were explained on.
    columns : int
        Columns of X.
    features : tuple of str
        Those that are explained, the most important first: by the largest share of a model's importances.
    left_out : tuple of str
        Features of more levels than can be looked at.
    remarks : tuple of str
        Cautions about the data.
    with_rows : bool
        Whether results keep rows and individual curves, and pictures show them.
    data : tuple of str
        Sentences that describe the data, for the top of the page.
    """

    told: tuple[Told, ...]
    rows: int
    columns: int
    features: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    with_rows: bool = True
    data: tuple[str, ...] = ()


# ------------------------------------------------------------------------------------------
# Each feature's importance and heterogeneity score, with intervals.


LEVEL, REPLICATES = 0.95, 200
"""Of the bootstrap intervals: whiskers of a picture need no third digit."""


ROWS = 20_000
"""With more rows their moments are drawn instead of them: as exact there, and a hundred times as fast."""


Ends = Mapping[str, tuple[float, float] | None]


def places(effects: Effects, seed: int) -> tuple[Place, ...]:
    """Return the places of all features, the most important first.

    Parameters
    ----------
    effects : Effects
    seed : int
        Of the bootstrap.

    Notes
    -----
    No model row. Importances have bootstrap intervals, scores those of their pairs of rows. Features of one value have
    no interval of the importance, nor have those whose kept rows do not give one.
    """
    across = _ends(effects, seed)
    return tuple(
        Place(
            rank.feature,
            effects[rank.feature].about.feature.kind,
            rank.importance,
            rank.heterogeneity_score,
            across[rank.feature],
            _score_ends(effects[rank.feature]),
        )
        for rank in effects.ranking()
    )


def _score_ends(effect: Effect) -> tuple[float, float] | None:
    """Return the ends of the interval of a heterogeneity score; None where there is none."""
    if effect.swap_score is None:
        return None
    low, high = (float(end) for end in effect.interval(LEVEL, of="heterogeneity_score"))
    return (low, high) if np.isfinite([low, high]).all() else None


def _ends(effects: Effects, seed: int) -> Ends:
    """Return the ends of the intervals of all features' importances; None where there is none."""
    ends: dict[str, tuple[float, float] | None] = dict.fromkeys(effects)
    for large in (False, True):
        some = {
            n: e for n, e in effects.items() if len(e.points) > 1 and (_rows(e) > ROWS) == large
        }
        for name, (low, high) in _bootstrap(some, seed, "moments" if large else None).items():
            if np.isfinite([low, high]).all():
                ends[name] = float(low), float(high)
    return ends


def _rows(effect: Any) -> int:
    return 0 if effect.rows is None else len(effect.rows)


def _bootstrap(some: dict[str, Any], seed: int, source: Any) -> dict[str, Any]:
    """Return intervals, of all features at once if none refuses."""
    options: dict[str, Any] = {
        "of": "importance",
        "replicates": REPLICATES,
        "seed": seed,
        "source": source,
    }
    try:
        return Effects(some).interval(LEVEL, "bootstrap", **options) if some else {}
    except UnsupportedError:
        if len(some) == 1:
            return {}
    found: dict[str, Any] = {}
    for name, effect in some.items():
        found |= _bootstrap({name: effect}, seed, source)
    return found


# ------------------------------------------------------------------------------------------
# Results without the rows behind them, for pages that are to hold none.


@overload
def without_rows(result: Effect) -> Effect: ...


@overload
def without_rows(result: Effects) -> Effects: ...


@overload
def without_rows(result: Surface) -> Surface: ...


def without_rows(result: Any) -> Any:
    """Return a result without kept rows and individual curves; what rests on them is as it was.

    Parameters
    ----------
    result : Effect, Effects or Surface

    Notes
    -----
    Edges of bins, points of grids and levels stay: they are single values of a column, no rows. What asks for rows, as
    `Surface.interaction_strength` and intervals by bootstrap do, has to be asked before.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> e = without_rows(sd.explain(lambda X: X[:, 0] * X[:, 1], X, "x0", method=sd.PDP(ice=10)))
    >>> e.rows is None, e.curves is None
    (True, True)
    """
    if isinstance(result, Effects):
        return Effects({n: without_rows(e) for n, e in result.items()}, result.provenance)
    if isinstance(result, Effect):
        bare = replace(result, rows=None, curves=None)
        if result.spec.local != "integer_steps":
            return bare
        # Of many whole numbers each observed one is kept, with its rows' steps: nearly rows.
        moments = {k: m for k, m in result.moments.items() if k not in (UP, DOWN, BOTH)}
        return replace(bare, values=None, moments=moments)
    return replace(result, rows=None)


# ------------------------------------------------------------------------------------------
# From one model to what there is to tell of it: its passes, and what follows from them without asking it again.


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


# ------------------------------------------------------------------------------------------
# What a report tells, computed: each model's effects by several methods, and what follows from them.


def gather(
    models: Any,
    X: Any,
    y: Any = None,
    *,
    features: Sequence[Any] | None = None,
    weights: Any = None,
    schema: Any = None,
    groups: Any = None,
    notes: Mapping[str, str] | None = None,
    pairs: int = 4,
    rows: bool = True,
    uncertainty: bool = True,
    **options: Any,
) -> Story:
    """Explain each model by RHALE, ALE, M-plots and PDP with c-ICE, and say what follows from these.

    Parameters
    ----------
    models : model or mapping of str to model
        Quantities, fitted estimators or callables. One with several outputs is told of output by output.
    X, y, weights, schema, groups
        As in `skedasis.explain`. Rows may miss their label where the quantity does not need it.
    features : list, optional
        By default every one that has no more than 2,000 levels.
    notes : mapping of str to str, optional
        A sentence about each model, by its name.
    pairs : int
        How many surfaces of pairs to keep of each model: the strongest by second-order ALE among pairs of the five
        features with the largest heterogeneity scores. 0 computes none.
    rows : bool
        False keeps no row and no individual curve in any result.
    uncertainty : bool
        Whether to explain the entropy of models that have a predictive distribution, and to diagnose them where labels
        are given.
    **options
        ``seed``, ``memory``, ``keep``, ``threads``, ``progress``, ``tree``, ``heterogeneity_rows``: as in
        `skedasis.explain`.

    Returns
    -------
    Story

    Raises
    ------
    DataError, UnsupportedError, ModelOutputError
        As `skedasis.explain`.

    Notes
    -----
    All features that share a method do so in one pass. In model rows, of N rows and d features: RHALE 2 N d (N slope
    rows where there are slopes), the heterogeneity scores of n rows n (d + 2), ALE 2 N d, PDP 50 N d, M-plots N,
    predictions N, at most ten pairs 4 N each (fewer where they would cost more than 2,000,000), the entropy at most
    2,000 (53 d + 3) and the diagnosis 2,000 (1 + 5 d). For tree ensembles only the predictions call the model.
    """
    _check(pairs, rows, uncertainty)
    quantities = _named(models)
    source = as_source(X, y, weights, schema)
    chosen, left_out, remarks = _chosen(source, features, groups)
    options |= {"y": y, "weights": weights, "schema": schema, "groups": groups}
    wanted = Wanted(tuple(chosen), int(pairs), bool(rows), bool(uncertainty), len(source))
    told = tuple(
        one
        for name, quantity in quantities.items()
        for one in tell(
            Asked(quantity, X, dict(options)),
            wanted,
            name,
            (notes or {}).get(name, ""),
            _written(models, name, options),
        )
    )
    size = len(source), len(source.features)
    order = _in_order(told, [f.name for f in chosen])
    return Story(told, *size, order, tuple(left_out), tuple(remarks), wanted.rows)


def _check(pairs: Any, rows: Any, uncertainty: Any) -> None:
    whole = isinstance(pairs, (int, np.integer)) and not isinstance(pairs, bool)
    if not whole or pairs < 0:
        raise DataError(
            explained("report(pairs)", repr(pairs), "a whole number from 0", "Use pairs=4")
        )
    for name, given in (("rows", rows), ("uncertainty", uncertainty)):
        # What is to be left out must not be there because "no" is true.
        if not isinstance(given, (bool, np.bool_)):
            raise DataError(
                explained(f"report({name})", repr(given), "True or False", f"Use {name}=False")
            )


def _written(models: Any, name: str, options: Mapping[str, Any]) -> Call:
    """Return how a model's user calls it."""
    given: Any = models
    text = "model"
    if isinstance(models, Mapping):
        key = next(k for k in models if str(k) == name)
        given, text = models[key], f"models[{key!r}]"
    bare = ""
    if isinstance(given, Quantity):
        bare = f"{text}.one.model" if hasattr(given, "one") else f"{text}.model"
        if given.labelled:
            return Call(text, options, bare=bare)
    return Call(text, {**options, "y": None}, bare=bare)


def _named(models: Any) -> dict[str, Quantity]:
    """Return quantities by name; a single model is called by what it is."""
    if not isinstance(models, Mapping):
        quantity = as_quantity(models)
        return {title(model_of(quantity) or quantity): quantity}
    if not models:
        raise DataError(
            explained("report", "no model", "at least one", 'Pass a model, or {"name": model}')
        )
    return {str(name): as_quantity(model) for name, model in models.items()}


def _chosen(source: Source, wanted: Any, groups: Any) -> tuple[list[Feature], list[str], list[str]]:
    """Return the features to explain, the names of those that have too many levels to be, and remarks on others."""
    if wanted is not None:
        wanted = [wanted] if isinstance(wanted, (str, int, np.integer)) else list(wanted)
    choice = Choice(source, wanted, groups)
    if choice.pairs:
        raise UnsupportedError(
            explained(
                "report(features)",
                f"the pair {[f.name for f in choice.asked[0]]}",
                "single features",
                "Explain pairs by sd.explain(model, X, (a, b)).plot()",
            )
        )
    features = list({f.name: f for (f,) in choice.asked}.values())
    empty = [f.name for f in features if _empty(source, f)] if wanted is None else []
    if len(empty) == len(features):
        empty = []  # nothing would be left: the first one's error says it
    beyond = [] if wanted is not None else [f.name for f in features if _out_of_range(source, f)]
    if len(empty) + len(beyond) == len(features):
        beyond = []  # likewise
    others = [f for f in features if f.name not in (*empty, *beyond)]
    left_out = [f.name for f in others if _countless(source, f)] if wanted is None else []
    if len(left_out) == len(others):
        raise UnsupportedError(
            explained(
                "report",
                f"no feature with at most {MOST_LEVELS:,} levels among {len(features)}",
                "at least one",
                'Declare codes that are numbers: schema={"name": "continuous"}',
            )
        )
    remarks = [f"Left out, having no value in any row: {listed(empty, 20)}."] if empty else []
    if beyond:
        remarks.append(
            f"Left out because their numbers are too large, or too close together, for float64: {listed(beyond, 20)}. "
            "The model still uses these features."
        )
    return [f for f in others if f.name not in left_out], left_out, remarks


def _out_of_range(source: Source, feature: Feature) -> bool:
    """Return whether a feature has numbers with which float64 cannot compute."""
    if feature.categorical or len(feature.columns) > 1:
        return False
    try:
        source.column(feature.position)
    except OutOfRange:
        return True
    except DataError:
        return False
    return False


def _empty(source: Source, feature: Feature) -> bool:
    """Return whether no row has a value of a feature."""
    if len(feature.columns) > 1:
        return False
    if not feature.categorical:
        return bool(np.isnan(source.table.column(feature.position, source.row_id)).all())
    try:
        return not len(source.levels(feature, top=1).levels.labels)
    except TooManyLevels:
        return False
    except DataError:
        return True


def _countless(source: Source, feature: Feature) -> bool:
    """Return whether a feature has too many levels to be explained."""
    if not feature.categorical:
        return False
    try:
        source.levels(feature, most=MOST_LEVELS)
    except TooManyLevels:
        return True
    return False


def _in_order(told: Sequence[Told], names: list[str]) -> tuple[str, ...]:
    """Return the features by the largest share that any model gives them: models may differ in their units."""
    shares = np.zeros((len(told), len(names)))
    for k, one in enumerate(told):
        importances = np.array([one.rhale[n].importance for n in names])
        total = importances.sum()
        shares[k] = importances / total if total > 0 else 0.0
    order = np.argsort(-shares.max(axis=0), kind="stable")
    return tuple(names[j] for j in order)
