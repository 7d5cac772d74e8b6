"""Compare models: explain each of several as if it were alone."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from skedasis._progress import current_work
from skedasis._types import OutputLabel
from skedasis.errors import DataError
from skedasis.quantities.outputs import listed
from skedasis.results.containers import OutputResult
from skedasis.results.multi_output import Comparison
from skedasis.results.provenance import as_provenance, model_names, summed_costs

ModelT = TypeVar("ModelT")
ResultT = TypeVar("ResultT", bound=OutputResult)


def check_several(models: Sequence[object]) -> None:
    """Raise for fewer than two models."""
    if len(models) < 2:
        got = "no models" if not models else "one model"
        fix = "Pass the model itself" if models else "Pass the fitted models: [m1, m2]"
        raise DataError("models", got, "at least two models", fix)


@contextmanager
def annotate_model_index(index: int, models: int) -> Generator[None]:
    """Add to an error the index of the model that caused it."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"The error concerns model {index} of the {models} models (counted from 0).")
        raise


def compared(
    given: Sequence[ModelT] | Mapping[str, ModelT], of: Callable[[ModelT], ResultT]
) -> Comparison[ResultT]:
    """Return what a function returns of each of several models, by name or number."""
    models, names = listed(given)
    check_several(models)
    current_work().times = float(len(models))
    found: dict[OutputLabel, ResultT] = {}
    for i, (key, model) in enumerate(zip(model_names(names, len(models)), models, strict=True)):
        with annotate_model_index(i, len(models)):
            found[key] = of(model)
    costs = summed_costs([one.provenance for one in found.values()])
    return Comparison(found, as_provenance({"models": len(models), **names, **costs}))
