"""The commands `effect`, `importance` and `report`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast, get_args

import skedasis as sd
from skedasis._arguments import check_option
from skedasis._types import Values
from skedasis.cli import choices, completion, inputs, output
from skedasis.cli.completion import BOTH, LOSSES, measured
from skedasis.cli.options import FeatureOptions, MethodOptions, choice, column, option, shared
from skedasis.cli.output import Document, Terminal
from skedasis.cli.session import Session
from skedasis.engine.options import help_of
from skedasis.errors import DataError, ModelOutputError, UnsupportedError
from skedasis.models.introspection import is_classifier, title
from skedasis.registry import QUANTITIES
from skedasis.results.keywords import CurveScale

if TYPE_CHECKING:
    from skedasis.report.report import Report
    from skedasis.results.contrast import Contrast
    from skedasis.results.diagnosis import Diagnosis
    from skedasis.results.effect import Effect
    from skedasis.results.importance import Importance


# ---------------------------------------------------------------------------------------- effect
EFFECT_EXAMPLES = """Examples

\b
skedasis effect model.txt houses.csv age --target price
    print the effect of a feature, by RHALE
skedasis effect my:model houses.csv town -o town.png
    write a figure of a feature with levels, by ALE
skedasis effect my:model houses.csv age --contrast 30,50
    print also by how much the effect changes from 30 to 50
skedasis effect my:model houses.csv age size --method pdp -o curves.csv
    write two files: curves-age.csv and curves-size.csv
skedasis effect my:model houses.csv 'si*' --where "size > 50"
    explain features by pattern, for some of the rows
skedasis effect my:model houses.csv age --with town -o both.png
    draw the interaction of two features
skedasis effect my:model houses.csv zip --categorical zip
    treat numeric codes as levels without an order
skedasis effect my:model houses.csv heating --group heating=gas,oil,wood
    treat a one-hot block as one feature
skedasis effect my:clf houses.csv age --class all -o age.png
    write a file per class: age-<class>.png
skedasis effect my:clf houses.csv age --quantity entropy --json
    explain the predictive uncertainty, as JSON
"""


@dataclass(frozen=True, kw_only=True)
class EffectOptions(MethodOptions):
    """The options of `skedasis effect`."""

    panel: ClassVar[str | None] = None
    compares: ClassVar[bool] = True

    with_: str | None = column(
        "Second feature, to explain the interaction of two features.", "--with"
    )
    contrast: str | None = option(
        "Two values of the feature: also print the change of the effect from the first to the second, with "
        "its 95 % interval.",
        metavar="FROM,TO",
    )
    heterogeneity_rows: int = shared("heterogeneity_rows", 0)
    curves: int = shared("curves", 0)
    observed: bool = option(help_of("observed"), "--observed", default=False)
    split: str | None = column(help_of("split"))

    def needs_labels(self) -> bool:
        """Return whether the quantity or the observed means need labels."""
        labelled = super().needs_labels()
        if self.observed and self.target is None:
            fix = "Add --target COLUMN, or leave out --observed"
            raise DataError("--target", "none, for --observed", "the column of the labels", fix)
        return labelled or self.observed

    def check(self, named: Sequence[str]) -> None:
        """Check the options before any file is read."""
        super().check(named)
        if self.split is not None and not self.observed:
            fix = "Add --observed, or leave out --split"
            raise DataError("--split", "no --observed", "observed means, kept apart by it", fix)
        if not named:
            fix = "Run skedasis effect MODEL DATA FEATURE; '*' explains all columns"
            raise DataError("FEATURE", "none", "a column to explain", fix)
        if self.with_ is not None:
            _check_pair(named)
        if self.contrast is None:
            return
        if len(choices.listed(self.contrast, "--contrast")) != 2:
            fix = "Write for example --contrast 30,50"
            raise DataError("--contrast", repr(self.contrast), "two values, FROM,TO", fix)
        if self.with_ is not None or len(named) > 1:
            got = "--with" if self.with_ is not None else f"{len(named)} features"
            raise DataError("--contrast", got, "one feature", "Explain one feature at a time")


def effect(opts: EffectOptions, terminal: Terminal) -> Document:
    """Explain features, or the interaction of two: print the numbers, and write a figure or the numbers to a file."""
    s = Session.open(opts, terminal, "effect")
    wanted = s.features
    second = None if opts.with_ is None else s.columns.find(opts.with_, "--with")
    if second is not None:
        _check_pair(wanted)
    quantity, keywords = s.quantity, s.keywords
    if opts.observed:
        keywords |= {"observed": True, "split": s.split(opts.split)}
    results: list[tuple[Document, Any]] = []
    for one in wanted:
        keys = {"feature": s.columns.name(one)} if len(wanted) > 1 else {}
        of = one if second is None else (one, second)
        usual = choices.usual_method(s.columns.features(of))
        method = opts.method_for("mplot" if opts.observed_only else usual)
        found = sd.explain(quantity, s.data, of, method=method, **keywords)
        results += [({**keys, **label}, part) for label, part in output.by_class(found)]
    changes = [] if opts.contrast is None else [_change(opts.contrast, e) for _, e in results]
    document = s.finish(results)
    if len(wanted) > 1:
        terminal.lines(_rankings(results))
    if not changes:
        return document
    models = [keys["model"] for keys, _ in results if "model" in keys]
    names = [f"{model}: " for model in models] or [""] * len(changes)
    terminal.lines(["", *(f"{n}{c}" for n, c in zip(names, changes, strict=True))])
    table = {**({"model": models} if models else {}), **sd.Contrasts(tuple(changes)).table()}
    return {**document, "contrasts": table}


def _check_pair(features: Sequence[object]) -> None:
    """Raise if the second feature of a pair is given beside more than one first feature."""
    if len(features) > 1:
        got = f"{len(features)} features"
        raise DataError("--with", got, "1 feature", "Explain one pair at a time")


def _rankings(results: Sequence[tuple[Document, Effect]]) -> Iterator[str]:
    """Yield the lines of the ranking of several features, for each model and class."""
    ranked: dict[str, dict[str, Effect]] = {}
    for keys, effect in results:
        said = ", ".join(f"{what} {label}" for what, label in keys.items() if what != "feature")
        ranked.setdefault(said, {})[effect.feature] = effect
    for said, effects in ranked.items():
        yield from ["", said] if said else [""]
        yield from str(sd.Effects(effects)).splitlines()


def _change(wanted: str, effect: Effect) -> Contrast:
    """Return the change of an effect between the two values of ``--contrast``."""
    a, b = choices.listed(wanted, "--contrast")
    return effect.contrast(_point(effect, a), _point(effect, b))


def _point(effect: Effect, text: str) -> str | float:
    """Return a value of a feature from its text: levels and times stay text."""
    from skedasis.results.axis import LevelAxis, TimedAxis

    if isinstance(effect.axis, (LevelAxis, TimedAxis)):
        return text
    try:
        return float(text)
    except ValueError:
        return text  # the contrast says what it expects


# ------------------------------------------------------------------------------------ importance
def _needs_labels(quantity: str) -> bool:
    return quantity == BOTH or QUANTITIES[quantity].labelled


_FOREST_ROWS = 2000, 100
"""Default and smallest number of rows for the dependence forests of `sd.diagnose`."""


IMPORTANCE_EXAMPLES = """Examples

\b
skedasis importance my:clf houses.csv --target sold
    print likelihood, entropy and a verdict for each feature
skedasis importance my:clf houses.csv --target sold -o sold.png
    write the same as a figure
skedasis importance model.txt houses.csv --target price --loss absolute_error
    compute the permutation importance for a loss
skedasis importance model.txt houses.csv --target price --sample-weight visits
    weight the rows
skedasis importance my:model houses.csv age size --target price
    compute the importance of some features
skedasis importance my:clf houses.csv --quantity entropy --sample 100
    explain the predictive uncertainty for 100 rows; needs no target
skedasis importance my:clf houses.csv --target sold --group fuel=gas,oil,wood
    treat a one-hot block as one feature
skedasis importance my:clf houses.csv --target sold --json
    print JSON
"""


@dataclass(frozen=True, kw_only=True)
class ImportanceOptions(FeatureOptions):
    """The options of `skedasis importance`."""

    panel: ClassVar[str | None] = None

    quantity: str | None = choice(
        f"Quantity whose increase is measured: {', '.join(measured())}. By default both (likelihood and "
        "entropy, with a verdict) for a model with a predictive distribution, otherwise loss.",
        complete=completion.importances,
    )
    loss: str | None = choice(
        f"Loss: {', '.join(LOSSES)}. By default squared_error, or zero_one for classes.",
        complete=completion.losses,
    )
    n_repeats: int = option("Number of permutations of each feature.", default=10, least=1)
    conditional: bool = option(
        "Permute values only between rows that are similar in the other features; for likelihood and loss.",
        "--conditional",
        default=False,
    )
    rows: int | None = option(
        "Number of rows whose values are permuted, sampled at random. By default all.",
        least=1,
    )

    def check(self, named: Sequence[str]) -> None:
        """Raise `DataError` for options that exclude each other."""
        self.check_quantity(measured())
        if self.class_ is not None and self.quantity != "prediction":
            fix = "Add --quantity prediction, or leave --class out"
            raise self.only_with("--class", ("prediction",), fix)
        labelled = self.quantity in QUANTITIES and QUANTITIES[self.quantity].labelled
        if self.conditional and self.quantity is not None and not labelled:
            # Conditional permutation preserves the joint distribution, so the mean is unchanged (Proposition 3).
            fix = "Leave --conditional out"
            raise self.only_with("--conditional", ("likelihood", "loss"), fix)
        if named and self.quantity == BOTH:
            # The diagnosis needs all features to find those that share information.
            fix = "Choose one of these, or name no feature"
            raise self.only_with("FEATURE", ("likelihood", "entropy"), fix)

    def needs_labels(self) -> bool:
        """Return whether the quantity needs labels; whether there are some is known with the model."""
        return self.quantity is None or _needs_labels(self.quantity)


def importance(opts: ImportanceOptions, terminal: Terminal) -> Document:
    """Measure how much a model relies on each feature: print the numbers, and write a figure or the numbers to a file.

    Use rows that the model was not trained on.
    On training rows of an overfitted model, even noise appears important.
    """
    s = Session.open(opts, terminal, "importance")
    s = replace(s, opts=_resolve(s), labels=s.rows.labels)
    return s.finish(output.by_class(_compute(s)))


def _resolve(s: Session[ImportanceOptions]) -> ImportanceOptions:
    """Choose the quantity and the loss if the options leave them open, and print the choice."""
    opts, labels = s.opts, inputs.some_labels(s.rows)
    if opts.quantity is None:
        predictive = opts.loss is None and opts.inverse is None and _is_predictive(s)
        usual = "likelihood" if opts.conditional or s.named else BOTH
        opts = replace(opts, quantity=usual if predictive else "loss")
    if opts.quantity == "loss" and opts.loss is None:
        opts = replace(opts, loss=_usual_loss(s.model, labels))
        if s.opts.quantity is None:
            why = f"{title(s.model)} has no predictive distribution"
            why = why if opts.inverse is None else "--inverse applies to predictions"
            s.terminal.say(f"loss      {opts.loss}, because {why}")
    if opts.quantity is not None and _needs_labels(opts.quantity) and labels is None:
        raise DataError(
            "--target",
            f"none, for --quantity {opts.quantity}",
            "the column of the labels",
            "Add --target COLUMN, or use --quantity entropy or prediction, which need no labels",
        )
    return opts


def _is_predictive(s: Session[ImportanceOptions]) -> bool:
    """Return whether a model has a predictive distribution. A function is evaluated at two rows to find out."""
    from skedasis.quantities.uncertainty import entropy

    try:
        certain = entropy(s.model)
    except UnsupportedError:
        return False
    if hasattr(s.model, "predict"):
        return True
    table = s.columns.table
    two = list(range(min(2, len(table))))
    try:
        certain.at(table.take(two).data)  # type: ignore[arg-type]
    except (ModelOutputError, UnsupportedError):
        return False
    return True


def _usual_loss(model: object, labels: Values | None) -> str:
    text = labels is not None and labels.dtype.kind not in "fiub"
    return "zero_one" if is_classifier(model) or text else "squared_error"


def _compute(s: Session[ImportanceOptions]) -> Importance | Diagnosis:
    """Compute the importances or the diagnosis."""
    opts = s.opts
    if opts.quantity != BOTH:
        of = replace(opts, quantity=None) if opts.quantity == "prediction" else opts
        wanted = s.columns.find_all(s.named, "FEATURE") or None
        method = sd.PFI(
            n_repeats=opts.n_repeats, max_samples=opts.rows, conditional=opts.conditional
        )
        return sd.explain(of.quantity_of(s.model), s.data, wanted, method=method, **s.keywords)
    usual, least = _FOREST_ROWS
    return sd.diagnose(
        s.model,
        s.data,
        n_repeats=opts.n_repeats,
        max_samples=opts.rows,
        dependence_rows=usual if opts.rows is None else min(usual, max(least, opts.rows)),
        **s.keywords,
    )


# ---------------------------------------------------------------------------------------- report
REPORT_EXAMPLES = """Examples

\b
skedasis report model.txt houses.parquet --target price -o report.html
    explain all features of a LightGBM model, and measure its quality on these rows
skedasis report my:model houses.csv --features age,size,town --title "Houses"
    explain some features, in report.html
skedasis report --model my:model --model my:other --data houses.csv age
    explain two models side by side
skedasis report my:clf houses.csv --target sold --sample 100 --random-state 1
    explain a sample of the rows
skedasis report my:model houses.csv age --target price --split town
    keep mean labels and mean predictions of each town apart
skedasis report model.skops houses.csv --target price --no-rows --pairs 0
    show no curves of single rows, and no pairs
skedasis report my:model houses.csv --rows 3,17 --max-seconds 60
    show where two rows stand, and leave out what takes longer than a minute
skedasis report my:model houses.csv age --json-file numbers.json
    write the numbers and texts of the page as JSON, too
"""


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """What a page has."""

    panel: ClassVar[str | None] = "Page"

    title: str | None = option("Title of the page.", metavar="TEXT")
    pairs: int = option(
        "Show at most this many pairs of features, the strongest ones.",
        default=4,
        least=0,
    )
    rows: str | None = option(
        "Show where these rows stand on every curve: their numbers in the file, the first one is 0.",
        metavar="N,N",
    )
    no_rows: bool = option("Show no curves and values of single rows.", "--no-rows", default=False)
    uncertainty: bool = option(
        "Explain the predictive uncertainty of models that have a predictive distribution.",
        default=True,
    )
    regions: bool = option("Search for regions of the data in which effects differ.", default=True)
    by: str | None = column("Take the values of this column as regions, instead of a search.")
    observed: bool = option(
        "Show mean labels and mean predictions beside effects, if there is a --target.",
        default=True,
    )
    split: str | None = column(
        "Keep these means apart by the values of this column, such as training and test rows."
    )
    max_seconds: float | None = option(
        "Leave out what is least needed if the models need longer.", metavar="SECONDS"
    )
    ignore_check: list[str] | None = option(
        "Leave out the findings of a check, by its code such as few_rows; may be repeated.",
        metavar="CODE",
        complete=completion.checks,
    )
    scale: str = choice(
        "Draw curves at the height of predictions (prediction), or around zero (difference).",
        default="prediction",
    )
    json_file: Path | None = option(
        "Write the numbers and texts of the page to this .json file, too."
    )


@dataclass(frozen=True, kw_only=True)
class ReportOptions(PageOptions, FeatureOptions):
    """The options of `skedasis report`."""

    panel: ClassVar[str | None] = None
    compares: ClassVar[bool] = True

    out: Path = option("Output file.", "--out", "-o", default=Path("report.html"))
    heterogeneity_rows: int = shared("heterogeneity_rows", 0)

    def outputs(self) -> list[tuple[Path | None, Sequence[str], str]]:
        """Return the files that are written."""
        return [(self.out, (".html", ".htm"), "--out"), (self.json_file, (".json",), "--json-file")]

    def check(self, named: Sequence[str]) -> None:
        """Check the options before any file is read."""
        check_option("--scale", self.scale, get_args(CurveScale))
        _row_numbers(self)
        if self.split is not None and (self.target is None or not self.observed):
            got, fix = "--no-observed", "Leave out one of the two"
            if self.observed:
                got, fix = "no --target", "Add --target COLUMN, or leave out --split"
            raise DataError("--split", got, "observed means, kept apart by it", fix)

    def needs_labels(self) -> bool:
        """Return that labels are used where there are some; raise if the quantity needs some and has none."""
        return super().needs_labels() or True


def report(opts: ReportOptions, terminal: Terminal) -> Document:
    """Write a report about one or several models as an HTML page."""
    from skedasis.report.content import gather
    from skedasis.report.report import write

    s, numbers = Session.open(opts, terminal, "report"), _row_numbers(opts)
    rows = s.rows
    if numbers and rows.unlabelled:
        got = f"{opts.rows!r}, beside {rows.unlabelled:,} rows without a {opts.target}"
        expected = "numbers of rows of a file of which all rows are explained"
        raise DataError("--rows", got, expected, f"Remove the rows without a {opts.target}")
    chosen = (opts.class_, opts.quantity, opts.loss, opts.inverse)
    bare = s.models if len(s.models) > 1 else s.model
    settings: Any = {
        "features": s.features or None,
        **s.keywords,
        "pairs": opts.pairs,
        "rows": numbers or not opts.no_rows,
        "uncertainty": opts.uncertainty,
        "regions": opts.regions,
        "by": None if opts.by is None else s.columns.find(opts.by, "--by"),
        "observed": opts.observed,
        "split": s.split(opts.split),
        "max_seconds": opts.max_seconds,
        "ignore": opts.ignore_check,
    }
    content = gather(s.quantity if any(chosen) else bare, s.data, **settings)
    if rows.selected is not None:
        selected = f"{rows.selected:,} of {rows.read:,} rows of the data, those where {opts.where}"
        remarks = (f"This page is about {selected}.", *content.remarks)
        content = replace(content, remarks=remarks)
    scale = cast("CurveScale", opts.scale)
    done = write(content, opts.out, title=opts.title, scale=scale, progress=opts.bars)
    written = {"page": done.path}
    if opts.json_file is not None:
        done.to_json(opts.json_file)
        written["numbers"] = opts.json_file
    terminal.lines([] if terminal.quiet else [f"{what:8} {path}" for what, path in written.items()])
    return {"rows": rows.counts, "models": _numbers(done), "written": [*written.values()]}


def _row_numbers(opts: ReportOptions) -> list[int]:
    """Return the numbers of `--rows`, which are those of rows in the file; empty without any."""
    if opts.rows is None:
        return []
    others = {
        "--no-rows": opts.no_rows,
        "--sample": opts.sample is not None,
        "--where": opts.where is not None,
    }
    for other, given in others.items():
        if given:
            got = f"{opts.rows!r}, beside {other}"
            raise DataError("--rows", got, "one of both", f"Leave {other} out")
    found = [n.strip() for n in opts.rows.split(",")]
    if not all(n.isascii() and n.isdigit() for n in found):
        fix = "Write for example --rows 3,17"
        raise DataError("--rows", repr(opts.rows), "numbers of rows, from 0", fix)
    return [int(n) for n in found]


def _numbers(done: Report) -> Document:
    """Return importances and heterogeneity scores by model, method and feature."""
    return {
        model: {
            method: {
                feature: {
                    "importance": effect.importance,
                    "heterogeneity_score": effect.heterogeneity_score,
                    "heterogeneity_score_error": effect.heterogeneity_score_error,
                }
                for feature, effect in effects.items()
            }
            for method, effects in methods.items()
        }
        for model, methods in done.effects.items()
    }
