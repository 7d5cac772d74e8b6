"""Munich rents (6.4, figures 6.19 to 6.22): a forest of rent by living space and rooms, 2,053 flats of 2003.

The chapter finds that PDP and ICE break down somewhere above 109 m² where the ALE rises straight on, because
equal-count intervals leave one interval for all the large flats; and warns that this hides what the model does. It
names neither the forest's settings nor the grids: here 500 trees that draw one of the two features for each split and
split nodes of more than five rows, as R's randomForest does by default; 20 intervals of equal count for ALE, 20
equidistant points for PDP and ICE, as iml does by default. Every verdict is that of several forests.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import skedasis as sd
from experiments.ale_vs_pdp.chapter import INTERVALS, Floats
from experiments.ale_vs_pdp.munich_drawing import correlations, effects
from experiments.experiment import Claim, Experiment, Outcome, Picture, Table, alone, folder

FILE = "munich_rent_2003.csv"
EDGE = 109.0
"""Square metres, from which on the chapter's ALE has one interval."""
END = 160.0
"""Beyond which there are fewer than a dozen flats."""
FEATURES = ("wfl", "rooms")
FORESTS = 8
RULES = {
    "ALE, 15 intervals": sd.ALE(bins=15),
    "ALE, 20 intervals": sd.ALE(bins=INTERVALS),
    "ALE, 40 intervals": sd.ALE(bins=40),
    "ALE, 100 intervals": sd.ALE(bins=100),
    "RHALE, default": sd.RHALE(),
    "RHALE, at least 10 rows per bin": sd.RHALE(bins=sd.Optimal(min_points=10)),
    "RHALE, 50 equal bins": sd.RHALE(bins=sd.Uniform(50)),
}
TEN, EQUAL, USUAL = "RHALE, at least 10 rows per bin", "RHALE, 50 equal bins", "ALE, 20 intervals"


def table() -> dict[str, Floats]:
    """Return the columns of the file."""
    read: Any = np.genfromtxt(folder() / FILE, delimiter=",", names=True)
    return {name: np.asarray(read[name], dtype=float) for name in read.dtype.names}


@dataclass(frozen=True, eq=False)
class Fitted:
    """One forest and its explanations.

    Parameters
    ----------
    X, y : ndarray, shapes (n, 2) and (n,)
        Living space and rooms; rent.
    seed, trees : int
    """

    X: Floats
    y: Floats
    seed: int
    trees: int

    @cached_property
    def forest(self) -> Any:
        """Return the forest, fitted."""
        from sklearn.ensemble import RandomForestRegressor

        forest = RandomForestRegressor(
            self.trees, max_features=1, min_samples_split=6, random_state=self.seed
        )
        return forest.fit(self.X, self.y)

    @cached_property
    def effects(self) -> Mapping[str, Any]:
        """Return the effect of living space by each rule for bins."""
        return {rule: sd.explain(self.forest, self.X, 0, method=how) for rule, how in RULES.items()}

    @cached_property
    def pdp(self) -> Any:
        """Return the PDP of living space at 20 equidistant points."""
        low, high = self.X[:, 0].min(), self.X[:, 0].max()
        grid = np.linspace(low, high, INTERVALS)
        return sd.explain(self.forest, self.X, 0, method=sd.PDP(grid=grid))

    @cached_property
    def ice(self) -> dict[int, Floats]:
        """Return the ICE curve of each number of rooms, at the PDP's points."""
        rooms = np.unique(self.X[:, 1])
        return {int(r): self.rented(self.pdp.x, int(r)) for r in rooms}

    def rented(self, place: Floats, rooms: int) -> Floats:
        """Return the ICE curve of a number of rooms, at other places."""
        rows = np.column_stack([place, np.full(len(place), float(rooms))])
        return np.asarray(self.forest.predict(rows))

    @cached_property
    def breaks(self) -> int:
        """Return at which of the PDP's points its steepest fall above 109 m² starts."""
        return _steepest(self.pdp)


def _steepest(effect: Any) -> int:
    """Return where between 109 and 160 m² the steepest fall from point to point starts."""
    there = (effect.x[:-1] >= EDGE) & (effect.x[1:] <= END)
    return int(np.argmin(np.where(there, np.diff(effect.value), np.inf)))


def fall(x: Floats, value: Floats) -> float:
    """Return by how much a curve falls at most from any place between 109 and 160 m² to any later one."""
    there = value[(x >= EDGE) & (x <= END)]
    return float((np.maximum.accumulate(there) - there).max())


def fallen(effect: Any) -> float:
    """Return the same of an effect, between whose points lie straight lines."""
    x = np.unique([*effect.x, EDGE, END])
    return fall(x, effect(x))


def run(quick: bool) -> Outcome:
    """Fit forests, and explain each."""
    columns = table()
    X, y = np.column_stack([columns[name] for name in FEATURES]), columns["nm"]
    forests = [Fitted(X, y, s, 100 if quick else 500) for s in range(2 if quick else FORESTS)]
    return Outcome(
        claims=[
            _correlated(columns),
            _rooms(forests),
            *_of_breaks(forests),
            *_of_ice(forests),
            *_of_bins(forests),
            _link(X, y),
        ],
        tables=[_falls(forests)],
        pictures=_drawn(columns, forests[0]),
        settings=f"{len(forests)} forests of {forests[0].trees} trees. Living space and the number of rooms only, as "
        "in the chapter. The library evaluates forests from the structure of their trees; ALE and RHALE do not call "
        "the model.",
    )


def _correlated(columns: Mapping[str, Floats]) -> Claim:
    names = [n for n in columns if n not in ("nm", "nmqm")]
    size = np.abs(np.corrcoef([columns[n] for n in names]))
    pair = (names.index("wfl"), names.index("rooms"))
    own = float(size[pair])
    others = np.triu(size, 1)
    others[pair] = 0.0
    most = np.unravel_index(np.argmax(others), others.shape)
    small = columns["wfl"][columns["rooms"] >= 5].min()
    return Claim(
        "correlated",
        "Living space and rooms are clearly correlated, the other features not that strongly",
        bool(own > 0.7 and others.max() < own - 0.2),
        f"Their correlation is {own:.2f}; next come {names[most[0]]} and {names[most[1]]} with {others.max():.2f}. No "
        f"flat of five rooms and more has fewer than {small:.0f} m².",
    )


def _rooms(forests: list[Fitted]) -> Claim:
    shares = []
    for f in forests:
        both = sd.explain(f.forest, f.X, method=sd.ALE(bins=INTERVALS))
        size = {rank.feature: rank.importance for rank in both.ranking()}
        shares.append(size["x1"] / size["x0"])
    return Claim(
        "rooms",
        "Rooms do not have a strong influence on the prediction",
        bool(np.mean(shares) < 1 / 3),
        f"The deviation of their ALE over the flats is {np.mean(shares):.0%} of that of living space.",
    )


def _of_breaks(forests: list[Fitted]) -> list[Claim]:
    """Figure 6.20."""
    pdp = [fall(f.pdp.x, f.pdp.value) for f in forests]
    ale = [fallen(f.effects[USUAL]) for f in forests]
    place = [f.pdp.x[f.breaks] for f in forests]
    down = {
        "PDP": [_down(f.pdp) for f in forests],
        "ALE": [_down(f.effects[USUAL]) for f in forests],
    }
    counted = {name: np.mean(d) for name, d in down.items()}
    return [
        Claim(
            "breaks",
            "Where there are few flats, the PDP suddenly drops, and the ALE has a straight trend",
            bool(min(pdp) > 50 and max(ale) == 0.0),
            f"Above {EDGE:.0f} m² the PDP falls by {np.mean(pdp):.0f} euros (at least {min(pdp):.0f} in {len(forests)} "
            f"forests), from {min(place):.0f} m² on; the ALE by {max(ale):.0f}.",
        ),
        Claim(
            "smooth",
            "Below 100 m², where there are many flats, the PDP looks smoother than the ALE",
            bool(counted["ALE"] > 1.5 * counted["PDP"]),
            f"All falls there add up to {counted['PDP']:.0f} euros in the PDP and to {counted['ALE']:.0f} in the ALE, "
            "while both rise by about 550.",
        ),
    ]


def _down(effect: Any) -> float:
    """Return the sum of a curve's falls below 100 m²."""
    return float(-np.minimum(np.diff(effect.value[effect.x <= 100]), 0).sum())


def _of_ice(forests: list[Fitted]) -> list[Claim]:
    """Figures 6.21 and 6.22."""
    f = forests[0]
    grid = {"x0": f.pdp.x}
    curves = sd.explain(f.forest, f.X, 0, method=sd.ICE(grid=grid)).curves
    different = len(np.unique(np.round(curves.value, 6), axis=0))
    fine = np.arange(EDGE, END + 1)
    falls = {r: float(np.mean([fall(fine, o.rented(fine, r)) for o in forests])) for r in f.ice}
    share = [float(np.mean(f.X[:, 1] == r)) for r in falls]
    whole = np.mean(
        [fall(fine, share @ np.array([o.rented(fine, r) for r in falls])) for o in forests]
    )
    falling = [r for r, size in falls.items() if size > whole / 2]
    most = sorted(falls, key=falls.__getitem__)[-2:]
    return [
        Claim(
            "six",
            "There are only six ICE curves, one for each number of rooms",
            different == 6,
            f"{len(f.X):,} flats have {different} different curves.",
        ),
        Claim(
            "all_rooms",
            "Almost all numbers of rooms have the drop",
            len(falling) >= 5,
            f"Where the PDP falls by {whole:.0f} euros, the curves of 1 to 6 rooms fall by "
            f"{', '.join(f'{size:.0f}' for size in falls.values())} (at every square metre); the fall is at least "
            f"half that of the PDP for {', '.join(map(str, falling))} rooms.",
            "Only three flats with one or two rooms are so large: the forest predicts for them what it predicts for "
            "others. Which curves fall depends on its settings, which the chapter does not give.",
        ),
        Claim(
            "four_five",
            "Especially those of four and five rooms",
            sorted(most) == [4, 5],
            f"They fall by {falls[4]:.0f} and {falls[5]:.0f} euros, the others by at most "
            f"{max(v for r, v in falls.items() if r not in (4, 5)):.0f}.",
        ),
    ]


def _of_bins(forests: list[Fitted]) -> list[Claim]:
    """Why the ALE hides the drop, and which bins show it."""
    x = forests[0].X[:, 0]
    last = {k: _last_edge(x, k) for k in (15, INTERVALS)}
    one = [fallen(f.effects["RHALE, default"]) for f in forests]
    ten = [fallen(f.effects[TEN]) for f in forests]
    equal = [fallen(f.effects[EQUAL]) for f in forests]
    usual = forests[0].effects["RHALE, default"]
    few = int((forests[0].effects[EQUAL].bins.count < 10).sum())
    return [
        Claim(
            "one_interval",
            f"Equal-count intervals leave one interval for all flats from {EDGE:.0f} m² on, which skips the drop",
            last[15] == EDGE and all(fallen(f.effects["ALE, 15 intervals"]) == 0 for f in forests),
            f"With 15 intervals the last one starts at {last[15]:.0f} m², with 20 at {last[INTERVALS]:.0f}: "
            f"{(x > last[15]).sum()} and {(x > last[INTERVALS]).sum()} of {len(x):,} flats, and "
            f"{1 - (last[15] - 17) / 168:.0%} and {1 - (last[INTERVALS] - 17) / 168:.0%} of the axis.",
        ),
        Claim(
            "equal_bins",
            "Ours: 50 equal bins show the drop",
            min(equal) > 50,
            f"The curve falls by {np.mean(equal):.0f} euros (at least {min(equal):.0f}), most in the bin "
            f"{_falling(forests[0])}; {few} of the 50 bins contain fewer than 10 flats, which `checks()` reports.",
        ),
        Claim(
            "ten_rows",
            "Ours: bins by Eq. 13 of at least 10 flats, as in RHALE's experiments, show the drop",
            min(ten) > 50,
            f"The curve falls by {max(ten):.0f} euros in {len(forests[0].effects[TEN].bins)} bins.",
            "A forest is a step function, for which RHALE has the curve of the ALE: bins are unions of its 32 "
            "intervals of equal count. They summarise the curve and do not change it.",
        ),
        Claim(
            "as_it_comes",
            "Ours: RHALE with default settings also shows the drop",
            min(one) > 50,
            f"Its curve has {len(usual.x) - 1} intervals, summarised in {len(usual.bins)} bins, and falls by "
            f"{max(one):.0f}.",
            f"It is the curve of the ALE on 32 intervals of equal count, of which the last begins at "
            f"{usual.x[-2]:.0f} m² "
            f"and contains {(x > usual.x[-2]).sum()} flats. `checks()` reports: “{_note(forests[0])}”",
        ),
    ]


def _last_edge(x: Floats, intervals: int) -> float:
    rank = -(-len(x) * (intervals - 1) // intervals)
    return float(np.sort(x)[rank - 1])


def _falling(f: Fitted) -> str:
    effect = f.effects[EQUAL]
    k = _steepest(effect)
    return f"from {effect.x[k]:.0f} to {effect.x[k + 1]:.0f} m² ({effect.bins.count[k]:.0f} of {len(f.X):,} flats)"


def _note(f: Fitted) -> str:
    return str(f.effects["RHALE, default"].checks()).splitlines()[0]


def _link(X: Floats, y: Floats) -> Claim:
    parts = [y[(X[:, 0] > low) & (X[:, 0] <= high)] for low, high in ((122, 135), (135, 155))]
    error = np.sqrt(sum(p.var(ddof=1) / len(p) for p in parts))
    apart = parts[0].mean() - parts[1].mean()
    return Claim(
        "link",
        "The ALE's straight rise may be closer to the true relation of rent and size",
        None if apart < 3 * error else False,
        f"The mean rent of the {len(parts[0])} flats from 122 to 135 m² is {parts[0].mean():.0f} euros, of the "
        f"{len(parts[1])} from 135 to 155 m² {parts[1].mean():.0f}: {apart:.0f} ± {error:.0f} less.",
    )


def _falls(forests: list[Fitted]) -> Table:
    rows = [
        ["PDP, 20 points", "–", f"{np.mean([fall(f.pdp.x, f.pdp.value) for f in forests]):.0f}"]
    ]
    for rule in RULES:
        found = [f.effects[rule] for f in forests]
        bins = [len(e.bins) for e in found]
        said = f"{min(bins)}" if min(bins) == max(bins) else f"{min(bins)}–{max(bins)}"
        rows.append([rule, said, f"{np.mean([fallen(e) for e in found]):.0f}"])
    head = ("curve of living space", "bins", "largest fall between 109 and 160 m², euros")
    return Table("Which curves show the drop", head, rows)


def _drawn(columns: Mapping[str, Floats], f: Fitted) -> list[Picture]:
    names = [n for n in columns if n != "nmqm"]
    return [
        Picture(
            "munich_correlation",
            correlations(names, np.corrcoef([columns[n] for n in names])),
            "Figure 6.19: correlations; nm is the rent, wfl the living space",
        ),
        Picture(
            "munich",
            effects(f, EDGE, (USUAL, EQUAL)),
            "Figures 6.20 to 6.22: left, one ICE curve for each number of rooms, the PDP, and the ALE; right, the "
            "large flats: the ALE has one interval where the prediction of the forest falls and rises again, equal "
            "bins have several",
        ),
    ]


EXPERIMENT = Experiment(
    "ale_vs_pdp",
    "munich",
    "Munich rents",
    "ale_vs_pdp, 6.4, figures 6.19 to 6.22",
    run,
    data=(FILE,),
)

if __name__ == "__main__":
    sys.exit(alone(EXPERIMENT))
