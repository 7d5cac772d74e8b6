"""Calls that do not fit a signature: the error names the keyword, the class or the function that is meant.

Python's own TypeError for an unknown keyword does not say what is valid. `checked_call` gives a function or a class an
error that does; `unknown_keyword` is the same error for functions that check their keywords themselves. The table below
holds what users of other libraries write: scikit-learn, PDPbox, PyALE, alibi, effector, SHAP, DALEX, iml.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from skedasis._escaping import Printed
from skedasis._interrupts import own_error_state, process_state, raise_interruption
from skedasis._renamed import KEYWORDS
from skedasis.errors import UnsupportedError

F = TypeVar("F", bound=Callable[..., Any])

_MEANT: dict[str, str] = {
    "X": "data dataset df X_train X_test X_val background background_data input_data",
    "a": "from_ start",
    "alpha": "discount",
    "b": "to end",
    "bins": "n_bins num_bins nbins grid_size n_intervals intervals num_intervals n_quantiles",
    "by": "groupby group_by hue cohort cohorts",
    "center": "centre centering",
    "class_": "cls class_name class_label label target target_class class_id class_index which_class output",
    "color": "colour c",
    "columns": "ncols n_cols",
    "confidence_level": "confidence conf ci coverage",
    "features": "feature feature_name column columns cols variable variables vars",
    "k": "n bins n_bins num_bins nbins n_quantiles",
    "max_bins": "init_nof_bins n_bins nof_bins",
    "grid": "grid_resolution grid_points num_grid_points n_grid_points n_points points resolution grids",
    "method": "method_name explainer algorithm",
    "model": "estimator predictor clf regressor pipeline f func predict predict_fn predict_function",
    "models": "model estimator predictor clf regressor pipeline",
    "metric": "scoring scorer score",
    "n_jobs": "njobs cores n_cores n_threads num_threads workers n_workers processes",
    "n_repeats": "n_permutations num_permutations n_perm nrepeats n_rounds",
    "path": "file filename output out output_path output_file save_path save_to fname",
    "progress": "show_progress progress_bar",
    "random_state": "rng random_seed",
    "replicates": "n_boot n_bootstrap bootstrap n_replicates n_resamples B",
    "row_id": "ids row_ids index",
    "size": "figsize",
    "split_on": "conditioning_features candidate_conditioning_features foc",
    "max_depth": "depth n_splits max_splits max_split_levels",
    "sample": "subsample nof_instances n_samples nsamples sample_size num_samples n_rows",
    "sample_weight": "sample_weights w",
    "xlabel": "x_label xlab",
    "xlim": "x_limits x_range",
    "y": "targets y_true y_train y_test outcome",
    "ylabel": "y_label ylab",
    "ylim": "y_limits y_range",
}
"""Parameter of ours → other libraries' names of it, where our name has one meaning."""


_INSTEAD: dict[str, tuple[str, str]] = {
    "alpha": ("confidence_level", "Write confidence_level=0.95 instead of alpha=0.05"),
    "centered": ("center", "Write center='mean' or center='start'"),
    "kind": ("percentiles", "Averages and curves of rows are both computed: ice=0 keeps no curves"),
    "verbose": ("progress", "Write progress=True or progress=False"),
    "scoring": (
        "metric",
        "Write metric=, a function of labels and predictions, such as accuracy_score",
    ),
}
"""Unknown keyword → a parameter that a function must have, and what to do then."""


_OF_EXPLAIN = "Pass it to explain: sd.EffectDisplay(sd.explain(model, X, features, {name}={value}))"


_IN_FUNCTION: dict[str, dict[str, str]] = {
    "ALE DALE RHALE UALE": {"grid grid_resolution grid_points": "Write bins={value}"},
    "EffectDisplay.from_estimator": {
        "n_jobs": (
            "Threads, not processes, are an option of explain: "
            "sd.EffectDisplay(sd.explain(model, X, features, n_jobs={value}))"
        ),
        "verbose": (
            "Progress is an option of explain: "
            "sd.EffectDisplay(sd.explain(model, X, features, progress=True))"
        ),
        "line_kw pd_line_kw bar_kw": "Write color='tab:red', or change display.axes_[0, 0].lines",
        "ice_lines_kw": "Write subsample=50 for fewer curves, or change display.axes_[0, 0].collections",
        "contour_kw heatmap_kw": "Write display.surfaces.plot(levels=10), or change the artists of display.axes_",
        "pdp_lim ylim": "Single features have one scale; change it: display.axes_[0, 0].set_ylim(0, 1)",
        "model clf regressor pipeline": "Write estimator=",
        "class_ output": "Write target={value}",
        "center centre": "Write centered=True",
        "bins": "Write method=sd.RHALE(bins={value})",
        "grid": "Write grid_resolution={value}, or custom_values= for the points of each feature",
        "confidence_level legend": "Draw again: display.plot({name}={value})",
        (
            "schema groups memory keep progress weight_kind row_id tree client heterogeneity_rows sample cv "
            "correction by"
        ): _OF_EXPLAIN,
    },
    "EffectDisplay.plot": {
        "line_kw pd_line_kw bar_kw": "Write color='tab:red', or change display.axes_[0, 0].lines",
        "ice_lines_kw": "Change display.axes_[0, 0].collections after plot()",
        "contour_kw heatmap_kw": "Write display.surfaces.plot(levels=10), or change the artists of display.axes_",
        "pdp_lim ylim": "Single features have one scale; change it: display.axes_[0, 0].set_ylim(0, 1)",
        "centered": "It is an option of the computation: EffectDisplay.from_estimator(..., centered=True)",
        "axes": "Write ax=",
    },
    "change": {
        "variables features feature columns step step_size h ep": (
            "Name the features with their moves: sd.change(model, X, {{'age': 1}})"
        ),
    },
    "nll loss entropy": {
        "y labels": "Pass the labels with the rows: sd.explain(quantity, X, y=y, method='pfi')"
    },
    "parquet": {"target label labels": "Write y={value}"},
    "prediction": {"class_ target target_class": "Use sd.probability(model, class_={value})"},
    "regions": {
        "by": "Regions are found; for given ones use sd.explain(model, X, features, by={value})",
        "heter_pcg_drop_thres": "Write worth={value}",
        "n_regions max_regions": "Write max_depth=2 for at most four regions",
    },
}
"""Functions or classes → other keywords → what to write, with the user's ``{name}`` and ``{value}``."""


_OTHERWISE = {
    "change": "Name the features that move in a mapping: sd.change(model, X, {{{name!r}: {value}}})"
}
"""Function → what to write for any keyword of which nothing else is known."""


def _in_function(function: str, name: str, value: object) -> str | None:
    """Return what to write instead of a keyword that this function, class or method does not have; None if unknown."""
    text = written(value) or "…"
    for functions, table in _IN_FUNCTION.items():
        if {function, function.rpartition(".")[2]} & set(functions.split()):
            fix = next((f for names, f in table.items() if name in names.split()), None)
            return None if fix is None else fix.format(name=name, value=text)
    return None


def meant_keyword(name: str, valid: Sequence[str], *, near: bool = True) -> str | None:
    """Return the valid keyword that is meant by an unknown one: renamed, of another library, or misspelt.

    Parameters
    ----------
    name : str
    valid : sequence of str
    near : bool
        Whether names that are merely similar count.

    Examples
    --------
    >>> meant_keyword("n_bins", ["bins", "center"]), meant_keyword("centre", ["bins", "center"])
    ('bins', 'center')
    >>> meant_keyword("sampel_weight", ["sample_weight", "y"]), meant_keyword("foo", ["bins"])
    ('sample_weight', None)
    """
    if KEYWORDS.get(name) in valid:
        return KEYWORDS[name]
    for ours, others in _MEANT.items():
        if ours in valid and name in others.split():
            return ours
    if not near:
        return None
    lower = {v.lower(): v for v in valid}
    import difflib  # for the message of an error only

    found = difflib.get_close_matches(name.lower(), lower, 1, 0.75)
    return lower[found[0]] if found else None


def written(value: object) -> str | None:
    """Return a value as a user would write it, if that is short, else None."""
    plain = value is None or isinstance(value, (bool, int, float, str, tuple, list))
    text = repr(value) if plain else ""
    return text if 0 < len(text) <= 40 else None


def unknown_keyword(
    function: str,
    name: str,
    value: object,
    valid: Sequence[str],
    advice: str | None = None,
    *,
    certain: bool = False,
) -> UnsupportedError:
    """Return the error for a keyword that a function does not have.

    Parameters
    ----------
    function : str
        As the user wrote it, such as "explain".
    name : str
        The unknown keyword.
    value : object
        Its value.
    valid : sequence of str
        The valid ones.
    advice : str, optional
        What to do instead, if it is known. By default the keyword that is meant, if one is similar.
    certain : bool
        Whether the advice is for this very keyword, so that it precedes a valid one that is merely similar.

    Examples
    --------
    >>> print(unknown_keyword("ALE", "n_bins", 10, ["bins", "center"]))
    ALE(): got an unexpected keyword argument 'n_bins', expected 'bins'. Write bins=10.
    """
    got = f"an unexpected keyword argument {name!r}"
    own = _in_function(function, name, value)
    advice, certain = (advice, certain) if own is None else (own, True)
    meant = meant_keyword(name, valid, near=not (certain and advice))
    needed, instead = _INSTEAD.get(name, ("", None))
    if needed in valid:
        advice = instead
    elif meant is not None:
        # `ci=True` wants an interval, whose level is a number.
        level = meant == "confidence_level" and isinstance(value, bool)
        text = "0.95" if level else written(value)
        fix = f"Write {meant}= instead" if text is None else f"Write {meant}={text}"
        return UnsupportedError(f"{function}()", got, repr(meant), fix)
    if advice is not None:
        return UnsupportedError(f"{function}()", got, f"a keyword of {function}", advice)
    if not valid:
        return UnsupportedError(f"{function}()", got, "no keyword", f"Remove {name}=")
    listed = ", ".join(valid)
    if function in _OTHERWISE and written(value) is not None:
        fix = _OTHERWISE[function].format(name=name, value=written(value))
        return UnsupportedError(f"{function}()", got, f"a keyword of {function}", fix)
    return UnsupportedError(f"{function}()", got, f"one of {listed}", f"Remove {name}=")


def misfit(
    function: str,
    signature: inspect.Signature,
    args: Sequence[object],
    given: Mapping[str, object],
    advice: Callable[[str, object], str | None] | None = None,
    meaning: Callable[[Sequence[object]], str | None] | None = None,
    certain: Collection[str] = (),
) -> UnsupportedError | None:
    """Return the error for arguments that do not fit a signature, or None if they do.

    Parameters
    ----------
    function : str
        As the user wrote it, such as "Effect.interval".
    signature : inspect.Signature
        Without `self`.
    args, given
        The positional arguments, without `self`, and the keywords.
    advice : callable, optional
        ``advice(keyword, value)``: what to do instead of passing an unknown keyword, or None.
    meaning : callable, optional
        ``meaning(args)``: how to pass positional arguments of which there are too many, or None.
    certain : collection of str
        Keywords that `advice` knows: a valid keyword that is merely similar is not meant.
    """
    label = function.removesuffix(".__call__")
    parameters = list(signature.parameters.values())
    positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    named = [p.name for p in parameters]
    for name, value in given.items():
        if name not in named:
            hint = None if advice is None else advice(name, value)
            return unknown_keyword(label, name, value, named, hint, certain=name in certain)
    if len(args) > len(positional):
        others = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in given]
        most = f"at most {len(positional)} ({', '.join(positional)})" if positional else "none"
        fix = "Leave the others out"
        meant = None if meaning is None else meaning(args)
        if meant is not None:
            fix = meant
        elif others:
            fix = f"Pass the others by name: {', '.join(f'{name}=' for name in others[:8])}"
        got = f"{len(args)} positional argument{'s' * (len(args) > 1)}"
        return UnsupportedError(f"{label}()", got, most, fix)
    for name in positional[: len(args)]:
        if name in given:
            return UnsupportedError(
                f"{label}()", f"{name} twice", f"{name} once", f"Remove {name}="
            )
    needed = [p.name for p in parameters if p.default is p.empty]
    missing = [name for name in needed if name not in positional[: len(args)] and name not in given]
    if missing:
        owner, _, method = function.partition(".")
        # `from_estimator` belongs to a class, other methods to a result.
        own = method and not method.startswith("from_")
        call = f"{owner.lower()}.{method}" if own else f"sd.{function}"
        call = call.removesuffix(".__call__")
        fix = f"Write {call}({', '.join(needed)})"
        expected = " and ".join((", ".join(needed[:-1]), needed[-1]) if needed[1:] else needed)
        # Of functions that take a model; a result's own methods take results.
        if (
            args
            and not method
            and needed[0] in ("model", "models")
            and isinstance(args[0], Printed)
        ):
            return result_error(f"{label}()", args[0], expected)
        return UnsupportedError(f"{label}()", f"no {' and no '.join(missing)}", expected, fix)
    return None


def result_error(what: str, value: object, expected: str) -> UnsupportedError:
    """Return the error for a result in the place of a model or of data: what of it needs no model."""
    fix = "Pass the fitted model and the rows, which a result does not contain"
    if "explore" in dir(type(value)):
        fix += ". For a page of the result alone write result.explore('page.html')"
    return UnsupportedError(what, f"a result ({type(value).__name__})", expected, fix)


def checked_call(function: F) -> F:
    """Give a function, a method or a class an error for calls that do not fit it, which says what is meant.

    Parameters
    ----------
    function : callable
        A function or method without ``**keywords``, or a class, whose constructor is meant.

    Returns
    -------
    callable
        It raises `UnsupportedError`, a TypeError, for unknown keywords, arguments that must be passed by name, and
        missing arguments. Calls that fit take no more time.

    Examples
    --------
    >>> @checked_call
    ... def mean(x, *, sample_weight=None): ...
    >>> mean([1.0], weights=[2.0])
    Traceback (most recent call last):
    skedasis.errors.UnsupportedError: mean(): got an unexpected keyword argument 'weights', expected
    'sample_weight'. Write sample_weight=[2.0].
    """
    called: Any = function.__init__ if isinstance(function, type) else function
    bound = isinstance(function, type) or "." in function.__qualname__.rpartition("<locals>.")[2]
    name = function.__qualname__.rpartition("<locals>.")[2]
    for base in ("SavedResult.", "Exportable."):  # users see results, not their base classes
        name = f"Result.{name.removeprefix(base)}" if name.startswith(base) else name

    @wraps(called)
    def checked(*args: Any, **kwargs: Any) -> Any:
        before = process_state()
        try:
            with own_error_state():
                return called(*args, **kwargs)
        except BaseException as error:
            raise_interruption(error, before)
            # Python raises the error of a call that does not fit before it enters the function.
            fits = error.__traceback__ is None or error.__traceback__.tb_next is not None
            if fits or not isinstance(error, TypeError):
                raise
            signature = inspect.signature(called)
            if bound:
                _, *own = signature.parameters.values()
                signature = signature.replace(parameters=own)
            problem = misfit(name, signature, args[1:] if bound else args, kwargs)
            if problem is None:
                raise
        raise problem from None

    if isinstance(function, type):
        function.__init__ = checked
        return cast(F, function)
    return cast(F, checked)
