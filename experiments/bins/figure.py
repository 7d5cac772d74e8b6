"""The figure of the experiment on bins: errors by the number of rows, relative to the best number of equal bins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from experiments.bins.fits import EFFECTOR, ERRORS, LIKELIHOOD
from experiments.bins.runs import BEST, USUAL, Outcome

# Distinguished by line style and marker, so that colour is not needed.
_LOOK = {
    LIKELIHOOD: ("#000000", "-", "o", 2.2),
    "Eq. 13, 40": ("#c8500a", "--", "s", 1.2),
    "Eq. 13, default": ("#8a6d00", ":", "^", 1.2),
    EFFECTOR: ("#1b8a6b", "-.", "D", 1.2),
    USUAL: ("#5b4bb0", (0, (1, 3)), "x", 1.2),
}
_KINDS = (0, 1)


def drawn(outcomes: Sequence[Outcome], folder: Path) -> None:
    """Draw `bins.png` and `bins.svg`."""
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter, NullFormatter

    cases = list(dict.fromkeys(o.case.name for o in outcomes))
    across = 5
    down = -(-len(cases) // across)
    figure, axes = plt.subplots(
        2 * down, across, figsize=(13, 1.95 * 2 * down), sharex=True, squeeze=False
    )
    for place, name in enumerate(cases):
        for kind in _KINDS:
            ax = axes[2 * (place // across) + kind, place % across]
            _panel(ax, [o for o in outcomes if o.case.name == name], kind)
            if kind == 0:
                ax.set_title(name, fontsize=9)
            ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
            ax.yaxis.set_minor_formatter(NullFormatter())
            last = kind == 1 and place + across >= len(cases)
            ax.tick_params(labelsize=7, labelbottom=last)
            if last:
                ax.set_xlabel("rows", fontsize=8)
            if place % across == 0:
                ax.set_ylabel(f"{ERRORS[kind]} / best equal", fontsize=8)
    for place in range(len(cases), across * down):
        for kind in _KINDS:
            axes[2 * (place // across) + kind, place % across].set_axis_off()
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.tight_layout()
    figure.legend(
        handles, labels, loc="center", bbox_to_anchor=(0.8, 0.16), fontsize=10, frameon=False
    )
    for kind in ("png", "svg"):
        figure.savefig(folder / f"bins.{kind}", dpi=130)
    plt.close(figure)


def _panel(ax: object, outcomes: Sequence[Outcome], kind: int) -> None:
    n = [o.n for o in outcomes]
    for method, (colour, stroke, mark, width) in _LOOK.items():
        # A method that makes no error at all (no noise) is drawn at the panel's foot.
        ratio = [
            max(o.mean(method, kind), 1e-12) / max(o.mean(BEST, kind), 1e-12) for o in outcomes
        ]
        ax.plot(  # type: ignore[attr-defined]
            n,
            np.clip(ratio, 0.02, 50),
            color=colour,
            linestyle=stroke,
            marker=mark,
            markersize=3.5,
            linewidth=width,
            label=method,
        )
    ax.axhline(1.0, color="#999999", linewidth=0.8, zorder=0)  # type: ignore[attr-defined]
    ax.set(xscale="log", yscale="log")  # type: ignore[attr-defined]
