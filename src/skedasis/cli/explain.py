"""The commands `effect`, `importance` and `report`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import skedasis as sd
from skedasis._arguments import check_option
from skedasis._types import Values
from skedasis.cli import completion, inputs, options, output
from skedasis.cli.completion import BOTH, LOSSES, importances, losses, measured
from skedasis.cli.inputs import Opened
from skedasis.cli.options import CommandOptions, FeatureOptions
from skedasis.cli.output import Document, Out, Terminal
from skedasis.engine.options import SCORE_ROWS
from skedasis.errors import DataError, ModelOutputError, UnsupportedError
from skedasis.models.introspection import is_classifier, title
from skedasis.registry import QUANTITIES, methods_that
from skedasis.results.keywords import CurveScale

if TYPE_CHECKING:
    from skedasis.report.report import Report
    from skedasis.results.contrast import Contrast
    from skedasis.results.effect import Effect


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
class EffectOptions(FeatureOptions, CommandOptions):
    """The options of `skedasis effect`."""

    out: Out = None
    method: Annotated[
        str | None,
        options.option(
            f"Method: {', '.join(methods_that(lambda m: not m.importance))}. By default rhale, or ale for two "
            "features and for levels without an order.",
            metavar="NAME",
            complete=completion.methods,
        ),
    ] = None
    bins: options.BinCount = None
    with_: Annotated[
        str | None,
        options.column("Second feature, to explain the interaction of two features.", "--with"),
    ] = None
    contrast: Annotated[
        str | None,
        options.option(
            "Two values of the feature: also print the change of the effect from the first to the second, with "
            "its 95 % interval.",
            metavar="FROM,TO",
        ),
    ] = None
    quantity: options.QuantityName = None
    loss: options.LossOption = None
    heterogeneity_rows: options.HeterogeneityRows = SCORE_ROWS
    curves: options.CurveRows = 0


def effect(opts: EffectOptions, terminal: Terminal) -> Document:
    """Explain features, or the interaction of two: print the numbers, and write a figure or the numbers to a file."""
    if opts.method is not None:
        inputs.method_of(opts.method, opts.bins)
    models, path, more = opts.assigned("effect")
    output.check_out(opts.out, [path, *models])
    named = inputs.named_features(opts, more)
    labelled = _check(opts, named)
    files = inputs.opened_all(opts, path, models[0], terminal, labelled=labelled)
    columns = files.columns
    wanted: list[Any] = columns.find_all(named, "--feature")
    if opts.with_ is not None:
        _check_pair(wanted)
        wanted = [(wanted[0], columns.find(opts.with_, "--with"))]
    quantity = inputs.quantity_of(files.model, opts.class_, opts.quantity, opts.loss, opts.inverse)
    results: list[tuple[Document, Any]] = []
    for one in wanted:
        keys = {"feature": columns.name(one)} if len(wanted) > 1 else {}
        name = opts.method or inputs.usual_method(columns.features(one))
        found = sd.explain(
            quantity,
            files.data,
            one,
            method=inputs.method_of(name, opts.bins),
            heterogeneity_rows=opts.heterogeneity_rows,
            curves=opts.curves,
            **files.keywords(opts),
        )
        results += [({**keys, **label}, part) for label, part in output.by_class(found)]
    changes = _contrasts(opts.contrast, [part for _, part in results])
    found = output.output_results(results, opts.out, terminal, [path, *models])
    if len(wanted) > 1:
        terminal.lines(_rankings(results))
    if not changes:
        return {"rows": files.rows.counts, **found}
    terminal.lines(["", *(line for change in changes for line in str(change).splitlines())])
    table = sd.Contrasts(tuple(changes)).table()
    contrasts = {name: output.jsonable(column) for name, column in table.items()}
    return {"rows": files.rows.counts, **found, "contrasts": contrasts}


def _check_pair(features: Sequence[object]) -> None:
    """Raise if the second feature of a pair is given beside more than one first feature."""
    if len(features) > 1:
        got = f"{len(features)} features"
        raise DataError("--with", got, "1 feature", "Explain one pair at a time")


def _rankings(results: Sequence[tuple[Document, Effect]]) -> Iterator[str]:
    """Yield the lines of the ranking of several features, for each class."""
    by_class: dict[object, dict[str, Effect]] = {}
    for keys, effect in results:
        by_class.setdefault(keys.get("class"), {})[effect.feature] = effect
    for label, effects in by_class.items():
        yield ""
        yield from [] if label is None else [f"class {label}"]
        yield from str(sd.Effects(effects)).splitlines()


def _contrasts(wanted: str | None, effects: list[Effect]) -> list[Contrast]:
    """Return the change of each effect between the two values of ``--contrast``."""
    if wanted is None:
        return []
    a, b = inputs.listed(wanted, "--contrast")
    return [effect.contrast(_point(effect, a), _point(effect, b)) for effect in effects]


def _point(effect: Effect, text: str) -> str | float:
    """Return a value of a feature from its text: levels and times stay text."""
    from skedasis.results.axis import LevelAxis, TimedAxis

    if isinstance(effect.axis, (LevelAxis, TimedAxis)):
        return text
    try:
        return float(text)
    except ValueError:
        return text  # the contrast says what it expects


def _check(opts: EffectOptions, named: list[str]) -> bool:
    """Check the options before any file is read; return whether the quantity needs labels."""
    if not named:
        fix = "Run skedasis effect MODEL DATA FEATURE; '*' explains all columns"
        raise DataError("FEATURE", "none", "a column to explain", fix)
    if opts.with_ is not None:
        _check_pair(named)
    if opts.contrast is not None:
        values = inputs.listed(opts.contrast, "--contrast")
        if len(values) != 2:
            fix = "Write for example --contrast 30,50"
            raise DataError("--contrast", repr(opts.contrast), "two values, FROM,TO", fix)
        if opts.with_ is not None or len(named) > 1:
            got = "--with" if opts.with_ is not None else f"{len(named)} features"
            raise DataError("--contrast", got, "one feature", "Explain one feature at a time")
    return inputs.check_labels(opts.quantity, opts.class_, opts.loss, opts.target, opts.inverse)


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
class ImportanceOptions(FeatureOptions, CommandOptions):
    """The options of `skedasis importance`."""

    out: Out = None
    quantity: Annotated[
        str | None,
        options.option(
            f"Quantity whose increase is measured: {', '.join(measured())}. By default both (likelihood and "
            "entropy, with a verdict) for a model with a predictive distribution, otherwise loss.",
            metavar="NAME",
            complete=importances,
        ),
    ] = None
    loss: Annotated[
        str | None,
        options.option(
            f"Loss: {', '.join(LOSSES)}. By default squared_error, or zero_one for classes.",
            metavar="NAME",
            complete=losses,
        ),
    ] = None
    n_repeats: Annotated[
        int, options.option("Number of permutations of each feature.", metavar="N", least=1)
    ] = 10
    conditional: Annotated[
        bool,
        options.option(
            "Permute values only between rows that are similar in the other features; for likelihood and loss.",
            "--conditional",
        ),
    ] = False
    rows: Annotated[
        int | None,
        options.option(
            "Number of rows whose values are permuted, sampled at random. By default all.",
            metavar="N",
            least=1,
        ),
    ] = None


def _check_importance(opts: ImportanceOptions, named: Sequence[str]) -> None:
    """Raise `DataError` for options that exclude each other."""

    def refuse(option: str, expected: str, fix: str) -> None:
        got = "no --quantity" if opts.quantity is None else f"--quantity {opts.quantity}"
        raise DataError(option, got, f"--quantity {expected}", fix)

    inputs.kind_of(None, None, None, opts.inverse)
    if opts.inverse is not None and opts.quantity not in (None, "loss", "prediction"):
        refuse("--inverse", "loss or prediction", "Leave one of them out")
    if opts.quantity is not None and opts.quantity not in measured():
        known = ", ".join(measured())
        raise DataError("--quantity", repr(opts.quantity), f"one of {known}", "Choose one of these")
    if opts.class_ is not None and opts.quantity != "prediction":
        refuse("--class", "prediction", "Add --quantity prediction, or leave --class out")
    if opts.loss is not None and opts.quantity not in (None, "loss"):
        refuse("--loss", "loss", "Leave --quantity out")
    labelled = opts.quantity in QUANTITIES and QUANTITIES[opts.quantity].labelled
    if opts.conditional and opts.quantity is not None and not labelled:
        # Conditional permutation preserves the joint distribution, so the mean is unchanged (Proposition 3).
        refuse("--conditional", "likelihood or loss", "Leave --conditional out")
    if named and opts.quantity == BOTH:
        # The diagnosis needs all features to find those that share information.
        refuse("FEATURE", "likelihood or entropy", "Choose one of these, or name no feature")


def importance(opts: ImportanceOptions, terminal: Terminal) -> Document:
    """Measure how much a model relies on each feature: print the numbers, and write a figure or the numbers to a file.

    Use rows that the model was not trained on.
    On training rows of an overfitted model, even noise appears important.
    """
    models, path, more = opts.assigned("importance")
    named = inputs.named_features(opts, more)
    _check_importance(opts, named)
    output.check_out(opts.out, [path, *models])
    labelled = opts.quantity is None or _needs_labels(opts.quantity)
    files = inputs.opened_all(opts, path, models[0], terminal, labelled=labelled)
    files = replace(files, labels=files.rows.labels)
    opts = _resolve(opts, named, files, terminal)
    found = _compute(opts, named, files)
    written = output.output_results(output.by_class(found), opts.out, terminal, [path, *models])
    return {"rows": files.rows.counts, **written}


def _resolve(
    opts: ImportanceOptions, named: Sequence[str], files: Opened, terminal: Terminal
) -> ImportanceOptions:
    """Choose the quantity and the loss if the options leave them open, and print the choice."""
    model, labels = files.model, inputs.some_labels(files.rows)
    if opts.quantity is None:
        open_ = opts.loss is None and opts.inverse is None
        predictive = open_ and _is_predictive(files)
        usual = "likelihood" if opts.conditional or named else BOTH
        opts = replace(opts, quantity=usual if predictive else "loss")
        if not predictive and opts.loss is None:
            opts = replace(opts, loss=_usual_loss(model, labels))
            why = f"{title(model)} has no predictive distribution"
            why = why if open_ else "--inverse applies to predictions"
            terminal.say(f"loss      {opts.loss}, because {why}")
    if opts.quantity == "loss" and opts.loss is None:
        opts = replace(opts, loss=_usual_loss(model, labels))
    if opts.quantity is not None and _needs_labels(opts.quantity) and labels is None:
        raise DataError(
            "--target",
            f"none, for --quantity {opts.quantity}",
            "the column of the labels",
            "Add --target COLUMN, or use --quantity entropy or prediction, which need no labels",
        )
    return opts


def _is_predictive(files: Opened) -> bool:
    """Return whether a model has a predictive distribution. A function is evaluated at two rows to find out."""
    from skedasis.quantities.uncertainty import entropy

    try:
        certain = entropy(files.model)
    except UnsupportedError:
        return False
    if hasattr(files.model, "predict"):
        return True
    table = files.columns.table
    two = list(range(min(2, len(table))))
    try:
        certain.at(table.take(two).data)  # type: ignore[arg-type]
    except (ModelOutputError, UnsupportedError):
        return False
    return True


def _usual_loss(model: object, labels: Values | None) -> str:
    text = labels is not None and labels.dtype.kind not in "fiub"
    return "zero_one" if is_classifier(model) or text else "squared_error"


def _compute(opts: ImportanceOptions, named: Sequence[str], files: Opened) -> Any:
    """Compute the importances or the diagnosis."""
    keywords = files.keywords(opts)
    if opts.quantity != BOTH:
        kind = None if opts.quantity == "prediction" else opts.quantity
        quantity = inputs.quantity_of(files.model, opts.class_, kind, opts.loss, opts.inverse)
        wanted = files.columns.find_all(named, "FEATURE") or None
        method = sd.PFI(
            n_repeats=opts.n_repeats, max_samples=opts.rows, conditional=opts.conditional
        )
        return sd.explain(quantity, files.data, wanted, method=method, **keywords)
    usual, least = _FOREST_ROWS
    return sd.diagnose(
        files.model,
        files.data,
        n_repeats=opts.n_repeats,
        max_samples=opts.rows,
        dependence_rows=usual if opts.rows is None else min(usual, max(least, opts.rows)),
        **keywords,
    )


# ---------------------------------------------------------------------------------------- report
PAGES = (".html", ".htm")
PAGE_PANEL = "Page"


NUMBERS = ("importance", "heterogeneity_score", "heterogeneity_score_error")


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
skedasis report model.skops houses.csv --target price --no-rows --pairs 0
    show no curves of single rows, and no pairs
skedasis report my:model houses.csv --rows 3,17 --max-seconds 60
    show where two rows stand, and leave out what takes longer than a minute
skedasis report my:model houses.csv age --json-file numbers.json
    write the numbers and texts of the page as JSON, too
"""


@dataclass(frozen=True, kw_only=True)
class ModelsOptions(CommandOptions):
    """The arguments and options of a command that explains several models."""

    model: Annotated[  # type: ignore[assignment] - several instead of one
        list[str] | None,
        options.option(
            "Same as MODEL; may be repeated.", metavar="MODEL", panel=options.MODEL_PANEL
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ReportOptions(FeatureOptions, ModelsOptions):
    """The options of `skedasis report`."""

    out: Annotated[Path, options.option("Output file.", "--out", "-o", metavar="FILE")] = Path(
        "report.html"
    )
    title: Annotated[
        str | None,
        options.option("Title of the page.", metavar="TEXT", panel=PAGE_PANEL),
    ] = None
    quantity: options.QuantityName = None
    loss: options.LossOption = None
    pairs: Annotated[
        int,
        options.option(
            "Show at most this many pairs of features, the strongest ones.",
            metavar="N",
            least=0,
            panel=PAGE_PANEL,
        ),
    ] = 4
    rows: Annotated[
        str | None,
        options.option(
            "Show where these rows stand on every curve: their numbers in the file, the first one is 0.",
            metavar="N,N",
            panel=PAGE_PANEL,
        ),
    ] = None
    no_rows: Annotated[
        bool,
        options.option("Show no curves and values of single rows.", "--no-rows", panel=PAGE_PANEL),
    ] = False
    uncertainty: Annotated[
        bool,
        options.option(
            "Explain the predictive uncertainty of models that have a predictive distribution.",
            "--uncertainty/--no-uncertainty",
            panel=PAGE_PANEL,
        ),
    ] = True
    regions: Annotated[
        bool,
        options.option(
            "Search for regions of the data in which effects differ.",
            "--regions/--no-regions",
            panel=PAGE_PANEL,
        ),
    ] = True
    by: Annotated[
        str | None,
        options.column(
            "Take the values of this column as regions, instead of a search.", panel=PAGE_PANEL
        ),
    ] = None
    max_seconds: Annotated[
        float | None,
        options.option(
            "Leave out what is least needed if the models need longer.",
            metavar="SECONDS",
            panel=PAGE_PANEL,
        ),
    ] = None
    ignore_check: Annotated[
        list[str] | None,
        options.option(
            "Leave out the findings of a check, by its code such as few_rows; may be repeated.",
            metavar="CODE",
            complete=completion.checks,
            panel=PAGE_PANEL,
        ),
    ] = None
    scale: Annotated[
        str,
        options.option(
            "Draw curves at the height of predictions (prediction), or around zero (difference).",
            metavar="NAME",
            panel=PAGE_PANEL,
        ),
    ] = "prediction"
    json_file: Annotated[
        Path | None,
        options.option(
            "Write the numbers and texts of the page to this .json file, too.",
            metavar="FILE",
            panel=PAGE_PANEL,
        ),
    ] = None
    heterogeneity_rows: options.HeterogeneityRows = SCORE_ROWS


def report(opts: ReportOptions, terminal: Terminal) -> Document:
    """Write a report about one or several models as an HTML page."""
    from skedasis.report.content import gather
    from skedasis.report.report import write

    specs, path, more = opts.assigned("report")
    output.check_out(opts.out, [path, *specs], PAGES)
    output.check_out(opts.json_file, [path, *specs], (".json",), "--json-file")
    check_option("--scale", opts.scale, get_args(CurveScale))
    numbers = _row_numbers(opts)
    inputs.check_labels(opts.quantity, opts.class_, opts.loss, opts.target, opts.inverse)
    names, wanted = inputs.named(specs), inputs.named_features(opts, more)
    table = inputs.read(opts, path, terminal)
    loaded = [inputs.load(opts, spec, terminal) for spec in specs]
    rows = inputs.rows_of(opts, table, terminal, labelled=True)
    if numbers and rows.unlabelled:
        got = f"{opts.rows!r}, beside {rows.unlabelled:,} rows without a {opts.target}"
        expected = "numbers of rows of a file of which all rows are explained"
        raise DataError("--rows", got, expected, f"Remove the rows without a {opts.target}")
    columns = inputs.columns_of(opts, rows.table, loaded[0])
    files = Opened(loaded[0], rows, columns, rows.labels)
    settings: Any = {
        "features": columns.find_all(wanted, "--feature") or None,
        **files.keywords(opts),
        "pairs": opts.pairs,
        "rows": numbers or not opts.no_rows,
        "uncertainty": opts.uncertainty,
        "regions": opts.regions,
        "by": None if opts.by is None else columns.find(opts.by, "--by"),
        "max_seconds": opts.max_seconds,
        "ignore": opts.ignore_check,
        "heterogeneity_rows": opts.heterogeneity_rows,
    }
    models = dict(zip(names, _quantities(opts, loaded), strict=True))
    given = models if len(models) > 1 else models[names[0]]
    content = gather(given, files.data, **settings)
    if rows.selected is not None:
        selected = f"{rows.selected:,} of {rows.read:,} rows of the data, those where {opts.where}"
        remarks = (f"This page is about {selected}.", *content.remarks)
        content = replace(content, remarks=remarks)
    done = write(
        content,
        opts.out,
        title=opts.title,
        scale=cast("CurveScale", opts.scale),
        progress=opts.bars,
    )
    terminal.lines([] if terminal.quiet else [f"page     {done.path}"])
    if opts.json_file is None:
        return {"rows": rows.counts, "models": _numbers(done), "written": [done.path]}
    done.to_json(opts.json_file)
    terminal.lines([] if terminal.quiet else [f"numbers  {opts.json_file}"])
    return {"rows": rows.counts, "models": _numbers(done), "written": [done.path, opts.json_file]}


def _quantities(opts: ReportOptions, models: Sequence[Any]) -> list[Any]:
    """Return the quantities of models that the options name; the models themselves if they name none."""
    chosen = (opts.class_, opts.quantity, opts.loss, opts.inverse)
    if all(option is None for option in chosen):
        return list(models)
    return [inputs.quantity_of(model, *chosen) for model in models]


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
                feature: {name: getattr(effect, name) for name in NUMBERS}
                for feature, effect in effects.items()
            }
            for method, effects in methods.items()
        }
        for model, methods in done.effects.items()
    }
