"""Code shared by the three cases of RHALE's section 4.1: RHALE, PDP and ICE where x2 follows x1.

x1 is uniform on (0, 1), x2 is x1 with noise of deviation 0.01, x3 is normal with deviation 1/2. With f1 = a1 x1 + a2 x2
the function is f1 up to 1/2, 1 - f1 up to 1, then 0, plus alpha x1 x3 (Eq. 17). Nothing jumps: at f1 = 1/2 both pieces
are 1/2. The true effect of a feature with own weight w is therefore w x, then w (1/a - x), then 0, with a = a1 + a2:
for equal weights 1/2 - x in the middle, where the paper has 1/4 - x.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import skedasis as sd
from experiments.experiment import Claim, Outcome, Picture, Table
from experiments.rhale import panels
from experiments.rhale.settings import CORRELATED, LIKELIHOOD, Floats, Setting, mean_error, pm

SETTINGS = (
    "500 rows per draw; Eq. 13 with K_max = 20, at least 10 rows per bin, alpha = 0.2 (the paper names none here); "
    "PDP and "
    "ICE on 41 points between the feature's 1st and 99th percentile. Curves are compared there, without their means."
)
NAMES = ("x1", "x2", "x3")
START = 0.03
"""Effects are counted from here: x2 reaches a little below 0."""


@dataclass(frozen=True, eq=False)
class Feature:
    """What was found of one feature: one entry a draw.

    Parameters
    ----------
    curve, pdp, likelihood : ndarray
        Mean absolute errors of the curves of RHALE in Eq. 13's bins, of PDP and of RHALE in bins by likelihood.
    inner : ndarray, shape (draws, bins)
        Standard deviation of slopes in given bins that keep clear of the breaks.
    ice : ndarray
        Largest deviation of the ICE curves from each other, from the left end.
    effects : list of Effect
        RHALE's.
    """

    curve: Floats
    pdp: Floats
    likelihood: Floats
    inner: Floats
    ice: Floats
    effects: list[sd.Effect]


def swept(setting: Setting, X: Floats, j: int) -> sd.Effect:
    """Return PDP and ICE of a feature, 0 at the left end."""
    grid = np.linspace(*np.quantile(X[:, j], [0.01, 0.99]), 41)
    q = sd.prediction(setting.example.f, slope=setting.example.slope)
    return sd.explain(
        q, X, j, method=sd.PDP(grid=grid, ice="all", center="start"), heterogeneity_rows=0
    )


def found(setting: Setting, j: int, seeds: int) -> Feature:
    """Explain one feature on many draws."""
    rows, effects, inner = [], [], []
    for seed in range(seeds):
        X = setting.sample(seed)
        e, p = setting.explain(X, j), swept(setting, X, j)
        errors = [_error(setting, f, j, p.x) for f in (e, p, e.rebin(LIKELIHOOD))]
        rows.append([*errors, float(np.std(p.curves.value, axis=0, ddof=1).max())])
        inner.append(e.rebin(sd.Edges([e.x[0], *_clear(setting, j), e.x[-1]])).bins.std[::2])
        effects.append(e)
    curve, pdp, likelihood, ice = np.array(rows).T
    return Feature(curve, pdp, likelihood, np.array(inner), ice, effects)


def _error(setting: Setting, e: sd.Effect, j: int, x: Floats) -> float:
    error = e(x) - setting.true_rise(j, x)
    return float(np.mean(np.abs(error - error.mean())))


def _clear(setting: Setting, j: int) -> list[float]:
    """Return edges six standard deviations of the noise left and right of the breaks; anywhere for x3."""
    example: Any = setting.example
    if j == 2:
        return [-0.001, 0.001]
    gap = 6 * example.noise * (example.a1, example.a2)[1 - j] / (example.a1 + example.a2)
    first, second = example.breaks
    return [first - gap, first + gap, second - gap, second + gap]


def measured(setting: Setting, feature: Feature, j: int, x: float) -> Floats:
    """Return each draw's effect at x, counted from 0 by the true effect at `START`."""
    start = float(setting.example.true_effect(j, [START])[0])
    return np.array([float(e([x])[0] - e([START])[0]) + start for e in feature.effects])


def formula(
    setting: Setting,
    feature: Feature,
    j: int,
    said: tuple[str, str, Callable[[float], float]],
    points: Sequence[float],
    why: str = "",
) -> Claim:
    """Return whether a formula of the paper for an effect holds at some points.

    Parameters
    ----------
    said : tuple
        The claim's key, the formula in words, and as a function.
    why : str
        Why not, if it does not.
    """
    key, words, papers = said
    parts, errors = [], []
    for x in points:
        mean, error = mean_error(measured(setting, feature, j, x))
        true = float(setting.example.true_effect(j, [x])[0])
        errors.append(abs(mean - papers(x)) - 3 * error)
        parts.append(
            f"at {x:g} it is {mean:.3f} ± {error:.3f} (formula {papers(x):.3f}, ours {true:.3f})"
        )
    holds = max(errors) < 0.02
    return Claim(
        key,
        words,
        bool(holds),
        f"By RHALE over the draws {'; '.join(parts)}.",
        "" if holds else why,
    )


CONTINUOUS = (
    "The function is continuous: where f1 passes 1/2 the effect changes direction, it does not jump. The paper's line "
    "belongs to 1/2 − f1 in the middle, the form in its predecessor, UALE, which jumps there."
)


def deviations(case: str, features: Sequence[Feature], true: Sequence[float]) -> Claim:
    """Return whether the slopes vary as the paper says, away from the breaks (one value of case c is wrong)."""
    pooled = [float(np.sqrt(np.mean(f.inner**2))) for f in features]
    close = [abs(p - t) < 0.02 * t + 1e-9 for p, t in zip(pooled, true, strict=True)]
    numbers = ", ".join(f"{n} {p:.3f}" for n, p in zip(NAMES, pooled, strict=False))
    return Claim(
        "heterogeneity",
        f"case ({case}): the standard deviations of the slopes of {', '.join(NAMES[: len(true)])} are "
        f"{', '.join(f'{t:g}' for t in true)}",
        all(close),
        f"In given bins that do not contain the breaks RHALE's standard deviation is {numbers}.",
    )


def pdp_fails(case: str, features: Sequence[Feature]) -> Claim:
    """Return whether PDP is wrong for x1 and x2, and RHALE is not."""
    ratio = [f.pdp.mean() / f.curve.mean() for f in features[:2]]
    parts = [
        f"{n}: {f.pdp.mean():.3f} against {f.curve.mean():.3f} (by likelihood {f.likelihood.mean():.3f})"
        for n, f in zip(NAMES, features[:2], strict=False)
    ]
    spread = [f"{f.ice.mean():.2f}" for f in features[:2]]
    return Claim(
        "pdp_fails",
        f"case ({case}): the PDP of the correlated x1 and x2 is wrong and their ICE curves differ, RHALE is right",
        bool(min(ratio) > 3 and min(f.ice.mean() for f in features[:2]) > 0.1),
        f"Mean error of the curve, PDP against RHALE: {'; '.join(parts)}. ICE curves of x1 and x2 have a standard "
        f"deviation of up to {' and '.join(spread)}.",
    )


def table(features: Sequence[Feature]) -> Table:
    """Return the errors of the curves."""
    rows = [
        [
            name,
            pm(f.curve),
            pm(f.likelihood),
            pm(f.pdp),
            pm(np.array([len(e.bins) for e in f.effects]), 1),
        ]
        for name, f in zip(NAMES, features, strict=False)
    ]
    head = (
        "feature",
        "RHALE, Eq. 13",
        "RHALE, by likelihood (our default)",
        "PDP",
        "bins of Eq. 13",
    )
    return Table("Mean error of the curve ± standard error over the draws", head, rows)


def outcome(
    case: str, claims: Sequence[Claim], features: Sequence[Feature], caption: str
) -> Outcome:
    """Return what a case's experiment found."""
    picture = Picture(f"correlated_{case}", _drawn(CORRELATED[case]), caption)
    return Outcome(claims, [table(features)], [picture], SETTINGS)


def _drawn(setting: Setting) -> Any:
    X = setting.sample(0)
    made, axes = panels.figure(3, 4, (10.5, 7.2))
    for j, name in enumerate(NAMES):
        e, p = setting.explain(X, j), swept(setting, X, j)
        ours = e.rebin(LIKELIHOOD)
        x = np.linspace(e.x[0], e.x[-1], 200)
        truth = np.stack([x, setting.true_rise(j, x)])
        slope = np.stack([x[:-1], np.diff(truth[1]) / np.diff(x)])
        panels.effect(axes[j, 0], e, truth)
        panels.slopes(axes[j, 1], e, slope)
        panels.effect(axes[j, 2], ours, truth)
        panels.ice(axes[j, 3], p, np.stack([p.x, setting.true_rise(j, p.x)]))
        low, high = np.array([axes[j, k].get_ylim() for k in (0, 2, 3)]).T
        for k in (0, 2, 3):
            axes[j, k].set_ylim(low.min(), high.max())
        titles = (
            f"Eq. 13: {len(e.bins)} bins",
            "its slopes",
            f"by likelihood: {len(ours.bins)} bins",
            "PDP and ICE",
        )
        for k, title in enumerate(titles):
            panels.label(
                axes[j, k], f"{name}, {title}", name, ("effect of " + name) if k == 0 else ""
            )
        axes[j, 1].set_ylabel("slope", fontsize=8)
    panels.legend(made, [axes[0, 0], axes[0, 1], axes[0, 3]], 8)
    return made
