"""The command `drift`: why the mean prediction changed between two tables, two models, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import skedasis as sd
from skedasis.cli import choices, completion, inputs, output
from skedasis.cli.options import SessionOptions, argument
from skedasis.cli.output import Document, Terminal
from skedasis.cli.session import Session
from skedasis.errors import DataError

EXAMPLES = """Examples

\b
skedasis drift model.txt last_year.csv this_year.csv
    one model: because which rows moved did the mean prediction change?
skedasis drift old.txt houses.csv new.txt
    two models on the same rows: where do they differ?
skedasis drift old.txt last_year.csv new.txt this_year.csv -o drift.png
    both: how much because rows moved, and how much because the model changed?
skedasis drift old.txt last_year.csv new.txt this_year.csv --target price --loss squared_error
    why the error changed
skedasis drift my:clf last_year.csv this_year.csv --class all --json
    of each class, as JSON
"""

_FORM = "NEW_MODEL, NEW_DATA or both: skedasis drift OLD_MODEL OLD_DATA NEW_MODEL NEW_DATA"


@dataclass(frozen=True, kw_only=True)
class DriftOptions(SessionOptions):
    """The options of `skedasis drift`."""

    panel: ClassVar[str | None] = None

    model_: str | None = argument("The old model, or the only one.", "OLD_MODEL")
    data_: str | None = argument("The old data file, or the only one.", "OLD_DATA")
    more: list[str] | None = argument(
        "The new model, the new data file, or both. Files are told by their endings.",
        "NEW",
        completion.files,
    )

    def check(self, named: Sequence[str]) -> None:
        """Check the options before any file is read."""
        _new(named)
        if self.group:
            fix = "Leave it out; the parts are by column"
            raise DataError("--group", "a group", "no groups", fix)


def _new(named: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the new model and the new data file, None for those of before."""
    data = [name for name in named if name.lower().endswith(choices.DATA)]
    models = [name for name in named if name not in data]
    if not named or len(data) > 1 or len(models) > 1:
        got = f"{', '.join(map(repr, named))} after OLD_DATA" if named else "none"
        raise DataError("NEW", got, _FORM, "Name what is new")
    return next(iter(models), None), next(iter(data), None)


def drift(opts: DriftOptions, terminal: Terminal) -> Document:
    """Find why the mean prediction changed: because rows moved, and because the model changed.

    Prints what changed in sentences, and the parts with their intervals: by feature, and by groups of rows.
    """
    s = Session.open(opts, terminal, "drift")
    spec, path = _new(s.named)
    for name in (spec, path):
        if name is not None:
            output.check_out(opts.out, [name])
    table = None if path is None else inputs.read(opts, path, terminal)
    model = None if spec is None else opts.quantity_of(inputs.load(opts, spec, terminal))
    keywords = {name: value for name, value in s.keywords.items() if name != "groups"}
    for name in ("y", "sample_weight"):
        keywords[f"{name}_old"] = keywords.pop(name)
    found = opts.quantity_of(s.model)
    if table is None:
        return s.finish(output.by_class(sd.drift(found, s.data, model, **keywords)))
    rows = inputs.rows_of(opts, table, terminal, labelled=opts.needs_labels())
    columns = inputs.columns_of(opts, rows.table, s.model)
    keywords["y_new"] = rows.labels if opts.needs_labels() else None
    keywords["sample_weight_new"] = rows.weights
    drifted = sd.drift(found, s.data, model, columns.table.data, **keywords)
    return {**s.finish(output.by_class(drifted)), "new_rows": rows.counts}
