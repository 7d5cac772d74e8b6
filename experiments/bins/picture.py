"""The figure of `docs/guides/bins.md`: ``python -m experiments.bins.picture`` writes `docs/images/bins.png`.

The slopes of 500 rows, their true mean, and the bins by Eq. 13 and by likelihood.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np

from experiments.bins.cases import CASE
from experiments.bins.fits import LIKELIHOOD, Bins, chosen

_HERE = Path(__file__).parents[2] / "docs" / "images"
_SHOWN = ("piecewise (papers)", "smooth (sine)", "spike, std by region")
_EQ13 = "Eq. 13, 40"


def main() -> int:
    """Draw the figure."""
    from matplotlib import pyplot as plt
    from PIL import Image

    figure, axes = plt.subplots(1, 3, figsize=(13.5, 4.2), layout="constrained")
    for ax, name in zip(axes, _SHOWN, strict=True):
        case = CASE[name]
        x, d = case.sample(500, 2)
        found = chosen(x, d)
        at = np.linspace(x[0], x[-1], 2001)
        ax.plot(x, d, ".", color="#bdbdbd", markersize=2.5, label="slopes of 500 rows")
        ax.plot(at, case.mean(at), color="#262626", linewidth=0.9, label="their mean, the truth")
        for method, colour, stroke, width in (
            (_EQ13, "#c8500a", (0, (2.5, 1.2)), 1.4),
            (LIKELIHOOD, "#0a4a7d", "-", 2.2),
        ):
            what = (
                "Optimal(40, min_points=10)"
                if method == _EQ13
                else 'Optimal(criterion="likelihood")'
            )
            look = {"color": colour, "linestyle": stroke, "linewidth": width, "label": what}
            _segments(ax, found[method], **look)
        bins = f"{len(found[_EQ13])} bins by Eq. 13, {len(found[LIKELIHOOD])} by likelihood"
        ax.set_title(f"{name.removesuffix(' (papers)')}: {bins}", fontsize=10)
        ax.set_xlabel("feature")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    axes[0].set_ylabel("slope")
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=100)
    Image.open(buffer).convert("RGB").quantize(128).save(_HERE / "bins.png", optimize=True)
    plt.close(figure)
    return 0


def _segments(ax: Any, bins: Bins, **look: Any) -> None:
    """Draw each bin's slope, a line where it changes."""
    tilt = bins.trend * np.diff(bins.edges) / 2
    ends = np.stack([bins.slope - tilt, bins.slope + tilt, np.full(len(bins), np.nan)], axis=1)
    places = np.stack([bins.edges[:-1], bins.edges[1:], bins.edges[1:]], axis=1)
    ax.plot(places.ravel(), ends.ravel(), **look)


if __name__ == "__main__":
    sys.exit(main())
