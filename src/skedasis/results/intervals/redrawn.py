"""Draws of an effect's moments, where the rows behind them are not all kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from skedasis._types import Floats
from skedasis.errors import UnsupportedError, explained
from skedasis.results.effect import Effect
from skedasis.results.intervals.counted import Form, Halved, Of, Stepped, needs
from skedasis.results.intervals.counted_curves import Bent
from skedasis.results.parts import Curves
from skedasis.results.pieces import AXIS, LOCAL
from skedasis.results.steps import BOTH, DOWN, UP
from skedasis.stats.moments import Moments, WeightKind
from skedasis.stats.resampling import generator

_NUMBERS = 1_000_000
"""Cells times replicates at a time."""


@dataclass(frozen=True, eq=False)
class FromMoments:
    """An effect whose cells are drawn anew.

    Parameters
    ----------
    form : Form
    moments : mapping of str to Moments
        In the form's cells.
    kind : {"frequency", "sampling"}

    Notes
    -----
    The rows of the cells are multinomial, as they are when rows are drawn. A cell's mean is normal around its own, with
    the variance within it (divided by n, as a bootstrap has it) over the rows drawn; its sum of squares is chi square.
    Both are what the rows would give up to the shape of their distribution within a cell, which matters where cells
    hold few rows. The steps down and up of a level are drawn together, with their covariance. The feature's own moments
    are drawn apart from those of the local effects, but for bins whose slopes change linearly: there local effects go
    with the places along the bin's line. Sampling weights are taken to have nothing to do with these.
    """

    form: Form
    moments: Mapping[str, Moments]
    kind: WeightKind

    def replicates(self, of: Of, replicates: int, seed: int) -> Floats:
        """Return the replicates, shape (R, m)."""
        rng = generator(seed)
        names, squares = needs(self.form, of)
        cells = len(self.moments[names[0]].weight)
        step = max(1, _NUMBERS // max(cells, 1))
        parts = [
            self.form.read(
                self.drawn(rng, min(step, replicates - first), names, squares=squares), of
            ).T
            for first in range(0, replicates, step)
        ]
        return np.concatenate(parts)

    def drawn(
        self, rng: np.random.Generator, replicates: int, names: tuple[str, ...], *, squares: bool
    ) -> dict[str, Moments]:
        """Return moments (P, R)."""
        sizes = _sizes(self.moments[names[0]], rng, replicates, self.kind)
        if isinstance(self.form, (Stepped, Halved)):
            return _steps(self.moments, sizes, rng, self.kind, squares=squares)
        own = self.moments
        if isinstance(self.form, Bent):
            axis = _cells(own[AXIS], sizes, rng, self.kind, squares=squares)
            about = _about(own, self.form.tilt)
            local = _cells(about, sizes, rng, self.kind, squares=squares)
            return {AXIS: axis, LOCAL: _along(local, self.form.tilt, axis, own[AXIS])}
        return {name: _cells(own[name], sizes, rng, self.kind, squares=squares) for name in names}


def _sizes(
    own: Moments, rng: np.random.Generator, replicates: int, kind: WeightKind
) -> tuple[Floats, Floats, Floats]:
    """Return count, weight and squared weight of the cells, (P, R)."""
    of = own.weight if kind == "frequency" else own.count
    total = max(1, round(float(of.sum())))
    count = rng.multinomial(total, of / of.sum(), size=replicates).T.astype(float)
    if kind == "frequency":
        return count, count, count
    rows = np.where(own.count > 0, own.count, 1.0)[:, None]
    mean, square = own.weight[:, None] / rows, own.weight2[:, None] / rows
    spread = np.sqrt(count * np.maximum(square - mean**2, 0.0))
    weight = count * mean + spread * rng.standard_normal(count.shape)
    # A normal draw could be too small for so many rows; half the mean weight is far enough off.
    weight = np.maximum(weight, count * mean / 2)
    return count, weight, count * square


def _cells(
    own: Moments,
    sizes: tuple[Floats, Floats, Floats],
    rng: np.random.Generator,
    kind: WeightKind,
    *,
    squares: bool,
) -> Moments:
    """Draw means, and sums of squares if they are wanted."""
    count, weight, weight2 = sizes
    spread = _variance(own.m2, own)[:, None]
    drawn = Moments(count, weight, weight2, weight, weight)
    size = np.where(count > 0, drawn.effective(kind), 1.0)
    mean = own.mean[:, None] + np.sqrt(spread / size) * rng.standard_normal(count.shape)
    m2 = np.zeros_like(mean)
    if squares:
        free = np.maximum(drawn.effective(kind) - 1.0, 0.0)
        m2 = spread * weight / size * 2 * rng.standard_gamma(free / 2)
    return Moments(count, weight, weight2, np.where(count > 0, mean, 0.0), m2)


def _about(moments: Mapping[str, Moments], tilt: Floats) -> Moments:
    """Return the moments of local effects, with the scatter about the lines of their bins."""
    local, axis = moments[LOCAL], moments[AXIS]
    return replace(local, m2=np.maximum(local.m2 - tilt**2 * axis.m2, 0.0))


def _along(about: Moments, tilt: Floats, drawn: Moments, own: Moments) -> Moments:
    """Move local effects, (P, R), along the lines of their bins to the places that were drawn.

    Apart from these, places would be in error, which flattens lines and makes them less sure than they are.
    """
    moved = tilt[:, None] * (drawn.mean - own.mean[:, None])
    mean = np.where(about.count > 0, about.mean + moved, 0.0)
    return replace(about, mean=mean, m2=about.m2 + tilt[:, None] ** 2 * drawn.m2)


def _variance(m2: Floats, own: Moments) -> Floats:
    """Return variances with n for a divisor: what rows that are drawn anew vary by."""
    return m2 / np.where(own.weight > 0, own.weight, 1.0)


def _steps(
    moments: Mapping[str, Moments],
    sizes: tuple[Floats, Floats, Floats],
    rng: np.random.Generator,
    kind: WeightKind,
    *,
    squares: bool,
) -> dict[str, Moments]:
    """Draw the means of both steps of each level together."""
    down, up, both = moments[DOWN], moments[UP], moments[BOTH]
    count, weight, weight2 = sizes
    at_down, at_up = _variance(down.m2, up), _variance(up.m2, up)
    product = _variance((both.m2 - down.m2 - up.m2) / 2, up)
    product[0] = product[-1] = 0.0  # one of the two steps does not exist
    root = np.sqrt(at_down)
    slope = np.where(root > 0, product / np.where(root > 0, root, 1.0), 0.0)
    rest = np.sqrt(np.maximum(at_up - slope**2, 0.0))
    plain = Moments(count, weight, weight2, weight, weight)
    size = np.where(count > 0, plain.effective(kind), 1.0)
    one, two = rng.standard_normal((2, *count.shape)) / np.sqrt(size)
    means = {
        DOWN: down.mean[:, None] + root[:, None] * one,
        UP: up.mean[:, None] + slope[:, None] * one + rest[:, None] * two,
    }
    free = np.maximum(plain.effective(kind) - 1.0, 0.0)
    found = {}
    for name, variance in ((DOWN, at_down), (UP, at_up)):
        m2 = np.zeros_like(weight)
        if squares:
            m2 = variance[:, None] * weight / size * 2 * rng.standard_gamma(free / 2)
        mean = np.where(count > 0, means[name], 0.0)
        found[name] = Moments(count, weight, weight2, mean, m2)
    return found


@dataclass(frozen=True, eq=False)
class FromCurves:
    """A partial dependence of which a sample of the curves is kept.

    Parameters
    ----------
    effect : Effect
    curves : Curves

    Notes
    -----
    Normal around the effect, with its own standard errors, and between points the correlation of the sample's curves.
    """

    effect: Effect
    curves: Curves

    least: ClassVar[int] = 30
    """Fewer curves would say too little of how points go together."""

    def replicates(self, of: Of, replicates: int, seed: int) -> Floats:
        """Return the replicates, shape (R, m)."""
        if of != "value":
            raise UnsupportedError(
                explained(
                    f"bootstrap of the {of} of a {self.effect.spec.method}",
                    "a result that keeps a part of the curves",
                    "all curves",
                    "Explain with a larger keep=, for PDP with ice='all'",
                )
            )
        e, rng = self.effect, generator(seed)
        form = correlated(self.curves)
        z = rng.standard_normal((replicates, form.shape[1])) @ form.T
        shrunk = np.sqrt(e.freedom / (e.freedom + 1.0))  # a bootstrap's variance divides by n
        return e.value + z * shrunk * e.std_error


def correlated(curves: Curves) -> Floats:
    """Return a matrix F (m, r) with F F' the correlation between the points of curves; a row of zeros for no spread."""
    w = np.ones(len(curves)) if curves.weight is None else curves.weight
    moved = curves.value - (w / w.sum()) @ curves.value
    spread = np.abs(moved).max(axis=0, initial=0.0)
    moved = moved / np.where(spread > 0, spread, 1.0) * np.sqrt(w)[:, None]
    form = moved.T
    if len(moved) > moved.shape[1]:
        roots, vectors = np.linalg.eigh(moved.T @ moved)
        form = vectors * np.sqrt(np.maximum(roots, 0.0))
    norm = np.sqrt((form**2).sum(axis=1))
    return form / np.where(norm > 0, norm, 1.0)[:, None]
