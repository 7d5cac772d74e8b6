"""PFI: permutation feature importance (Breiman 2001; entropy_importance Eq. 1, 5 and 6).

How much does a quantity rise, on average over the rows, when a feature's values come from other rows? On a loss that is
the classical importance, on the negative log-likelihood Likelihood-PFI (Eq. 5), on an entropy Entropy-PFI (sec. 3.2).
Rows are moved to places where no data lies if features depend on each other: for an entropy that is what is measured.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from skedasis._types import Json
from skedasis.data.dataset import Source
from skedasis.data.features import Feature
from skedasis.errors import DataError, LeftOutWarning, UnsupportedError, explained
from skedasis.methods.base import Parameters, plain
from skedasis.quantities.base import Quantity

_SAMPLE = 4099
"""Keeps the sample of rows apart from other draws with the same seed."""


@dataclass(frozen=True)
class PFI(Parameters):
    """Permutation importance: the mean rise of the quantity when a feature's values come from other rows.

    It estimates E q(X'_s, X_c, Y) - E q(X_s, X_c, Y), where X'_s is distributed as X_s and independent of the rest
    (entropy_importance Eq. 2), by all ordered pairs of rows, i = j included: in expectation (1 - 1/N) of it.

    Parameters
    ----------
    repeats : int
        How many permutations.
    groups : mapping of str to list of columns, optional
        Columns that move together, under a name of their own, as in `skedasis.explain`.
    max_samples : int or float, optional
        Take so many of the rows only, or such a part of them: a seeded sample without replacement. Rows keep their
        weights, and the provenance says so.
    local : int or "all"
        How many single rows to keep with the result: a seeded sample.
    metric : callable or str, optional
        What is compared where it is no mean over rows: ``metric(y, values) -> float`` of the labels and the quantity,
        given ``sample_weight=`` besides where there are weights; or the name of a metric of scikit-learn: "roc_auc",
        "average_precision", "r2", "explained_variance", "max_error", "median_absolute_error". Importance is how much it
        gets worse. All rows are kept in memory.
    greater_is_better : bool
        Whether a `metric` of one's own is better the larger it is.
    conditional : bool
        Permute within subgroups of rows that are alike in the other features: the leaves of a decision tree that
        predicts the feature from them. Only of quantities that know the label.
    subgroup_rows : int
        How many rows such a subgroup has at least.
    exact : bool
        No draws: the mean over all ordered pairs of rows, each row with itself included, which is what random
        permutations estimate. For a small X.

    Raises
    ------
    DataError
        For less than one repeat, groups that overlap, a metric without y, and settings that exclude each other.
    UnsupportedError
        For a pair of features, and for ``conditional=True`` on an entropy, variance or prediction: their conditional
        importance is zero by construction (entropy_importance, Proposition 3).

    Notes
    -----
    N (1 + R D) model rows for R repeats of D features, all repeats of a feature in one call of a batch; N (1 + N D)
    with ``exact=True``. Never clipped at zero: a feature that does not matter has an importance around zero, and
    exactly zero where the model does not use it (Proposition 2).

    All features share the permutations (but with ``conditional=True``, where each has subgroups of its own), which are
    drawn before the first batch for the rows' keys (`row_id`): the result does not depend on batches, threads, or the
    order of columns (but where two columns split a subgroup equally well). No row borrows from itself; that it would,
    once in N times, is a factor 1 - 1/N of the mean, which a `metric` does not have.
    Weighted rows lend in proportion to their weights; a row borrows from one other in each repeat, whatever its weight,
    so that draws add more to the error than if rows were repeated.

    `std_error` and the analytic interval include that the rows are a sample: the Hájek projection of the mean over
    pairs, from sums over blocks of rows (`skedasis.stats.resampling.pair_variance`), plus what the draws add. Below
    some 50 rows they are too narrow (0.8 to 0.9 instead of 0.95 at 10 rows). With ``conditional=True`` the error
    is that of independent draws of donors and recipients, which is rather too large; with a `metric` it comes from the
    jackknife over ten parts of the rows, which calls the metric twenty times as often as the values do.

    References
    ----------
    entropy_importance Eq. 1, 2, 5, 6 and sec. 3.2; conditional: Molnar et al. (2023).

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> loss = sd.loss(lambda X: X[:, 0], "squared_error")
    >>> pf = sd.explain(loss, X, y=X[:, 0], method=sd.PFI(exact=True))
    >>> bool(np.isclose(pf.mean[0], 2 * X[:, 0].var())), float(pf.mean[1])
    (True, 0.0)
    """

    repeats: int = 10
    groups: Mapping[str, Sequence[Any]] | None = None
    max_samples: int | float | None = None
    local: int | Literal["all"] = 1000
    metric: str | Callable[..., float] | None = None
    greater_is_better: bool = True
    conditional: bool = False
    subgroup_rows: int = 30
    exact: bool = False

    uses_slopes = False
    compares_missing = False
    leaves_out_missing = False
    by_rows = True

    def __post_init__(self) -> None:
        _whole("repeats", self.repeats, 1, 10)
        _whole("subgroup_rows", self.subgroup_rows, 2, 30)
        if self.local != "all":
            _whole("local", self.local, 0, 1000)
        _share(self.max_samples)
        for name in ("exact", "conditional", "greater_is_better"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                got = repr(getattr(self, name))[:60]
                raise DataError(explained(f"PFI({name})", got, "True or False", "Use one of them"))
        chosen = {
            "exact": self.exact,
            "conditional": self.conditional,
            "metric": self.metric is not None,
        }
        if sum(chosen.values()) > 1:
            names = " and ".join(k for k, v in chosen.items() if v)
            raise DataError(explained("PFI", names, "one of them", "Leave the others out"))
        if not (self.metric is None or isinstance(self.metric, str) or callable(self.metric)):
            raise DataError(
                explained(
                    "PFI(metric)",
                    f"a {type(self.metric).__name__}",
                    "a function metric(y, values), or a name",
                    "Use metric='roc_auc'",
                )
            )

    def describe(self) -> Json:
        """Return the parameters as plain values."""
        said = {f.name: getattr(self, f.name) for f in fields(self)}
        if self.groups is not None:
            said["groups"] = {k: list(v) for k, v in self.groups.items()}
        if callable(self.metric):
            said["metric"] = getattr(self.metric, "__name__", type(self.metric).__name__)
        return {k: plain(v) for k, v in said.items()}

    def given(self, source: Source, groups: Any, seed: int) -> tuple[Source, Any]:
        """Return the rows that take part, and all groups."""
        if self.groups is not None:
            # What is no mapping is refused where groups are read.
            own = self.groups
            groups = {**(groups or {}), **own} if isinstance(own, Mapping) else own
        wanted = self.max_samples
        if wanted is None:
            return source, groups
        n = len(source)
        size = max(1, round(wanted * n)) if isinstance(wanted, float) else int(wanted)
        if size >= n:
            return source, groups
        drawn = np.random.default_rng([_SAMPLE, seed]).choice(n, size, replace=False)
        return source.only(np.sort(source.order[drawn])), groups

    def heed(self, model: Any, y: Any) -> None:
        """Warn of labels that are given with a bare estimator: its prediction has no use for them."""
        bare = not isinstance(model, Quantity) and hasattr(model, "predict")
        if bare and y is not None and self.metric is None:
            warnings.warn(
                "PFI: y is not used, for it is the prediction whose rise is measured. To see which features the model "
                'needs to be right use sd.loss(model, "squared_error") or sd.nll(model).',
                LeftOutWarning,
                stacklevel=4,
            )

    def on(self, quantity: Quantity, source: Source, seed: int) -> Any:
        """Return the form that knows the rows: who lends to whom.

        Raises
        ------
        UnsupportedError
            For a conditional importance of what does not know the label.
        """
        from skedasis.methods.pfi_forms import form_of

        return form_of(self, quantity, source, seed)

    def for_pair(self, features: tuple[Feature, Feature]) -> Any:
        """Refuse: two features that move together are a group."""
        one, two = (f.name for f in features)
        raise UnsupportedError(
            explained(
                f"PFI of ({one!r}, {two!r})",
                "a pair",
                "single features or groups",
                f'Use sd.PFI(groups={{"both": [{one!r}, {two!r}]}})',
            )
        )


def _whole(what: str, value: Any, least: int, usual: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise DataError(
            explained(
                f"PFI({what})",
                repr(value)[:60],
                f"a whole number from {least}",
                f"Use {what}={usual}",
            )
        )


def _share(value: Any) -> None:
    """Refuse a sample that is neither a number of rows nor a part of them."""
    if value is None:
        return
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1
    part = isinstance(value, (float, np.floating)) and 0 < value <= 1
    if not (whole or part):
        raise DataError(
            explained(
                "PFI(max_samples)",
                repr(value)[:60],
                "a number of rows, or a part of them between 0.0 and 1.0",
                "Use max_samples=10_000",
            )
        )
