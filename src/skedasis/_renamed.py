"""Names that were renamed before the first release: an old name raises an error that gives the new one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

PUBLIC = {
    "Chance": "NullDistribution",
    "EffectOfModels": "MultiModelEffect",
    "EffectsOfModels": "MultiModelEffects",
    "ImportanceOfModels": "MultiModelImportance",
    "Split": "VarianceDecomposition",
    "SurfaceOfModels": "MultiModelSurface",
    "Trust": "Checks",
    "chance": "null_distribution",
}
"""Old name of the package → new name."""

ELSEWHERE = {
    **{
        name: f"sd.explain(model, X, feature, method='{name}')"
        for name in ("ale", "dale", "ice", "mplot", "pdp", "pfi", "rhale", "uale")
    },
    "ale1d ale_plot accumulated_local_effects": "sd.explain(model, X, feature, method='ale')",
    "pd partial_dependence partialdependence partialdependencedisplay pdpplot": (
        "sd.explain(model, X, feature, method='pdp')"
    ),
    "individual_conditional_expectation": "sd.explain(model, X, feature, method='ice')",
    "permutation_importance feature_importance feature_importances importances permutationimportance": (
        "sd.explain(sd.loss(model, 'squared_error'), X, y=y, method='pfi')"
    ),
    "shap shap_values lime explainer treeexplainer kernelexplainer": (
        "sd.explain(model, X) for effects of features, and plot() of the result"
    ),
    "regionalrhale regionalale regionalpdp regionaleffect": "sd.regions(model, X, feature)",
    "plot plot_effect summary_plot": "the method of a result: sd.explain(model, X, feature).plot()",
    "fit effect effects": "sd.explain(model, X)",
    "h_statistic hstatistic interaction": "sd.interactions(model, X)",
    "read_parquet": "sd.parquet(path)",
    "save dump": "the method of a result: result.save('result.npz')",
    "ranking": "the method of a result: sd.explain(model, X).ranking()",
    "dynamicprogramming": "sd.Optimal()",
    "fixed": "sd.Uniform(20)",
}
"""Other libraries' names, in lower case → what does that here."""

ATTRIBUTES = {
    "BinStats": {"trend": "slope_change"},
    "Check": {"kind": "code", "text": "message"},
    "Diagnosis": {"level": "confidence_level"},
    "Effect": {
        "freedom": "df",
        "rises": "elevated_regions",
        "score": "heterogeneity_score",
        "split": "variance_decomposition",
        "trust": "checks",
    },
    "Effects": {"trust": "checks"},
    "HeterogeneityTest": {"level": "confidence_level"},
    "Importance": {"freedom": "df"},
    "MultiModelEffect": {"freedom": "df", "score": "heterogeneity_score"},
    "PFI": {"repeats": "n_repeats"},
    "Statistics": {"level": "confidence_level"},
    "Surface": {"freedom": "df", "strength": "interaction_strength", "trust": "checks"},
}
"""Class → old attribute → new attribute."""

KEYWORDS = {
    "level": "confidence_level",
    "repeats": "n_repeats",
    "rises": "elevated_regions",
    "seed": "random_state",
    "sure": "confidence_level",
    "threads": "n_jobs",
    "weights": "sample_weight",
}
"""Old keyword of public functions → new keyword."""

OPTIONS = {
    "--level": "--confidence-level",
    "--repeats": "--n-repeats",
    "--seed": "--random-state",
    "--threads": "--n-jobs",
    "--weights": "--sample-weight",
}
"""Old option of the shell → new option."""


class RenamedAttributes:
    """Base of classes with renamed attributes: an old name raises an AttributeError that gives the new one.

    Examples
    --------
    >>> import skedasis as sd
    >>> sd.PFI().repeats
    Traceback (most recent call last):
    AttributeError: 'PFI' object has no attribute 'repeats': it is called 'n_repeats'
    """

    __slots__ = ()

    if not TYPE_CHECKING:  # a type checker would take every attribute for one of ours

        def __getattr__(self, name: str) -> Any:
            for base in type(self).__mro__:
                new = ATTRIBUTES.get(base.__name__, {}).get(name)
                if new is not None:
                    raise self._no_attribute(name, f": it is called {new!r}")
            near = [] if name.startswith("_") else _near(name, dir(self))
            if near and name not in dir(self):
                raise self._no_attribute(name, f". Did you mean {near[0]!r}?")
            # The ordinary error; of a property that failed, its own.
            return object.__getattribute__(self, name)

        def _no_attribute(self, name: str, hint: str) -> AttributeError:
            text = f"{type(self).__name__!r} object has no attribute {name!r}{hint}"
            return AttributeError(text, name=name, obj=self)


def _near(name: str, names: list[str]) -> list[str]:
    """Return the public name that is most similar, if one is."""
    import difflib  # for the message of an error only

    return difflib.get_close_matches(name, [n for n in names if not n.startswith("_")], 1, 0.8)
