"""Names that were renamed before the first release: an old name raises an error that gives the new one."""

from __future__ import annotations

from collections.abc import Mapping
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
    "ale1d ale_plot aleplot accumulated_local_effects": "sd.explain(model, X, feature, method='ale')",
    (
        "pd partial_dependence partialdependence pdpplot globalpdp pdpisolate partial_dep "
        "avg_predictions plot_predictions"
    ): "sd.explain(model, X, feature, method='pdp')",
    "average_observed": "sd.explain(model, X, feature, y=y, method=sd.MPlot(of='label'))",
    "average_predicted": "sd.explain(model, X, feature, method='mplot')",
    "bias": "sd.explain(model, X, feature, y=y, method=sd.MPlot(of='residual'))",
    "partialdependencedisplay": "sd.EffectDisplay.from_estimator(model, X, features)",
    "individual_conditional_expectation": "sd.explain(model, X, feature, method='ice')",
    (
        "permutation_importance feature_importance feature_importances importances permutationimportance featureimp "
        "perm_importance"
    ): ("sd.explain(sd.loss(model, 'squared_error'), X, y=y, method='pfi')"),
    "shap shap_values shapdp treeexplainer kernelexplainer dependence_plot beeswarm": (
        "sd.shap_dependence(model, X), or sd.explain(model, X) for effects of features, and plot() of the result"
    ),
    "lime explainer": "sd.explain(model, X) for effects of features, and plot() of the result",
    "waterfall force_plot anchors counterfactual counterfactuals": (
        "sd.report(model, X, rows=[0]), which shows where single rows lie on the curves; explanations of "
        "single predictions are left to other libraries"
    ),
    "slopes avg_slopes plot_slopes marginal_effects marginaleffects avg_marginal_effects": (
        "sd.explain(model, X, feature), whose bins have slopes, or sd.change(model, X, {'age': 1})"
    ),
    "comparisons avg_comparisons plot_comparisons what_if whatif fme ame": (
        "sd.change(model, X, {'age': 1})"
    ),
    "came": "sd.change(model, X, {'age': 1}, by=sd.regions(model, X, 'age'))",
    "accuracy mse mae": "sd.loss(model, 'zero_one') or sd.loss(model, 'squared_error')",
    "log_odds logodds margin": "sd.logit(model, class_=...)",
    "predictor predict predictions": "sd.prediction(model), or pass the model itself: sd.explain(model, X)",
    "globalale": "sd.explain(model, X, feature, method='ale')",
    "globalrhale": "sd.explain(model, X, feature, method='rhale')",
    "make_report create_report html_report": "sd.report(model, X, y, path='report.html')",
    "read_csv from_pandas dataset": "a data frame or an array itself: sd.explain(model, pandas.read_csv(path))",
    "load_model": "the path of the model's file, or the model that joblib.load returns: sd.explain(model, X)",
    "bins binning": "bins of a method: sd.RHALE(bins=20), or sd.Quantile(20), sd.Uniform(20), sd.Edges([...])",
    "cluster dask": "sd.explain(model, X, client=client)",
    "regionalrhale regionalale regionalpdp regionaleffect": "sd.regions(model, X, feature)",
    "plot plot_effect summary_plot": "the method of a result: sd.explain(model, X, feature).plot()",
    "fit effect effects featureeffect featureeffects feature_effects effector": (
        "sd.explain(model, X)"
    ),
    "h_statistic hstatistic hstats h2 h2_overall h2_pairwise interaction": (
        "sd.interactions(model, X)"
    ),
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
    "LocalImportance": {"own": "before"},
    "MultiModelEffect": {"freedom": "df", "score": "heterogeneity_score"},
    "PFI": {"repeats": "n_repeats"},
    "Rank": {"heterogeneity": "heterogeneity_score"},
    "Statistics": {"level": "confidence_level"},
    "Surface": {
        "freedom": "df",
        "score": "interaction_strength",
        "strength": "interaction_strength",
        "trust": "checks",
    },
}
"""Class → old attribute → new attribute."""

INSTEAD = {
    "to_frame": {
        "to_pandas to_dataframe to_df as_frame dataframe": "Use to_frame('pandas')",
        "to_csv to_excel to_latex to_parquet to_markdown": "Use to_frame('pandas').{name}(...)",
    },
    "plot": {
        "show draw": "Use plot()",
        "savefig save_figure save_plot": "Use plot().savefig('figure.png')",
        "plot_all": "Use plot()",
    },
    "interval": {
        "ci conf_int confint confidence_interval confidence_intervals": "Use interval(0.95)",
    },
    "region_intervals": {"regions": "Use to_frame(), or print the result"},
    "heterogeneity": {"ice_std std sd": "Use heterogeneity"},
    "std_error": {"se stderr standard_error standard_errors": "Use std_error"},
    "__call__": {"eval evaluate predict interpolate": "Call the result: result(values)"},
    "outputs": {
        "value interval heterogeneity std_error bins x": "Take one output: result[label].{name}"
    },
    "whole": {"interval std_error value": "Take one region: result[0].{name}"},
    "x": {"grid grid_values feature_values xs": "Use x"},
    "value": {
        "y average mean effect effects curve effect_values pdp_values ale_values averages": "Use value"
    },
    "bins": {"bin_limits bin_edges limits edges": "Use bins.edges"},
    "feature": {"feature_name name": "Use feature"},
    "ranking": {
        "importance importances importances_mean feature_importances_": "Use ranking()",
        "sort sort_values": "Use ranking()",
    },
    "mean": {"importances importances_mean feature_importances_ value": "Use mean"},
    "to_dict": {"summary describe info": "Use print(result), or to_frame()"},
    "slope_change": {"mean mean_slope slope slopes": "Use effect"},
}
"""An attribute that a result has → other names for what it holds → what to write."""

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
            instead = None if name.startswith("_") else _instead(self, name)
            if instead is not None and name not in dir(self):
                raise self._no_attribute(name, f". {instead}")
            near = [] if name.startswith("_") else _near(name, dir(self))
            if near and name not in dir(self):
                raise self._no_attribute(name, f". Did you mean {near[0]!r}?")
            # The ordinary error; of a property that failed, its own.
            return object.__getattribute__(self, name)

        def _no_attribute(self, name: str, hint: str) -> AttributeError:
            text = f"{type(self).__name__!r} object has no attribute {name!r}{hint}"
            # Without `obj`, else Python adds its own suggestion to the hint.
            return AttributeError(text, name=name)


def _instead(result: object, name: str) -> str | None:
    """Return what to write instead of an attribute that another library's result has; None if that is not known."""
    if isinstance(result, Mapping) and name in list(
        result
    ):  # a data frame has its columns as attributes
        return f"Use result[{name!r}]"
    for own, others in INSTEAD.items():
        for names, instead in others.items():
            if name in names.split() and own in dir(result):
                return instead.format(name=name)
    return None


def _near(name: str, names: list[str]) -> list[str]:
    """Return the public name that is most similar, if one is."""
    import difflib  # for the message of an error only

    return difflib.get_close_matches(name, [n for n in names if not n.startswith("_")], 1, 0.8)
