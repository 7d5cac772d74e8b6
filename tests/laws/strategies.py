"""Cases for the laws: random data, random models, every method; and the tolerances of equality.

Models are computed element by element, so that the response of a row does not depend on its batch. Laws can therefore
demand exact equality.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import skedasis as sd


def law(**strategies):
    """Turn a check into a test of random cases; the profile of Hypothesis says how many."""
    return lambda check: settings(suppress_health_check=list(HealthCheck))(
        given(**strategies)(check)
    )


# ------------------------------------------------------------------------------- models and data


@dataclass(frozen=True)
class Smooth:
    """A smooth function of some columns, with its derivatives.

    ``size * sum of (a_j u_j + b_j u_j u_next + c_j sin(u_j + u_next))`` over the used columns, where u is
    ``(x - shift) / unit`` and *next* is cyclic.
    """

    linear: np.ndarray
    product: np.ndarray
    wave: np.ndarray
    columns: tuple[int, ...]
    shift: float = 0.0
    unit: float = 1.0
    size: float = 1.0
    lift: float = 0.0

    def _inputs(self, X):
        u = [(X[:, j] - self.shift) / self.unit for j in self.columns]
        return u, u[1:] + u[:1]

    def __call__(self, X):
        total = np.zeros(len(X))
        for a, b, c, u, v in zip(
            self.linear, self.product, self.wave, *self._inputs(X), strict=True
        ):
            total += a * u + b * u * v + c * np.sin(u + v)
        return self.size * total + self.lift

    def slope(self, X):
        """Return all partial derivatives, (n, d)."""
        jacobian = np.zeros(X.shape)
        following = self.columns[1:] + self.columns[:1]
        terms = zip(
            self.linear,
            self.product,
            self.wave,
            self.columns,
            following,
            *self._inputs(X),
            strict=True,
        )
        for a, b, c, j, k, u, v in terms:
            bend = c * np.cos(u + v)
            jacobian[:, j] += a + b * v + bend
            jacobian[:, k] += b * u + bend
        return self.size / self.unit * jacobian


@dataclass(frozen=True)
class Case:
    """Rows, a model, and optional weights."""

    X: np.ndarray
    model: Smooth
    weights: np.ndarray | None
    rng: np.random.Generator

    @property
    def unused(self):
        """Return the columns that the model ignores."""
        return [j for j in range(self.X.shape[1]) if j not in self.model.columns]


def _column(rng, kind, n):
    if kind == "normal":
        return rng.normal(size=n)
    if kind == "uniform":
        return rng.uniform(-1, 2, size=n)
    if kind == "whole":
        return rng.integers(-3, 6, size=n).astype(float)
    if kind == "rounded":
        return np.round(rng.normal(size=n), 1)
    return np.exp(rng.normal(size=n)) - 1  # skewed


KINDS = ("normal", "uniform", "whole", "rounded", "skewed")
CONTINUOUS = ("normal", "uniform", "skewed")


@st.composite
def cases(draw, weights=("none", "whole", "fractional"), kinds=KINDS, rows=(20, 90), smooth=True):
    """Draw rows of two to four columns; the model uses all of them, or all but one."""
    seed = draw(st.integers(0, 2**32 - 1))
    n = draw(st.integers(*rows))
    d = draw(st.integers(2, 4))
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=d, max_size=d))
    weighing = draw(st.sampled_from(weights))
    used = draw(st.integers(d - 1, d))
    rng = np.random.default_rng(seed)
    X = np.stack([_column(rng, kind, n) for kind in chosen], axis=1)
    columns = tuple(int(j) for j in rng.permutation(d)[:used])
    curved = rng.normal(size=(2, used)) * smooth
    model = Smooth(rng.normal(size=used), *curved, columns)
    w = None
    if weighing == "whole":
        w = rng.integers(1, 5, size=n).astype(float)
    elif weighing == "fractional":
        w = rng.uniform(0.2, 3.0, size=n)
    return Case(X, model, w, rng)


# --------------------------------------------------------------------------------------- methods


def _three_edges(x):
    """Return edges at data values that exclude some rows, at any scale."""
    x = np.unique(x)
    return x[[len(x) // 10, len(x) // 2, len(x) - 1 - len(x) // 10]]


def _edges(x, **options):
    edges = np.unique(_three_edges(x))
    return sd.Edges(edges if len(edges) > 1 else [x.min(), x.max()], **options)


@dataclass(frozen=True)
class Way:
    """A method with its settings, and the source of its local effects."""

    method: Callable
    local: str = "edges"
    fixed: bool = False
    """Whether the bins do not depend on the local effects."""
    derivative: bool = False
    """Whether values are derivatives."""

    @property
    def accumulates(self):
        return self.local not in ("none", "values")

    @property
    def sloped(self):
        return self.local == "slopes" or self.derivative


WAYS = {
    "ale-quantile": Way(lambda x: sd.ALE(bins=8), fixed=True),
    "ale-uniform": Way(lambda x: sd.ALE(bins=sd.Uniform(6), center="start"), fixed=True),
    "ale-edges": Way(lambda x: sd.ALE(bins=_edges(x)), fixed=True),
    "ale-optimal": Way(lambda x: sd.ALE(bins=sd.Optimal(max_bins=12))),
    "dale-uniform": Way(lambda x: sd.DALE(bins=6), "slopes", fixed=True),
    "dale-quantile": Way(lambda x: sd.DALE(bins=sd.Quantile(7), ddof=0), "slopes", fixed=True),
    "dale-edges": Way(lambda x: sd.DALE(bins=_edges(x), center=None), "slopes", fixed=True),
    "uale": Way(lambda x: sd.UALE(bins=sd.Optimal(max_bins=10)), "slopes"),
    "rhale": Way(lambda x: sd.RHALE(bins=sd.Optimal(max_bins=15)), "slopes"),
    "rhale-few": Way(
        lambda x: sd.RHALE(
            bins=sd.Optimal(max_bins=12, alpha=0.7, min_points=6), accumulate_se="sum"
        ),
        "slopes",
    ),
    "rhale-at-quantiles": Way(
        lambda x: sd.RHALE(bins=sd.Optimal(max_bins=9, grid="quantile")), "slopes"
    ),
    "rhale-at-data": Way(lambda x: sd.RHALE(bins=sd.Optimal(grid="data")), "slopes"),
    "rhale-greedy": Way(lambda x: sd.RHALE(bins=sd.Greedy(max_bins=14)), "slopes"),
    "rhale-auto": Way(lambda x: sd.RHALE(bins=sd.AutoUniform(max_bins=7)), "slopes"),
    "rhale-differences": Way(lambda x: sd.RHALE(bins=sd.Optimal(max_bins=10)), "differences"),
    "rhale-steps": Way(
        lambda x: sd.RHALE(bins=sd.Optimal(max_bins=15), local_effects="steps"), "steps"
    ),
    "pdp": Way(lambda x: sd.PDP(grid=9), "none", fixed=True),
    "pdp-mean": Way(
        lambda x: sd.PDP(grid=7, center="mean", percentiles=(0, 100)), "none", fixed=True
    ),
    "pdp-quantiles": Way(lambda x: sd.PDP(grid=6, spacing="quantile"), "none", fixed=True),
    "ice-start": Way(lambda x: sd.ICE(grid=5, center="start"), "none", fixed=True),
    "ice-anchor": Way(
        lambda x: sd.ICE(grid=5, anchor=float(np.sort(x)[len(x) // 3])), "none", fixed=True
    ),
    "pdp-slopes": Way(lambda x: sd.PDP(grid=6, derivative=True), "none", True, derivative=True),
    "mplot": Way(lambda x: sd.MPlot(bins=6), "values", fixed=True),
    "mplot-uniform": Way(
        lambda x: sd.MPlot(bins=sd.Uniform(4), center="mean", ddof=0), "values", fixed=True
    ),
    "mplot-optimal": Way(lambda x: sd.MPlot(bins=sd.Optimal(max_bins=9)), "values"),
}
"""Every method, with every kind of binning."""


def ways(wanted=lambda way: True):
    """Draw one of the methods that satisfy `wanted`."""
    return st.sampled_from([way for way in WAYS.values() if wanted(way)])


def quantity_of(model, way):
    """Return the quantity, with derivatives if the method needs them."""
    return sd.prediction(model, slope=model.slope if way.sloped else None)


def effects_of(case, way, method=None, features=None, **options):
    """Return the effect of each feature of a case.

    Methods with edges depend on the feature's own column, so each feature is explained in its own pass.
    """
    places = range(case.X.shape[1]) if features is None else features
    options = {"sample_weight": case.weights, "progress": False, **options}
    quantity = quantity_of(case.model, way)
    return {
        j: sd.explain(quantity, case.X, j, method=method or way.method(case.X[:, j]), **options)
        for j in places
    }


# --------------------------------------------------------------------------------------- equality

EXACT = 1e-11
"""Sums of a hundred terms in another order: 100 rows and 20 bins with rounding errors of 1e-16, plus two decades."""

DIFFERENCED = 2e-6
"""Tolerance of central differences, whose step may change by a bit: their rounding is eps / eps^(1/3) = 4e-11 of q for
a step of one standard deviation; division by the largest slope, and variances, add some decades.
"""


def tolerance(way):
    return DIFFERENCED if way.local == "differences" else EXACT


def has_few_values(case):
    """Return whether the first feature has few values (docs/explanation/heterogeneity.md, few values)."""
    values = len(np.unique(case.X[:, 0]))
    return values <= 13 or (values <= 64 and len(case.X) >= 10 * values)


def sizes(e):
    """Return the sizes to which rounding errors are proportional: of the slopes, and of the curve."""
    if e.spec.local_effects == "values":  # the bins of an M-plot hold the quantity itself
        size = np.abs(e.rows.effect).max()
        return size, size
    if e.rows is not None and e.rows.local is not None and len(e.rows):
        slope = np.nanmax(np.abs(e.rows.local), initial=0.0)
        rises = np.nanmax(np.abs(e.rows.effect), initial=0.0) if e.values is not None else 0.0
        return slope, max(slope * (e.x[-1] - e.x[0]), rises * len(e.x))
    parts = [np.abs(e.value).max(), np.nanmax(e.heterogeneity, initial=0.0)]
    if e.curves is not None:
        parts.append(np.abs(e.curves.value).max())
    return 0.0, max(parts)


def means_of_x(e):
    """Return the relative tolerance of an effect's points: edges and grids are exact, means of rows are rounded."""
    return EXACT if e.spec.local_effects == "values" else 0.0


def near(got, want, size, what):
    np.testing.assert_allclose(got, want, rtol=0, atol=size, err_msg=what)


def assert_same(got, want, tol=EXACT, *, counts=True, x_tol=0.0, score=True):
    """Assert that two effects are the same up to rounding, relative to the size of the local effects.

    Use ``score=False`` where the row identifiers differ, because then other pairs of rows are drawn for the score.
    """
    slope, size = sizes(want)
    # The points of an M-plot are means of rows, and are rounded like these.
    x_tol = max(x_tol, means_of_x(want))
    near(got.x, want.x, x_tol * np.abs(want.x).max(), "x")
    # Other pairs of rows are drawn for the score: so are other blocks for the spread of windows.
    drawn = () if not score and want.accumulated_std is not None else ("heterogeneity",)
    for name in ("value", "accumulated_std", "std_error", *drawn):
        if getattr(want, name) is not None:
            near(getattr(got, name), getattr(want, name), tol * size, name)
    near(got.importance, want.importance, tol * size, "importance")
    if score:
        near(got.heterogeneity_score, want.heterogeneity_score, tol * size, "score")
    for side in (0, 1):
        near(got.interval(0.9)[side], want.interval(0.9)[side], 10 * tol * size, "interval")
    assert (got.bins is None) == (want.bins is None)
    if want.bins is not None:
        assert len(got.bins) == len(want.bins)
        for name in ("effect", "std", "std_error"):
            near(getattr(got.bins, name), getattr(want.bins, name), tol * slope, name)
        near(got.bins.weight, want.bins.weight, 1e-12 * want.bins.weight.sum(), "weight")
        assert (got.bins.empty == want.bins.empty).all()
        if counts:
            assert (got.bins.count == want.bins.count).all()


def identical(got, want):
    """Assert that two results are bitwise identical, for any type of result."""
    assert type(got) is type(want)
    if isinstance(want, np.ndarray):
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype
    elif isinstance(want, dict):
        assert list(got) == list(want)
        for name, part in want.items():
            identical(got[name], part)
    elif isinstance(want, tuple | list):
        assert len(got) == len(want)
        for one, two in zip(got, want, strict=True):
            identical(one, two)
    elif hasattr(want, "__dataclass_fields__"):
        for name in want.__dataclass_fields__:
            if name != "provenance":
                identical(getattr(got, name), getattr(want, name))
    else:
        assert got == want or (got != got and want != want)  # NaN equals NaN here


def changed(case, **parts):
    return replace(case, **parts)
