"""UALE, section 4.1: code shared by its three cases, each of which is a separate experiment.

x1 is uniform on (0, 1), x2 = x1, x3 normal with standard deviation 1/2. With ``f1 = a1 x1 + a2 x2`` the function is f1
up to f1 = 1/2, then 1/2 - f1 up to f1 = 1, then 0; case c adds x1 x3 (Eq. 16). The paper gives no number of rows and no
K_max: here 500 and 20, with its alpha = 0.2 and N / 20 rows per bin.

Three truths have closed forms. **Slopes**: w, -w and 0 in the three pieces, w the feature's own weight, breaks at
1/(2a) and 1/a with a = a1 + a2; with x3 the slope of x1 has standard deviation 1/2. **The effect** accumulates them: w
x, then w (1/a - x), then 0. **The PDP** moves the feature while the other, uniform, stays where it is. With g the
function of f1 and G its integral it is ``(G(w x + v) - G(w x)) / v``, v the other's weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import skedasis as sd
from experiments.experiment import Claim
from experiments.uale import drawing
from experiments.uale.drawing import Floats
from skedasis.datasets.simulations import Correlated

ROWS = 500
SETTINGS = (
    "x2 = x1 exactly, as in the paper; 500 rows and K_max = 20, which are not in the paper, with its alpha = 0.2 "
    "and N/20 rows per bin. Effects are 0 at the left end."
)
EQ13 = sd.Optimal(max_bins=20, alpha=0.2)
GRID = np.linspace(0.0, 1.0, 101)


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw of rows, and the effects of one feature, all 0 at the left end.

    Parameters
    ----------
    X : ndarray, shape (500, 3)
    eq13, likelihood : Effect
        UALE with bins by Eq. 13, and by likelihood.
    exact : Effect
        UALE with bins by Eq. 13 where the feature's range is exactly (0, 1).
    pdp : Effect
        With all ICE curves.
    """

    X: Floats
    eq13: sd.Effect
    likelihood: sd.Effect
    exact: sd.Effect
    pdp: sd.Effect

    @property
    def scatter(self) -> Floats:
        """Return the standard deviation of the ICE curves at the grid, all 0 at the left end."""
        if self.pdp.curves is None:
            raise TypeError("the PDP keeps its curves")
        return self.pdp.curves.value.std(axis=0, ddof=1)


def example(a1: float = 1.0, a2: float = 1.0, alpha: float = 0.0) -> Correlated:
    """Return the function and its rows, with x2 = x1."""
    return Correlated(a1, a2, alpha, noise=0.0, form="uale")


def drawn(case: Correlated, feature: int, seed: int, *, grid: Floats = GRID) -> Draw:
    """Explain one draw."""
    quantity = sd.prediction(case.f, slope=case.slope)
    X = case.sample(ROWS, seed)
    full = X.copy()
    full[0, :2], full[1, :2] = 0.0, 1.0
    paper = sd.UALE(bins=EQ13, center="start")
    return Draw(
        X,
        sd.explain(quantity, X, feature, method=paper, heterogeneity_rows=0),
        sd.explain(quantity, X, feature, method=sd.UALE(center="start"), heterogeneity_rows=0),
        sd.explain(quantity, full, feature, method=paper, heterogeneity_rows=0),
        sd.explain(
            quantity,
            X,
            feature,
            method=sd.PDP(grid=grid, ice="all", center="start"),
            heterogeneity_rows=0,
        ),
    )


def runs(case: Correlated, feature: int, quick: bool, *, grid: Floats = GRID) -> list[Draw]:
    """Explain many draws."""
    return [drawn(case, feature, seed, grid=grid) for seed in range(30 if quick else 100)]


def pdp(case: Correlated, feature: int, x: Floats) -> Floats:
    """Return the PDP of x1 or x2, 0 at x = 0, the other one uniform on (0, 1)."""
    own, other = (case.a1, case.a2) if feature == 0 else (case.a2, case.a1)

    def at(points: Floats) -> Floats:
        return (_integral(own * points + other) - _integral(own * points)) / other

    return at(np.asarray(x, dtype=float)) - at(np.zeros(1))


def _integral(u: Floats) -> Floats:
    """Return the integral from 0 to u of the function of f1."""
    first, second = np.clip(u, 0.0, 0.5), np.clip(u, 0.5, 1.0)
    return first**2 / 2 + (second - 0.5) / 2 - (second**2 - 0.25) / 2


def literal(case: Correlated, feature: int, x: Floats) -> Floats:
    """Return what the paper writes as the true effect: w x, then -w x, then 0."""
    own, (first, second) = (case.a1, case.a2)[feature], case.breaks
    return own * np.where(x < first, x, np.where(x < second, -x, 0.0))


def slopes(case: Correlated, feature: int, x: Floats) -> Floats:
    """Return the true mean slope."""
    own, (first, second) = (case.a1, case.a2)[feature], case.breaks
    return own * np.where(x < first, 1.0, np.where(x < second, -1.0, 0.0))


def rises(draws: list[Draw], case: Correlated, feature: int) -> Claim:
    """Say whether the slopes in the three pieces are found."""
    ends = np.array([0.02, 0.98 * case.breaks[0], 1.02 * case.breaks[0], 0.98 * case.breaks[1]])
    ends = np.append(ends, [1.02 * case.breaks[1], 0.98])
    values = np.array([d.eq13(ends) for d in draws])
    found = np.diff(values, axis=1)[:, ::2] / np.diff(ends)[::2]
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(len(found))
    true = slopes(case, feature, (ends[::2] + ends[1::2]) / 2)
    # Bins that reach over a break bend the curve next to it: a cell of 1/20 that is half in either piece.
    own = (case.a1, case.a2)[feature]
    holds = bool(np.all(np.abs(mean - true) < 0.05 * own + 4 * error))
    shown = ", ".join(f"{m:.2f} ± {e:.2f}" for m, e in zip(mean, error, strict=True))
    return Claim(
        "slopes",
        f"the average effect has slopes {_listed(true)} in the three pieces, and UALE finds them",
        holds,
        f"Over {len(draws)} draws the curve rises by {shown} per unit.",
    )


def curve(draws: list[Draw], case: Correlated, feature: int) -> Claim:
    """Say whether the paper's true effect, read as a curve, is the effect."""
    at = np.array([np.mean(case.breaks)])
    # Effects are 0 at the first row.
    start = [case.true_effect(feature, [d.eq13.x[0]])[0] for d in draws]
    found = np.array([d.eq13(at)[0] + s for d, s in zip(draws, start, strict=True)])
    true, papers = case.true_effect(feature, at)[0], literal(case, feature, at)[0]
    jumping = case.true_effect(feature, at, jumps=True)[0]
    own, end = (case.a1, case.a2)[feature], case.breaks[1]
    error = found.std(ddof=1) / np.sqrt(len(found))
    numbers = (
        f"In the middle of the second piece, x = {at[0]:.3f}, that is {papers:.3f}; UALE gives {found.mean():.3f} ± "
        f"{error:.3f}."
    )
    why = (
        f"The effect accumulates slopes (Eq. 1): {own * end:g} - {_times(own)}x there, {true:.3f} at this x. The "
        f"printed formula is an antiderivative of each piece alone. The jumps of f do not explain it either: ALE by "
        f"differences, which includes them, tends to {jumping:.3f}."
    )
    return Claim(
        "curve",
        f"the true effect is {_times(own)}x, then -{_times(own)}x, then 0",
        bool(abs(found.mean() - papers) < 4 * error + 0.02),
        numbers,
        why,
    )


def quiet(draws: list[Draw]) -> Claim:
    """Say whether bins keep the error of Theorem 3.1 near zero, where there is no heterogeneity."""
    left = np.array([_bin_error(d.eq13) for d in draws])
    one = np.array([_bin_error(d.eq13.rebin(sd.Uniform(1))) for d in draws])
    ten = np.array([_bin_error(d.eq13.rebin(sd.Uniform(10))) for d in draws])
    likelihood = np.array([_bin_error(d.likelihood) for d in draws])
    share = left.mean() / one.mean()
    numbers = (
        f"There is no heterogeneity here, so all variance in bins is bin error: {share:.1%} of that of a single bin "
        f"({left.mean():.4f} of {one.mean():.3f}); ten equal bins {ten.mean() / one.mean():.1%}, bins by likelihood "
        f"{likelihood.mean() / one.mean():.1%}."
    )
    says = (
        "there is no heterogeneity, and the chosen bins show almost none (below 5 % of one bin's)"
    )
    return Claim("quiet", says, bool(share < 0.05), numbers)


def three(draws: list[Draw], case: Correlated) -> Claim:
    """Say whether the bins are the three pieces."""
    count = {name: _share(draws, name) for name in ("eq13", "exact", "likelihood")}
    first, second = case.breaks
    off = [float(np.abs(d.likelihood.x[1:3] - case.breaks).max()) for d in draws]
    numbers = (
        f"Eq. 13 gives exactly three bins in {count['eq13']:.0%} of {len(draws)} draws, otherwise four or five; bins "
        f"by "
        f"likelihood in {count['likelihood']:.0%}, with edges within {max(off):.3f} of the breaks."
    )
    why = (
        f"Edges are multiples of the range of the rows, which is never exactly (0, 1), so each break is inside a "
        f"cell. With a row at 0 and one at 1 the grid includes the breaks and the share is {count['exact']:.0%}."
    )
    holds = count["eq13"] >= 0.9
    says = f"UALE makes three bins, [0, {first:g}], [{first:g}, {second:g}], [{second:g}, 1] (in 9 of 10 draws)"
    return Claim("three_bins", says, bool(holds), numbers, "" if holds else why)


def misled(draws: list[Draw], case: Correlated, feature: int) -> Claim:
    """Say whether the PDP is wrong, and whether ICE curves differ."""
    true = case.true_effect(feature, GRID)
    closed = pdp(case, feature, GRID)
    found = np.mean([d.pdp.value for d in draws], axis=0)
    own = np.mean([np.abs(_on(d.eq13, case, feature) - true).max() for d in draws])
    scatter = float(np.mean([d.scatter.max() for d in draws]))
    wrong = np.abs(closed - true).max()
    numbers = (
        f"In closed form the PDP is up to {wrong:.2f} from the true effect, which runs between 0 and {true.max():.2f} "
        f"(measured {np.abs(found - true).max():.2f}; UALE {own:.3f}), and ICE curves have a standard deviation of up "
        f"to {scatter:.2f} "
        f"where heterogeneity is truly {case.true_std(feature, [0.5])[0]:g}."
    )
    holds = wrong > 0.5 * true.max() and scatter > 0.1 and own < 0.2 * true.max()
    says = "the PDP is wrong, and ICE curves show heterogeneity where there is none"
    return Claim("pdp_ice", says, bool(holds), numbers)


def bins_table(draws: list[Draw]) -> list[list[str]]:
    """Return for Eq. 13 and for likelihood: bins, accumulated deviation, error of the curve."""
    out = []
    for name, label in (("eq13", "Eq. 13"), ("likelihood", "likelihood")):
        effects: list[sd.Effect] = [getattr(d, name) for d in draws]
        bins = np.array([len(e.bins) for e in effects])
        sigma = [float(e.accumulated_std[-1]) for e in effects]
        out.append(
            [label, f"{bins.mean():.1f}", f"{_share(draws, name):.0%}", f"{np.mean(sigma):.3f}"]
        )
    return out


BINS_HEAD = ("bins by", "bins", "exactly three", "accumulated sigma at the right end")


def _listed(values: Floats) -> str:
    first, second, third = (f"{v:g}" for v in values)
    return f"{first}, {second} and {third}"


def _times(weight: float) -> str:
    return "" if weight == 1 else f"{weight:g} "


def _bin_error(effect: sd.Effect) -> float:
    bins = drawing.bins_of(effect)
    return float(np.nansum(bins.std**2 * bins.widths))


def _share(draws: list[Draw], name: str) -> float:
    return float(np.mean([len(getattr(d, name).bins) == 3 for d in draws]))


def _on(effect: sd.Effect, case: Correlated, feature: int) -> Floats:
    """Return an effect on the grid as it is anchored at 0, constant beyond the rows."""
    at = np.clip(GRID, effect.x[0], effect.x[-1])
    return effect(at) + case.true_effect(feature, [effect.x[0]])[0]
