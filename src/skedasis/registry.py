"""The methods and quantities that have a name: for the shell, for messages, and for `method="pdp"`.

Whoever adds one adds a row to a table here. A plugin adds it to the same tables when it is imported; installed plugins
are found by their entry points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

from skedasis.errors import LeftOutWarning, warn_caller


@dataclass(frozen=True)
class Registered:
    """Something with a name: where it is, and what it is in words.

    Parameters
    ----------
    name : str
        The name of the class or function, for built-in ones a public name.
    words : str
        What it is, for the shell.
    own : class or callable, optional
        The class or function itself, of a plugin.
    """

    name: str
    words: str
    own: Callable[..., object] | None = None

    @property
    def call(self) -> str:
        """The class or function as users write it."""
        return self.name if self.own is not None else f"sd.{self.name}"


@dataclass(frozen=True)
class MethodEntry(Registered):
    """A method. What it has is compared with its class by a test.

    Parameters
    ----------
    title : str, optional
        Its name for people, if it is not that of the class.
    bins : bool
        Whether it averages in bins.
    local_effects : bool
        Whether it has local effects or curves of rows, and so a heterogeneity score, individual curves and regions.
    pairs : bool
        Whether it explains two features.
    importance : bool
        Whether it computes importances, not effects.
    """

    title: str = ""
    bins: bool = False
    local_effects: bool = False
    pairs: bool = False
    importance: bool = False


METHODS = {
    "rhale": MethodEntry(
        "RHALE", "average slopes in automatic bins, accumulated", bins=True, local_effects=True
    ),
    "ale": MethodEntry(
        "ALE",
        "differences between bin edges, accumulated",
        bins=True,
        local_effects=True,
        pairs=True,
    ),
    "dale": MethodEntry(
        "DALE",
        "average slopes in equal bins, accumulated",
        bins=True,
        local_effects=True,
        pairs=True,
    ),
    "uale": MethodEntry(
        "UALE",
        "RHALE that accumulates standard deviations, not variances",
        bins=True,
        local_effects=True,
    ),
    "pdp": MethodEntry("PDP", "mean prediction over all rows", local_effects=True, pairs=True),
    "ice": MethodEntry("ICE", "one curve per row", local_effects=True, pairs=True),
    "mplot": MethodEntry("MPlot", "mean prediction of the rows nearby", title="M-plot", bins=True),
    "pfi": MethodEntry("PFI", "permutation importance", importance=True),
}
"""The methods by the names that users write. The order is that of messages."""

EffectMethodName: TypeAlias = Literal["rhale", "ale", "dale", "uale", "pdp", "ice", "mplot"]
"""The names of methods of effects, for type checkers."""


def methods_that(fit: Callable[[MethodEntry], bool]) -> dict[str, MethodEntry]:
    """Return the methods for which a condition holds."""
    return {name: entry for name, entry in METHODS.items() if fit(entry)}


def listed_methods(fit: Callable[[MethodEntry], bool]) -> str:
    """Return the classes of the methods for which a condition holds, for a message."""
    *first, last = (entry.name for entry in methods_that(fit).values())
    return f"{', '.join(first)} or {last}"


def call_of(method: str) -> str:
    """Return how users write a method, given the name of its class; of one that is not listed, the name."""
    return next((e.call for e in METHODS.values() if e.name == method), method)


def title_of(method: str) -> str:
    """Return the name for people of a method, given that of its class."""
    return next((e.title for e in METHODS.values() if e.name == method and e.title), method)


@dataclass(frozen=True)
class QuantityEntry(Registered):
    """A quantity: a function of a model.

    Parameters
    ----------
    labelled : bool
        Whether it needs labels.
    of_class : bool
        Whether it is of a class where the model has several. An importance is not measured of these.
    observed_only : bool
        Whether only observed rows have values, so that methods that change rows cannot explain it.
    """

    labelled: bool = False
    of_class: bool = False
    observed_only: bool = False


QUANTITIES = {
    "prediction": QuantityEntry("prediction", "the prediction"),
    "probability": QuantityEntry("probability", "probability of a class", of_class=True),
    "logit": QuantityEntry("logit", "log-odds of a class", of_class=True),
    "entropy": QuantityEntry("entropy", "predictive entropy"),
    "variance": QuantityEntry("predictive_variance", "predictive variance"),
    "likelihood": QuantityEntry("nll", "negative log-likelihood of the labels", labelled=True),
    "loss": QuantityEntry("loss", "loss at the labels", labelled=True),
    "residual": QuantityEntry(
        "residual", "label minus prediction", labelled=True, of_class=True, observed_only=True
    ),
    "label": QuantityEntry(
        "label", "the label itself", labelled=True, of_class=True, observed_only=True
    ),
}
"""The quantities by their names in the shell. The order is that of messages."""


PLUGINS = "skedasis.plugins"
"""The group of the entry points of plugins."""


@cache
def load_plugins() -> None:
    """Import the installed plugins, once. Each adds itself to the tables when it is imported."""
    from importlib.metadata import entry_points  # imported here: it takes as long as the rest

    for plugin in entry_points(group=PLUGINS):
        try:
            plugin.load()
        except Exception as error:  # noqa: BLE001 - whatever a foreign module raises
            text = f"The plugin {plugin.name!r} ({plugin.value}) was left out: {error!r}"
            warn_caller(text, LeftOutWarning)
