"""The calls of `explain` for one model of a report, with their warnings and their cost."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TypeAlias, Unpack

import numpy as np

from skedasis._numbers import counted
from skedasis._types import Floats, Ints, Json, OutputLabel, TableLike, Values
from skedasis.analysis.drift import AtRows
from skedasis.data.dataset import Dataset, as_dataset
from skedasis.data.row_rules import MaskedRows
from skedasis.engine.argument_types import GivenRegions
from skedasis.engine.assemble import Results, collect_results, finalize, provenance
from skedasis.engine.explain import explain
from skedasis.engine.heterogeneity_score import Scores
from skedasis.engine.options import UNOBSERVED, ExplainKeywords, ExplainOptions
from skedasis.engine.prepare import Job, planned_like, prepare_rows, resolve_method_and_selection
from skedasis.engine.region_pass import RegionPass, region_pass
from skedasis.engine.rounds import compute
from skedasis.engine.run import evaluators_of, stats_of
from skedasis.errors import BinningWarning, CostWarning, diverted
from skedasis.methods.base import Parameters
from skedasis.methods.pdp import PDP
from skedasis.models.calling import CallStats
from skedasis.quantities.base import CALL_ROWS, Quantity
from skedasis.quantities.outputs import Probability
from skedasis.results.effects import Effects
from skedasis.results.provenance import add_cost
from skedasis.results.surface import Surface
from skedasis.results.surfaces import Surfaces

Label: TypeAlias = OutputLabel
"""Label of an output: a class, a name or an index; None if the quantity has a single output."""


UNSCORED: ExplainKeywords = {"heterogeneity_rows": 0}
"""Options of passes whose features take their heterogeneity scores from the pass of another method."""


@dataclass(frozen=True)
class ReportPass:
    """The provenance of a pass that has no `Effects`, which hold their own."""

    provenance: Json


@dataclass(frozen=True, eq=False)
class Predictions:
    """The quantity at the rows."""

    quantities: Mapping[Label, Quantity]
    values: Mapping[Label, Floats]
    raw: Values | None = None


@dataclass(eq=False)
class ModelRunner:
    """Explains one model by several methods, and collects warnings and costs."""

    quantity: Quantity
    X: TableLike
    options: ExplainOptions
    binning_warnings: list[str] = field(default_factory=list)
    passes: list[Effects | ReportPass] = field(default_factory=list)
    prepared: Job | None = None
    preparing: float = 0.0
    announced: bool = False
    known: AtRows | None = None

    def at_rows(self) -> AtRows:
        """Return what the passes found at all rows, for comparisons."""
        if self.known is None:
            raise TypeError("The passes are to be made before models are compared")
        return self.known

    def prepare(self, names: Sequence[str]) -> Job:
        """Plan the main effects, and check the model, once: the pass itself may follow later."""
        if self.prepared is None:
            started = time.perf_counter()
            with self.catch_binning_warnings():
                self.prepared = prepare_rows(
                    self.quantity, self.dataset(), list(names), None, self.options
                )
            self.preparing = time.perf_counter() - started
        return self.prepared

    def dataset(self) -> Dataset:
        """Return the rows, prepared for the quantity."""
        of = self.options
        rows = as_dataset(self.X, of.y, of.sample_weight, of.schema, sample=of.row_sample)
        return self.quantity.prepare(rows)

    def effects(
        self,
        method: Parameters,
        names: Sequence[str],
        of: Quantity | None = None,
        **options: Unpack[ExplainKeywords],
    ) -> dict[Label, Effects]:
        """Explain some features, and return their effects by output; an empty dict without features."""
        if not names:
            return {}
        if of is None:
            job = self._job(method, list(names))
            with self.catch_binning_warnings():
                found = self._results(job, compute(job).results)
        else:
            with self.catch_binning_warnings():
                keywords = self.options.keywords() | UNOBSERVED | options
                explained = explain(of, self.X, list(names), method=method, **keywords)
            found = _by_output(explained)
        self.passes.append(next(iter(found.values())))
        return found

    def effects_and_curves(
        self, method: PDP, names: Sequence[str], rows: Ints
    ) -> tuple[dict[Label, Effects], dict[Label, dict[str, Floats]]]:
        """Explain some features by their PDP, and return the ICE curves of some rows, too; no further model row."""
        if not names or not len(rows):
            return self.effects(method, names), {}
        job = self._job(method, list(names))
        drawn, kept = job.sample_mask, job.sample_mask
        if kept is not None:
            kept = kept.copy()
            kept[rows] = True
        with self.catch_binning_warnings():
            # The pass computes the curves of all rows; which of them it keeps does not change what it calls.
            done = compute(replace(job, sample=None if kept is None else MaskedRows(kept)))
        stored = np.arange(len(job.dataset)) if kept is None else np.flatnonzero(kept)
        at = np.searchsorted(stored, rows)
        curves: dict[Label, dict[str, Floats]] = {label: {} for label in job.outputs}
        for (label, key), local in list(done.gathered.items()):
            curves[label][str(key)] = local.kept["curve"][at]
            if drawn is not None:
                some = drawn[stored]
                ids = None if local.row_id is None else local.row_id[some]
                own = {name: values[some] for name, values in local.kept.items()}
                done.gathered[label, key] = replace(local, kept=own, row_id=ids)
        results = finalize(job, done.gathered, done.scores, job.plans)
        by_output = {
            label: {task.key: results[label, task.key] for task in job.tasks}
            for label in job.outputs
        }
        found = self._results(job, by_output)
        self.passes.append(next(iter(found.values())))
        return found, curves

    def _job(self, method: Parameters, wanted: list[str] | list[tuple[str, str]]) -> Job:
        """Plan a pass by another method at the rows of the main effects, without scores; the model is checked."""
        job = self._checked()
        options = replace(job.options, heterogeneity_rows=0)
        with self.catch_binning_warnings():
            resolved, selection = resolve_method_and_selection(
                method, job.quantity, job.dataset, wanted, options
            )
            return planned_like(job, resolved, selection, options)

    def _checked(self) -> Job:
        """Return the job of the main effects, whose model is checked; they are planned first."""
        if self.prepared is None:
            raise TypeError("The main effects are to be prepared before other passes")
        return self.prepared

    @staticmethod
    def _results(job: Job, results: Results) -> dict[Label, Effects]:
        """Return the effects of a pass by output, with its provenance."""
        record = provenance(job, Scores())
        found: dict[Label, Effects] = {}
        for label, by_key in results.items():
            explained = collect_results(job, by_key, record)
            if isinstance(explained, Effects):
                found[label] = explained
        return found

    def in_regions(
        self, names: Sequence[str], by: GivenRegions | None, *, search: bool
    ) -> RegionPass:
        """Explain some features by the method that `explain` chooses, with their regions, in one pass."""
        prepared = replace(self.prepare(names), started=time.perf_counter() - self.preparing)
        with self.catch_binning_warnings():
            found = region_pass(prepared, by, search=search)
        self.passes.append(next(iter(found.effects.values())))
        return found

    def surfaces(
        self, method: Parameters, pairs: Sequence[tuple[str, str]]
    ) -> dict[Label, dict[tuple[str, str], Surface]]:
        """Explain some pairs, and return their surfaces by output."""
        job = self._job(method, list(pairs))
        with self.catch_binning_warnings():
            done = compute(job)
        record, shown = provenance(job, done.scores), dict[Label, dict[tuple[str, str], Surface]]()
        for label, by_key in done.results.items():
            explained = collect_results(job, by_key, record)
            shown[label] = dict(explained) if isinstance(explained, Surfaces) else {}
        first = next(iter(next(iter(shown.values())).values()))
        of = f"{first.provenance.get('method', '')}, {counted(len(pairs), 'pair')}"
        self.passes.append(ReportPass({**first.provenance, "method": of}))
        return shown

    def catch_binning_warnings(self) -> AbstractContextManager[None]:
        """Return a context manager that collects binning warnings for the page, and drops those of announced costs."""
        costs = {CostWarning: lambda _: None} if self.announced else {}
        return diverted({BinningWarning: self.binning_warnings.append, **costs})

    def count(
        self, what: str, part: str, cost: CallStats, more: Json | None = None, seconds: float = 0.0
    ) -> None:
        """Add calls of the model that are no pass of a method, with the keys of a method's provenance."""
        record: Json = {"method": what, "settings": {}, "seconds": seconds or cost.seconds}
        add_cost(record, part, cost)
        self.passes.append(ReportPass({"effect_rows": 0, **record, "exact": True, **(more or {})}))

    def predict(self) -> Predictions:
        """Return the quantity at the rows; costs N model rows for all outputs together, and none of its trees.

        Later passes know the quantity at the rows.
        """
        started, stats, job = time.perf_counter(), CallStats(), self._checked()
        called, parts = predictions_call(job), self.quantity.outputs(job.dataset, stats)
        outputs = parts if called else job.outputs
        values: dict[Label, list[Floats]] = {label: [] for label in outputs}
        raw: list[Values] = []
        keeps = called and isinstance(next(iter(outputs.values())), Probability)
        for batch in job.dataset.batches(CALL_ROWS if called else job.batch_rows):
            evaluators = evaluators_of(outputs, batch, job.checked.eps, job.checked.caller, 1)
            if keeps:
                raw.append(np.array(next(iter(evaluators.values())).response()))
            for label, evaluator in evaluators.items():
                values[label].append(np.array(evaluator.values()))
            stats.add(stats_of(evaluators))
        if stats.calls:
            self.count("predictions", "effect", stats, seconds=time.perf_counter() - started)
        joined = {label: np.concatenate(some) for label, some in values.items()}
        if job.is_called:
            self.prepared = replace(job, own=joined)
        return Predictions(parts, joined, np.concatenate(raw) if raw else None)


def predictions_call(job: Job) -> bool:
    """Return whether the predictions of a page call the model: trees tell the quantity, but not all probabilities."""
    return job.is_called or isinstance(next(iter(job.outputs.values())), Probability)


def _by_output(found: Effects | Mapping[Label, Effects]) -> dict[Label, Effects]:
    return {None: found} if isinstance(found, Effects) else dict(found)


def with_scores(effects: Effects, of: Effects) -> Effects:
    """Return effects with the heterogeneity scores and spreads of the same features in another pass."""
    found = {
        n: replace(
            e,
            swap_score=of[n].swap_score,
            spread=of[n].spread if e.spread is None else e.spread,
            depends_on=of[n].depends_on,
            about=replace(e.about, quantity_mean=of[n].about.quantity_mean),
        )
        for n, e in effects.items()
    }
    return Effects(found, effects.provenance)
