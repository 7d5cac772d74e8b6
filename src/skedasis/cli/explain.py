"""The commands `effect`, `importance` and `report`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skedasis.cli import completion, inputs, options, output
from skedasis.cli.completion import IMPORTANCES, LOSSES, METHODS, QUANTITIES, importances, losses
from skedasis.cli.inputs import named
from skedasis.cli.options import (
    Data,
    DataArgument,
    FeatureArguments,
    Features,
    Model,
    ModelArgument,
    Told,
    Trust,
)
from skedasis.cli.output import Out
from skedasis.errors import DataError, ModelOutputError, UnsupportedError, explained

if TYPE_CHECKING:
    from skedasis.cli.inputs import Columns
    from skedasis.cli.options import Rows
    from skedasis.cli.output import Talk


# ------------------------------------------------------------------------------------------
# `skedasis effect`: what features do.


EFFECT_EXAMPLES = """Examples

\b
skedasis effect model.txt houses.csv age --target price
    its numbers, by RHALE
skedasis effect my:model houses.csv town -o town.png
    a feature with levels: by ALE, as a figure
skedasis effect my:model houses.csv age size --method pdp -o curves.csv
    two features: curves-age.csv and curves-size.csv
skedasis effect my:model houses.csv age --with town -o both.png
    what two features do together
skedasis effect my:model houses.csv zip --categorical zip
    codes that are numbers, but have no order
skedasis effect my:model houses.csv heating --group heating=gas,oil,wood
    a one-hot block, moved as one
skedasis effect my:clf houses.csv age --class all -o age.png
    each class: age-<class>.png
skedasis effect my:clf houses.csv age --quantity entropy --json
    what makes the model uncertain, for machines
"""


@dataclass(frozen=True, kw_only=True)
class EffectOrder(Features, Model, Trust, Data, Told):
    """The options of `skedasis effect`."""

    model_: ModelArgument = None
    data_: DataArgument = None
    more: FeatureArguments = None
    out: Out = None
    method: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(METHODS)}. By default rhale; ale for a feature whose levels have no order, and "
            "for two features.",
            metavar="NAME",
            show_default=False,
            autocompletion=completion.methods,
        ),
    ] = None
    bins: Annotated[
        int | None,
        typer.Option(help="Bins; points of the grid for pdp and ice.", metavar="N", min=1),
    ] = None
    with_: Annotated[
        str | None,
        typer.Option(
            "--with",
            help="A second feature: what the two do together.",
            metavar="COLUMN",
            autocompletion=completion.columns,
        ),
    ] = None
    quantity: Annotated[
        str | None,
        typer.Option(
            help=f"What is explained: {', '.join(QUANTITIES)}. By default the prediction, of two classes the "
            "probability of the second.",
            metavar="NAME",
            show_default=False,
            autocompletion=completion.quantities,
        ),
    ] = None
    loss: Annotated[
        str | None,
        typer.Option(
            help=f"Of --quantity loss: {', '.join(completion.LOSSES)}.",
            metavar="NAME",
            show_default=False,
            autocompletion=completion.losses,
        ),
    ] = None
    heterogeneity_rows: options.HeterogeneityRows = options.HETEROGENEITY_ROWS
    threads: Annotated[int, typer.Option(help="Threads that work.", metavar="N", min=1)] = 1


def effect(order: EffectOrder, talk: Talk) -> dict[str, Any]:
    """Explain features, or two together: print the numbers, and write a figure or the numbers into a file."""
    if order.method is not None:
        inputs.method_of(order.method, order.bins)
    models, data, more = inputs.placed(
        order.model, order.data, order.model_, order.data_, order.more
    )
    path = options.needed(models, data, "effect")
    output.check_out(order.out, [path, *models])
    named = [*more, *(order.feature or ()), *inputs.listed(order.features, "--features")]
    labelled = _check(order, named)
    table = inputs.read(order, path, talk, order.bars)
    model = inputs.load(order, models[0], talk, order.bars)
    rows = inputs.rows_of(order, table, talk, labelled=labelled)
    columns = inputs.columns_of(order, rows.table, model)
    wanted: list[Any] = [columns.find(name, "--feature") for name in dict.fromkeys(named)]
    if order.with_ is not None:
        wanted = [(wanted[0], columns.find(order.with_, "--with"))]
    quantity = inputs.quantity_of(model, order.class_, order.quantity, order.loss)
    results: list[tuple[dict[str, Any], Any]] = []
    for one in wanted:
        apart = {"feature": columns.name(one)} if len(wanted) > 1 else {}
        labels = rows.labels if labelled else None
        found = _explained(order, quantity, columns, rows, labels, one)
        several = found.items() if isinstance(found, dict) else [(None, found)]
        results += [
            (apart if label is None else {**apart, "class": label}, part) for label, part in several
        ]
    return {"rows": rows.counts, **output.tell(results, order.out, talk, [path, *models])}


def _check(order: EffectOrder, named: list[str]) -> bool:
    """Check what can be checked before anything is read; return whether the labels are part of the quantity.

    Raises
    ------
    DataError
    """
    if not named:
        fix = "Write it as skedasis effect MODEL DATA FEATURE"
        raise DataError(explained("FEATURE", "none", "a column to explain", fix))
    if order.with_ is not None and len(named) > 1:
        got = f"{len(named)} features besides"
        raise DataError(explained("--with", got, "one", "Name one pair at a time"))
    return inputs.check_labels(order.quantity, order.class_, order.loss, order.target)


def _explained(
    order: EffectOrder, quantity: Any, columns: Columns, rows: Rows, labels: Any, wanted: Any
) -> Any:
    from skedasis.engine.explain import explain

    name = order.method or inputs.usual_method(columns.features(wanted))
    return explain(
        quantity,
        columns.table.data,
        wanted,
        method=inputs.method_of(name, order.bins),
        y=labels,
        weights=rows.weights,
        schema=columns.schema,
        groups=columns.groups,
        seed=order.seed,
        heterogeneity_rows=order.heterogeneity_rows,
        threads=order.threads,
        progress=order.bars,
    )


# ------------------------------------------------------------------------------------------
# `skedasis importance`: how much a model needs each feature, and whether that can be taken at its word.


_LABELLED = ("both", "likelihood", "loss")


_FOREST_ROWS = 2000, 100
"""What `sd.diagnose` takes by default, and what a forest should have however few rows are asked for."""


IMPORTANCE_EXAMPLES = """Examples

\b
skedasis importance my:clf houses.csv --target sold
    likelihood and entropy of each feature, and a verdict
skedasis importance my:clf houses.csv --target sold -o sold.png
    the same as a figure
skedasis importance model.txt houses.csv --target price --loss absolute_error
    permutation importance of a loss
skedasis importance model.txt houses.csv --target price --weights visits
    some rows count more than once
skedasis importance my:model houses.csv age size --target price
    of some features
skedasis importance my:clf houses.csv --quantity entropy --sample 100
    what makes the model certain, at a hundred rows: needs no target
skedasis importance my:clf houses.csv --target sold --group fuel=gas,oil,wood
    columns that move together
skedasis importance my:clf houses.csv --target sold --json
    for machines
"""


@dataclass(frozen=True, kw_only=True)
class ImportanceOrder(Features, Model, Trust, Data, Told):
    """The options of `skedasis importance`."""

    model_: ModelArgument = None
    data_: DataArgument = None
    more: FeatureArguments = None
    out: Out = None
    quantity: Annotated[
        str | None,
        typer.Option(
            help=f"What rises when a feature's values are replaced: {', '.join(IMPORTANCES)}. By default both "
            "(likelihood and entropy, with a verdict) of a model with a predictive distribution, else its loss.",
            show_default=False,
            metavar="NAME",
            autocompletion=importances,
        ),
    ] = None
    loss: Annotated[
        str | None,
        typer.Option(
            help=f"{', '.join(LOSSES)}. By default squared_error, of classes zero_one.",
            show_default=False,
            metavar="NAME",
            autocompletion=losses,
        ),
    ] = None
    repeats: Annotated[
        int, typer.Option(help="Permutations of each feature.", metavar="N", min=1)
    ] = 10
    conditional: Annotated[
        bool,
        typer.Option(
            "--conditional",
            help="Replace values within groups of rows that are alike in the rest; of likelihood and loss.",
        ),
    ] = False
    rows: Annotated[
        int | None,
        typer.Option(
            help="Replace values in a sample of so many rows; by default in all.",
            metavar="N",
            min=1,
        ),
    ] = None
    threads: Annotated[int, typer.Option(help="Threads that work.", metavar="N", min=1)] = 1


@dataclass(frozen=True)
class Asked:
    """What the options ask for.

    Parameters
    ----------
    quantity : str, optional
        One of `complete.IMPORTANCES`; None leaves it to the model.
    loss : str, optional
    repeats : int
    rows : int, optional
    conditional : bool
    class_ : str, optional
    seed : int
    features : tuple of str
        By their names; all of them where none is named.
    threads : int
    """

    quantity: str | None
    loss: str | None
    repeats: int
    rows: int | None
    conditional: bool
    class_: str | None
    seed: int
    features: tuple[str, ...]
    threads: int

    def __post_init__(self) -> None:
        if self.quantity is not None and self.quantity not in IMPORTANCES:
            known = ", ".join(IMPORTANCES)
            raise DataError(
                explained("--quantity", repr(self.quantity), f"one of {known}", "Name one")
            )
        if self.class_ is not None and self.quantity != "prediction":
            self._refuse("--class", "prediction", "Name it, or leave --class out")
        if self.loss is not None and self.quantity not in (None, "loss"):
            self._refuse("--loss", "loss", "Leave --quantity out")
        if self.conditional and self.quantity in ("both", "entropy", "variance", "prediction"):
            # Drawn from its conditional distribution a feature leaves the joint one as it is (Proposition 3).
            self._refuse("--conditional", "likelihood or loss", "Leave --conditional out")
        if self.features and self.quantity == "both":
            # What features share is found out of all of them.
            self._refuse("FEATURE", "likelihood or entropy", "Name one, or no feature")

    def _refuse(self, option: str, expected: str, fix: str) -> None:
        got = "no --quantity" if self.quantity is None else f"--quantity {self.quantity}"
        raise DataError(explained(option, got, f"--quantity {expected}", fix))

    @property
    def method(self) -> Any:
        """Return the method."""
        from skedasis.methods.permutation import PFI

        return PFI(repeats=self.repeats, max_samples=self.rows, conditional=self.conditional)


def importance(order: ImportanceOrder, talk: Talk) -> dict[str, Any]:
    """Say how much a model needs each feature: print the numbers, and write a figure or the numbers into a file.

    Bring rows that the model was not trained on. Of rows that it knows by heart, values of other rows make it worse and
    less certain whatever the feature is: even noise looks important, and shared.
    """
    models, data, more = inputs.placed(
        order.model, order.data, order.model_, order.data_, order.more
    )
    named = [*more, *(order.feature or ()), *inputs.listed(order.features, "--features")]
    asked = Asked(
        order.quantity,
        order.loss,
        order.repeats,
        order.rows,
        order.conditional,
        order.class_,
        order.seed,
        tuple(dict.fromkeys(named)),
        order.threads,
    )
    path = options.needed(models, data, "importance")
    output.check_out(order.out, [path, *models])
    # The columns that are named are looked for at once: a model may take long to load.
    table = inputs.read(order, path, talk, order.bars)
    model = inputs.load(order, models[0], talk, order.bars)
    labelled = asked.quantity in (None, *_LABELLED)
    rows = inputs.rows_of(order, table, talk, labelled=labelled)
    columns = inputs.columns_of(order, rows.table, model)
    asked = _settled(asked, model, columns, rows.labels, talk)
    found = _found(asked, model, columns, rows, order.bars)
    several = found.items() if isinstance(found, dict) else None
    results: Any = (
        [({}, found)] if several is None else [({"class": label}, one) for label, one in several]
    )
    return {"rows": rows.counts, **output.tell(results, order.out, talk, [path, *models])}


def _settled(asked: Asked, model: Any, columns: Columns, labels: Any, talk: Talk) -> Asked:
    """Settle what the options leave open, and say so.

    Raises
    ------
    DataError
        For labels that are needed and not there.
    """
    from skedasis.models.introspection import title

    if asked.quantity is None:
        predictive = asked.loss is None and _is_predictive(model, columns)
        usual = "likelihood" if asked.conditional or asked.features else "both"
        asked = replace(asked, quantity=usual if predictive else "loss")
        if not predictive and asked.loss is None:
            asked = replace(asked, loss=_usual_loss(model, labels))
            talk.say(f"loss      {asked.loss}, for {title(model)} says nothing of its uncertainty")
    if asked.quantity == "loss" and asked.loss is None:
        asked = replace(asked, loss=_usual_loss(model, labels))
    if asked.quantity in _LABELLED and labels is None:
        raise DataError(
            explained(
                "--target",
                f"none, for --quantity {asked.quantity}",
                "the column of the labels",
                "Name it, or use --quantity entropy or prediction, which need no labels",
            )
        )
    return asked


def _is_predictive(model: Any, columns: Columns) -> bool:
    """Return whether a model has a predictive distribution. A function tells by its answer for two rows."""
    from skedasis.quantities.uncertainty import entropy

    try:
        certain = entropy(model)
    except UnsupportedError:
        return False
    if hasattr(model, "predict"):
        return True
    two = list(range(min(2, len(columns.table))))
    try:
        certain.at(columns.table.take(two).data)  # type: ignore[arg-type]
    except (ModelOutputError, UnsupportedError):
        return False
    return True


def _usual_loss(model: Any, labels: Any) -> str:
    from skedasis.models.introspection import is_classifier

    text = labels is not None and labels.dtype.kind not in "fiub"
    return "zero_one" if is_classifier(model) or text else "squared_error"


def _found(asked: Asked, model: Any, columns: Columns, rows: Rows, bars: bool | None) -> Any:
    """Do the work."""
    from skedasis.analysis.diagnose import diagnose
    from skedasis.engine.explain import explain

    data: Any = columns.table.data
    said: Any = {"schema": columns.schema, "groups": columns.groups}
    said |= {"weights": rows.weights, "progress": bars, "threads": asked.threads}
    if asked.quantity != "both":
        quantity = _quantity(asked, model)
        wanted = [columns.find(name, "FEATURE") for name in asked.features] or None
        said |= {"y": rows.labels, "method": asked.method, "seed": asked.seed}
        return explain(quantity, data, wanted, **said)
    usual, least = _FOREST_ROWS
    return diagnose(
        model,
        data,
        rows.labels,
        repeats=asked.repeats,
        max_samples=asked.rows,
        dependence_rows=usual if asked.rows is None else min(usual, max(least, asked.rows)),
        seed=asked.seed,
        **said,
    )


def _quantity(asked: Asked, model: Any) -> Any:
    from skedasis.quantities import uncertainty
    from skedasis.quantities.loss import loss

    if asked.quantity == "loss":
        return loss(model, asked.loss or "squared_error")
    if asked.quantity == "prediction":
        return inputs.quantity_of(model, asked.class_)
    kinds = {
        "likelihood": uncertainty.nll,
        "entropy": uncertainty.entropy,
        "variance": uncertainty.predictive_variance,
    }
    return kinds[str(asked.quantity)](model)


# ------------------------------------------------------------------------------------------
# `skedasis report`: the whole story in one page.


PAGES = (".html", ".htm")


NUMBERS = ("importance", "heterogeneity_score", "heterogeneity_score_error")


REPORT_EXAMPLES = """Examples

\b
skedasis report model.txt houses.parquet --target price -o report.html
    all features of a LightGBM model, and how good it is at these rows
skedasis report my:model houses.csv --features age,size,town --title "Houses"
    some features, in report.html
skedasis report --model my:model --model my:other --data houses.csv age
    two models side by side
skedasis report my:clf houses.feather --target sold --sample 100 --seed 1
    at a sample of the rows
skedasis report model.skops houses.csv --target price --no-rows --pairs 0
    without any row's curve, and without pairs
"""


@dataclass(frozen=True, kw_only=True)
class Models(Model):
    """Which models."""

    model: Annotated[  # type: ignore[assignment] - several instead of one
        list[str] | None,
        typer.Option(
            help="The same as MODEL; may be repeated.",
            metavar="MODEL",
            show_default=False,
            rich_help_panel=options.MODEL,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ReportOrder(Features, Models, Trust, Data, Told):
    """The options of `skedasis report`."""

    model_: ModelArgument = None
    data_: DataArgument = None
    more: FeatureArguments = None
    out: Annotated[Path, typer.Option("--out", "-o", help="The page.", metavar="FILE")] = Path(
        "report.html"
    )
    title: Annotated[str | None, typer.Option(help="The page's title.", metavar="TEXT")] = None
    quantity: Annotated[
        str | None,
        typer.Option(
            help=f"What is explained: {', '.join(QUANTITIES)}. By default the prediction, of two classes the "
            "probability of the second.",
            metavar="NAME",
            show_default=False,
            autocompletion=completion.quantities,
        ),
    ] = None
    loss: Annotated[
        str | None,
        typer.Option(
            help=f"Of --quantity loss: {', '.join(completion.LOSSES)}.",
            metavar="NAME",
            show_default=False,
            autocompletion=completion.losses,
        ),
    ] = None
    pairs: Annotated[
        int,
        typer.Option(help="So many pairs of features, the strongest first.", metavar="N", min=0),
    ] = 4
    rows: Annotated[
        bool,
        typer.Option("--rows/--no-rows", help="Show single rows' curves. Nothing else shows rows."),
    ] = True
    uncertainty: Annotated[
        bool,
        typer.Option(
            "--uncertainty/--no-uncertainty",
            help="Say what makes a model uncertain, if it tells how uncertain it is.",
        ),
    ] = True
    heterogeneity_rows: options.HeterogeneityRows = options.HETEROGENEITY_ROWS
    threads: Annotated[int, typer.Option(help="Threads that work.", metavar="N", min=1)] = 1


def report(order: ReportOrder, talk: Talk) -> dict[str, Any]:
    """Write the whole story of one or several models into one page."""
    from skedasis.report.report import report as build

    specs, data, more = inputs.placed(
        order.model, order.data, order.model_, order.data_, order.more
    )
    path = options.needed(specs, data, "report")
    output.check_out(order.out, [path, *specs], PAGES)
    inputs.check_labels(order.quantity, order.class_, order.loss, order.target)
    names = named(specs)
    wanted = [*more, *(order.feature or ()), *inputs.listed(order.features, "--features")]
    table = inputs.read(order, path, talk, order.bars)
    models = {
        name: inputs.load(order, spec, talk, order.bars)
        for name, spec in zip(names, specs, strict=True)
    }
    rows = inputs.rows_of(order, table, talk, labelled=True)
    columns = inputs.columns_of(order, rows.table, next(iter(models.values())))
    plain = order.class_ is None and order.quantity is None and order.loss is None
    asked: Any = {
        name: model
        if plain
        else inputs.quantity_of(model, order.class_, order.quantity, order.loss)
        for name, model in models.items()
    }
    done = build(
        asked if len(asked) > 1 else next(iter(asked.values())),
        columns.table.data,
        rows.labels,
        order.out,
        features=[columns.find(f, "--feature") for f in dict.fromkeys(wanted)] or None,
        schema=columns.schema,
        groups=columns.groups,
        weights=rows.weights,
        title=order.title,
        seed=order.seed,
        threads=order.threads,
        progress=order.bars,
        pairs=order.pairs,
        rows=order.rows,
        uncertainty=order.uncertainty,
        heterogeneity_rows=order.heterogeneity_rows,
    )
    talk.lines([] if talk.quiet else [f"page     {done.path}"])
    return {"rows": rows.counts, "models": _numbers(done), "written": [done.path]}


def _numbers(done: Any) -> dict[str, Any]:
    """Return the numbers of a page's ranking, by model, method and feature."""
    return {
        model: {
            method: {
                feature: {name: getattr(effect, name) for name in NUMBERS}
                for feature, effect in effects.items()
            }
            for method, effects in methods.items()
        }
        for model, methods in done.effects.items()
    }
