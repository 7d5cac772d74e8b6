"""What a command that explains models works on: models, rows and columns, opened as its options say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from skedasis._types import TableLike, Values
from skedasis.cli import inputs, output
from skedasis.cli.inputs import FileRows, NamedColumns
from skedasis.cli.options import SessionOptions
from skedasis.cli.output import Document, Result, Terminal
from skedasis.cli.parquet import ParquetTable

if TYPE_CHECKING:
    from skedasis.quantities.base import Quantity

OptionsT = TypeVar("OptionsT", bound=SessionOptions)


@dataclass(frozen=True, eq=False)
class Session(Generic[OptionsT]):
    """What a command works on: its options, its models, and the rows and columns of its data."""

    opts: OptionsT
    terminal: Terminal
    files: tuple[str, ...]
    models: dict[str, Any]
    columns: NamedColumns
    rows: FileRows
    labels: Values | None
    named: list[str]

    @classmethod
    def open(cls, opts: OptionsT, terminal: Terminal, command: str) -> Session[OptionsT]:
        """Check the options, then read the data and load the models."""
        specs, path, more = opts.assigned(command)
        for out, endings, option in opts.outputs():
            output.check_out(out, [path, *specs], endings, option)
        named = opts.named(more)
        opts.check(named)
        labelled = opts.needs_labels()
        names = inputs.named(specs)
        # Names of columns are checked before the models are loaded, which may take long.
        table = inputs.read(opts, path, terminal)
        loaded = [inputs.load(opts, spec, terminal) for spec in specs]
        rows = inputs.rows_of(opts, table, terminal, labelled=labelled)
        columns = inputs.columns_of(opts, rows.table, loaded[0])
        models = dict(zip(names, loaded, strict=True))
        labels = rows.labels if labelled else None
        return cls(opts, terminal, (path, *specs), models, columns, rows, labels, named)

    @property
    def model(self) -> Any:
        """Return the only model."""
        (model,) = self.models.values()
        return model

    @property
    def quantity(self) -> Quantity | dict[str, Quantity]:
        """Return the quantity of the model that the options select; of several models those by name."""
        of = {name: self.opts.quantity_of(model) for name, model in self.models.items()}
        return of if len(of) > 1 else next(iter(of.values()))

    @property
    def data(self) -> TableLike:
        """Return the columns as the functions of the library take them."""
        return self.columns.table.data

    @property
    def features(self) -> list[str | int]:
        """Return the features that arguments and options name."""
        return self.columns.find_all(self.named, "--feature")

    @property
    def keywords(self) -> dict[str, Any]:
        """Return the arguments of the library's functions that the options and the data give."""
        shared = (f.name for f in fields(self.opts) if "shared" in f.metadata)
        return {name: vars(self.opts)[name] for name in shared} | {
            "y": self.labels,
            "sample_weight": self.rows.weights,
            "schema": self.columns.schema,
            "groups": self.columns.groups,
            "sample": self.rows.sample,
            "progress": self.opts.bars,
        }

    def split(self, name: str | None) -> str | int | Values | None:
        """Return a column of the file as the argument `split`: its labels if the model does not take it."""
        if name is None:
            return None
        self.rows.table.place(name, "--split")
        if name in self.columns.table.names:
            return self.columns.table.place(name)
        # A source that is read in chunks finds the column by its name.
        chunked = isinstance(self.rows.table, ParquetTable)
        return name if chunked else self.rows.table.column(name)

    def finish(self, found: Sequence[tuple[Document, Result]]) -> Document:
        """Print results, and write them to files if an output path is given."""
        written = output.output_results(found, self.opts.out, self.terminal, self.files)
        return {"rows": self.rows.counts, **written}
