"""The sentences about results, as templates: a sentence that is printed is found here by searching for its words.

This module has the words only. Which sentence is printed is decided, for stated reasons, by the modules that know the
result: they choose a template and pass its facts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence, Sized
from functools import partial
from string import Formatter

from skedasis._escaping import one_line
from skedasis._numbers import counted, listed, number, p_value, percent, signed, size, with_minus

# --- templates ------------------------------------------------------------------------------------


def _text(value: object) -> str:
    return one_line(str(value))


FORMS: Mapping[str, Callable[..., str]] = {
    "": _text,
    "number": partial(number, zeros=False),
    "size": size,
    "signed": signed,
    "%": percent,
    "p": p_value,
    "list": listed,
    "#": counted,
    "rule": lambda rule: with_minus(_text(rule)),
}
"""What may follow the colon of a fact, besides a choice ("rises|falls"); "#" is followed by a noun ("#row")."""


_PART = re.compile(r"\[([^\[\]]*)\]")


def tell(template: str, **facts: object) -> str:
    """Return the text of a template with its facts filled in. Texts of data are filled in last, and not read.

    ``{x:form}`` is a fact in one of `FORMS`, ``{n:#row}`` a count with its noun. ``{x:rises|falls}`` is the first
    text for a number above 0, a count of one, a single name or a condition that holds, otherwise the second one.
    A part in brackets is left out if one of its facts is unknown (None, NaN, empty), or False.
    """
    return _FILLED.vformat(
        _PART.sub(lambda m: m[1] if _known(m[1], facts) else "", template), (), facts
    )


def _known(text: str, facts: Mapping[str, object]) -> bool:
    return not any(_unknown(facts.get(name)) for _, name, _, _ in Formatter().parse(text) if name)


def _unknown(value: object) -> bool:
    if value is None or value is False or (isinstance(value, Sized) and len(value) == 0):
        return True
    return isinstance(value, float) and math.isnan(value)


class _Filled(Formatter):
    """Fills in facts by `FORMS`, choices and counted nouns."""

    def format_field(self, value: object, format_spec: str) -> str:
        """Return one fact as text."""
        if "|" in format_spec:
            first, other = format_spec.split("|")
            return first if _is_first(value) else other
        if format_spec.startswith("#"):
            return FORMS["#"](value, format_spec[1:])
        return FORMS[format_spec](value)


_FILLED = _Filled()


def _is_first(value: object) -> bool:
    """Return which of two texts is chosen: of rises|falls, is|are, both|each."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value == 1
    if isinstance(value, float):
        return value > 0
    return isinstance(value, Sequence) and len(value) == 1


# --- one curve ------------------------------------------------------------------------------------

CURVE: Mapping[str, str] = {
    "none": "the feature takes a single value",
    "flat": "[{quantity} is ]flat",
    "unclear": "[{quantity} ]does not clearly change (range {size}, within its uncertainty)",
    "two values": "{new} instead of {old} {change:raises|lowers} {quantity} by {size}",
    "line": (
        "[{quantity} ]{change:rises|falls} by {size} from {start} to {end}[ ({part:%} of the {some} lie there)]"
        "[, most of it between {low} and {high}][, most of it at {at}]"
    ),
    "levels": "[{quantity} is ]highest for {top}, lowest for {bottom}",
    "turns": (
        "[between {start} and {end} ({part:%} of the {some} lie there), ][{quantity} is ]highest at {top}, "
        "lowest at {bottom}"
    ),
    "one turn": (
        "one {peak:peak|dip} at {at}: {peak:rises|falls} by {before} from {start}, {peak:falls|rises} by {after} "
        "to {end}"
    ),
    "several turns": "{turns}; range {size}",
    "many turns": "{peaks} peaks and {dips} dips, highest at {top}, lowest at {bottom}",
}
"""A curve alone, by its shape; "it" is left out where the quantity is named before."""


TURNS = "{n} {peak:peak|dip}{many:s,|} at {places:list}"
"""The peaks, or the dips, of a curve with several turns."""


# --- the curves of groups of rows -----------------------------------------------------------------

WHERE = "where {rule:rule} ({share:%}[ of {rows}])"

OTHERS = "for the other rows"


TWO_GROUPS: Mapping[str, str] = {
    "same way": "{said} {where}, by {other} {elsewhere}[, by values between these {rest}]",
    "other way": "{said} {where}, and {change:rises|falls} by {other} {elsewhere}[, with values between these {rest}]",
    "other way, two values": (
        "{said} {where}, and {change:raises|lowers} it by {other} {elsewhere}[, with values between these {rest}]"
    ),
    "no change": "{said} {where}; {elsewhere}, it does not {clear:|clearly }change",
    "two peaks": (
        "[between {start} and {end} ({part:%} of the {some} lie there), ]{quantity} is highest {top} {where}, "
        "{other} {elsewhere}"
    ),
    "two shapes": "{where}, {said}; {elsewhere}, {other}",
    "less": "{where}, {said}; {elsewhere}, it changes by {only:only |}{other}",
}
"""The curves of two groups of rows, by how the second one differs from the first, which ``said`` describes."""


BY_GROUP = "{new} instead of {old} {change:raises|lowers} {quantity} {same}[, and {change:lowers|raises} it {opposite}]"
"""The change between two values in several groups of rows: first those that change as the largest change does."""


# --- the first lines of a page --------------------------------------------------------------------

QUANTITY: Mapping[str, str] = {"prediction": "the prediction", "entropy": "the model's uncertainty"}
"""The default names of quantities, as parts of sentences."""


HEADLINE: Mapping[str, str] = {
    "target": "{model} predicts {target}",
    "class": "{model} predicts whether {target} is {which}",
    "quantity": "explains {quantity} of {model}",
    "entropy": "explains how unsure {model} is",
}


HEADLINE_END = "{said}[: {quality}], on {rows:#row} with {features:#feature}.[ {unknown}]"


QUALITY: Mapping[str, str] = {
    "regression": (
        "off by {error:size}[ {unit}] on average[ (R² {r2}{worse:, worse than always predicting the mean|})]"
    ),
    "classes": (
        "right for {right:%} of the rows[ ({usual:%} by always guessing the most frequent class)][, AUC {auc}]"
    ),
}


QUALITY_UNKNOWN = "{labels:No labels: how|How} well it predicts is not known."


AVERAGE: Mapping[str, str] = {
    "": "On average, {quantity}[, {axis} in the figures,] is {mean}.",
    "entropy": (
        "Uncertainty here is entropy, in {unit}: on average {mean}, as if {classes:|all values in a range of }"
        "{likely:size} {classes:classes |}were equally likely; {double:size} more is "
        "{classes:twice as many|a range twice as wide}."
    ),
}
"""What is explained, on average, and the scale of an entropy: its exponential counts equally likely values."""


DIFFERS = "Differs between rows, depending {how} on {name}"


# --- a feature, on the first screen ---------------------------------------------------------------

FEATURE: Mapping[str, str] = {
    "alone": "{name}: {said}.[ {after}]",
    "deviating": (
        "{name}: on average, {said}; single rows lie about {deviation} above or below this"
        "[, depending {how} on {others:list}].[ {after}]"
    ),
    "still": (
        "{name}: no clear effect on average, but for single rows it moves {quantity} up or down by about {deviation}"
        "[, depending {how} on {others:list}].[ {after}]"
    ),
}


HEIGHT: Mapping[str, str] = {
    "drawn": "{place} ({height}[ {unit}][, depending on {by:list}])",
    "around zero": "{place} ({size} {above:above|below} average)",
}
"""A point of a curve and its height as it is drawn; around zero: from the average over the rows of the curve."""


MISSING = "A missing value instead of a known one {change:raises|lowers} {quantity} by {change:size} on average."


INTERACTION = (
    "{names:list} interact most strongly: together they change {quantity} by {size} (standard deviation) beyond "
    "their own curves."
)


# --- a model as a whole ---------------------------------------------------------------------------

MODEL: Mapping[str, str] = {
    "nothing": "No feature changes {quantity}: it is the same for all rows.",
    "poor": "The model predicts poorly ({measure} {value}), so its explanation says little about the data.",
    "same": "The effect of every feature is the same for all rows.",
    "misleading": "The average effect is most misleading for {names}: differences between rows exceed it.",
    "small": (
        "The effect of {names} varies most between rows, but for no important feature do these differences exceed the "
        "average effect."
    ),
    "warned": "Check the warnings on {names}.",
    "unused": "Features without any effect: {names}.",
    "unsure": "How unsure the model is depends most on {names}.",
    "never unsure": "No feature changes how unsure the model is.",
}


WARNING: Mapping[str, str] = {
    "slope_mismatch": "{name}: caution, the slopes of the model do not match its predictions.",
    "extrapolation": (
        "{name}: caution, its curve or its heterogeneity needs predictions for rows far from the data."
    ),
    "disagreement": (
        "{name}: caution, PDP shows a clearly different curve, because features depend on one another."
    ),
    "rows_outside": "{name}: caution, its curve leaves out rows outside the edges.",
    "gap": "{name}: caution, some of its values lie beyond a wide gap, and may be codes.",
    "slope_changes": "{name}: caution, its slope changes within bins.",
    "no_rows": "{name}: caution, part of its curve has no rows.",
    "few_rows": "{name}: caution, part of its curve has few rows.",
    "one_row": "{name}: caution, part of its curve has a single row.",
}
"""The warnings that the first screen tells, by the code of the check."""


MODELS: Mapping[str, str] = {
    "nothing": "No feature changes the prediction of any of these models.",
    "both": "Both models depend most on {name}.",
    "all": "All {n} models depend most on {name}.",
    "different": "They depend most on different features: {parts:list}.",
    "on": "{models:list} on {name}",
    "curves alike": "The average curves of the features are about as large in each.",
    "curves differ": "{name} is where they differ most: its importance is {high} in {most} and {low} in {least}.",
    "rows the same": "In each of them, the effect of every feature is nearly the same for all rows.",
    "rows alike": "Effects differ between rows about as much in each of them.",
    "rows differ": (
        "Effects differ {two:more|most} between rows in {most} {two:than|and least} in {least}: such differences make "
        "{high:%} and {low:%} of what features change."
    ),
}
"""What several models have in common, and where they differ."""


# --- regions --------------------------------------------------------------------------------------

EXPLAINED = (
    "the rule ({n:#group} of rows) explains {share} of the variance between rows"
    "[{searched:, as searched|}][ ({before:number} → {within:number} as SD)]"
)

GROUPS = "{n:#group} of rows"

ONE_GROUP = "one group of rows[: {why}][ (heterogeneity score {before:number})]"

BEST_NOT_CONFIRMED = "{note}; the best was {rule:rule} ({p:p}[, and {level:number} is needed])"

BEST_EXPLAINS_LITTLE = "the best rule, {rule:rule}, explains only {share} ({p:p})"

SPLIT = "by {feature}[: explains {share}][, {p:p}][, {another}][{ahead:, chosen together with the next splits|}]"

ANOTHER = "another split does about as well[: {rule:rule}]"


# --- a feature, in its section --------------------------------------------------------------------

NO_EFFECT = "No row's prediction changes with this feature."


OPPOSITE = (
    "For {share:%} of the {levels:rows' steps between levels|rows} the effect goes the other way."
)


NONE_OPPOSITE = "For no row does the effect go the other way."


OBSERVED_TEXT = (
    "Mean labels[ ({split})] {low} to {high}, mean predictions {least} to {most}; they differ most at {at}: the label "
    "is {size} {change:higher|lower}."
)
"""Mean labels and predictions in cells, for the alternative text of a figure."""


OFF: Mapping[str, str] = {
    "first": (
        "where {name} is {at}[ ({split})], the model is {size}[ {unit}] too {change:low|high} on average "
        "(95 % interval ± {half})"
    ),
    "other": "; where it is {at}[ ({split})], {size}[ {unit}] too {change:low|high} (± {half})",
    "more": "; it is clearly wrong in {more:#other place}, too",
    "overall": "; over all rows it is {size}[ {unit}] too {change:low|high}",
    "only overall": (
        "the model is {size}[ {unit}] too {change:low|high} on average over all rows, and nowhere clearly more"
    ),
    "nowhere": "the model is nowhere clearly wrong on average",
    "source": ": a figure shows the means of labels and predictions",
}
"""Where the mean residual along a feature is clearly not 0, and not that of all rows; what is printed if nowhere."""


BETWEEN_ROWS: Mapping[str, str] = {
    "unknown": "How far single rows deviate from the average was not computed.",
    "same": "The effect is the same for all rows.",
    "small": (
        "The average holds for nearly every row: single rows deviate from it by about {score}, and it varies by "
        "{importance} (standard deviations)."
    ),
    "some": (
        "Single rows deviate from the average by about {score}, which is less than it varies: by {importance} "
        "(standard deviations)."
    ),
    "large": (
        "The average describes few rows: single rows deviate from it by about {score}, and it varies by {importance} "
        "(standard deviations)."
    ),
}
"""How far the effect differs between rows, by the heterogeneity score relative to the importance."""


PRECISION = (
    "The average is known to ± {widest} or better ({level:%} interval)"
    "[; computed as ALE, it differs by at most {other}]."
)


MISSING_VALUES: Mapping[str, str] = {
    "point": (
        "The feature is missing in {rows:#row}. On average, the prediction there is {value} {change:higher|lower}"
        "[ (standard error {error})] than with {exact:observed values|quantiles of the observed values} of the feature."
    ),
    "same": (
        "The feature is missing in {rows:#row}. On average, the prediction there is the same as with {exact:observed "
        "values|quantiles of the observed values} of the feature."
    ),
    "level": "Missing values are a level of their own, “{name}” ({rows:#row}): {value} {change:above|below} the mean.",
    "level at the mean": "Missing values are a level of their own, “{name}” ({rows:#row}): at the mean.",
}


ORDER: Mapping[str, str] = {
    "similar": (
        "The levels have no order of their own. Adjacent levels have similar rows in the other features; each row is "
        "moved to adjacent levels only."
    ),
    "declared": "The levels are in the declared order; distances between levels are not defined.",
    "given": "The levels are in the given order; distances between levels are not defined.",
    "ascending values": "The levels are in ascending order; distances between levels are not defined.",
    "own": "The levels are in their order; distances between levels are not defined.",
}


CAUTION: Mapping[str, str] = {
    "few at levels": (
        "{rows:#row} at {n:#level} with fewer than {least} rows (hatched): the effect of {names} is unreliable."
    ),
    "few in bins": (
        "{rows:#row} in {n:#bin} with fewer than {least} rows (hatched): the curve is unreliable there."
    ),
    "empty": "{n:#bin} without rows: the curve is interpolated there.",
    "missing": "{n:#row} without a value: left out of the {levels:levels|curve}.",
    "outside": "{n:#row} {levels:of other, rarer levels|outside the bins}: left out.",
    "sample": "Single rows are shown for a random sample of {n:#row}; the curve uses all rows.",
}


IN_MODEL = (
    "Importance {importance}[, heterogeneity score {score}][; {groups:#group} of rows]. {said}"
)
"""A feature in one of several models."""


CURVES_BY = "{by}: {divided:the curves of its groups of rows are above|sd.regions(…)}"


GROUP = "{rows:#row} ({share:%}): {said}[; {others}]"


# --- the captions of a page -----------------------------------------------------------------------

CAPTION: Mapping[str, str] = {
    "wrong": (
        "Mean label minus mean prediction in groups of rows, with 95 % intervals, at rows that did not choose the "
        "groups."
    ),
    "slopes": (
        "{method}: the average effect and how rows differ from it{labels:, mean labels and mean predictions|}; "
        "below, the slopes in each bin."
    ),
    "levels": (
        "{method} at each level: the average effect and how rows differ from it{labels:, mean labels and mean "
        "predictions|}; below, the differences between adjacent levels."
    ),
    "methods": "{methods:list}: where they diverge, features depend on each other.",
    "pdp": (
        "PDP{ice: with c-ICE|}: the average over all rows[ and the curves of {curves:#row}]."
        "[ They are computed at {points:#point}.][{centred: Each curve has mean zero over the levels.|}]"
        "[ All curves are zero at “{start}”.]"
    ),
    "all": (
        "{every:Every feature|}[The {most} most important features]: effect on {axis} ({method}"
        "{both:, ALE for features without an order|}), {model}."
    ),
    "variance": (
        "The best additive function of the features would explain {main}[, with groups of rows {regions}]"
        "[, with pairs of features {pairs}] of the variance of the prediction"
        "{left:; the rest needs more features together, or finer functions|}. Measured at {rows:#row} that took no "
        "part in fitting; lines are 95 % intervals.[ {full} for the labels.]"
    ),
    "calibration": "Mean label against mean prediction.[ {said}]",
}


# --- mean labels beside mean predictions -----------------------------------------------------------

CALIBRATION: Mapping[str, str] = {
    "means": "{events:Observed proportion|Mean label} {label}, mean prediction {prediction}[ {unit}].",
    "all": "Predictions",
    "up to": "Predictions up to {high}",
    "from": "Predictions from {low}",
    "between": "Predictions from {low} to {high}",
    "one": "Predictions of {low}",
    "wrong": (
        "{which} are {residual:too low|too high} by {size:size}[ {unit}] on average "
        "({level:%} interval {least:size} to {most:size})."
    ),
    "more": "So are those of {n:#other range}.",
    "adjusted": "Intervals are adjusted for the number of bins.",
    "none": "No range of predictions was found that is wrong on average.",
    "miscalibrated": "{score} {value}, of which {part} is miscalibration.",
    "not clear": "{score} {value}, no part of which is clearly miscalibration ({part}).",
}
"""What a calibration says: the means of all rows, the ranges of predictions that are wrong, and the squared error."""


# --- what a page leaves out -----------------------------------------------------------------------

UNEXPLAINED: Mapping[str, str] = {
    "no values": "Left out because they have no value in any row: {names}.",
    "out of range": (
        "Left out because their numbers are too large, or too close together, for float64: {names}. The model still "
        "uses these features."
    ),
    "levels": "Left out because of more than 2,000 levels: {names}. The model still uses these.",
}
"""Features that a page does not explain."""


CUTS: Mapping[str, str] = {
    "seconds": (
        "To finish within {limit} seconds (max_seconds), this page leaves out what is least needed: the whole page "
        "needs up to {rows} model rows, about {time} of the model's time."
    ),
    "model rows": (
        "To keep to {limit} model rows (max_model_rows), this page leaves out what is least needed: the whole "
        "page needs up to {rows} model rows."
    ),
    "no uncertainty": "The predictive uncertainty is left out.",
    "pairs": "Of the pairs of features only the strongest {n} are drawn.",
    "no pairs": "Of the pairs of features none is drawn.",
    "PDP": "PDP and ICE are computed only of the {n} most important of {features} features.",
    "no PDP": "PDP and ICE are left out.",
    "scores": "The heterogeneity scores are computed from {n:#row}.",
    "no scores": "The heterogeneity scores are left out.",
    "rows": "All numbers are computed from a random sample of {n:number} of {all:#row}.",
}
"""What is left out to keep to a limit of time or of model rows."""


SHORTENED: Mapping[str, str] = {
    "page": "To keep this page below {size} MB, it leaves out {parts}. The code in their sections shows them.",
    "part": "{what} of {n:#feature}",
    "feature": "Left out to keep the page small: {what}.",
}
"""What is left out to keep a page small."""


# --- factors --------------------------------------------------------------------------------------

FACTORS: Mapping[str, str] = {
    "head": (
        "{measure}s of {quantity} for {feature}[ where {rule:rule}] ({method}), base {base}[ (that with most {most}; "
        "base= chooses another)]"
    ),
    "base": (
        "{quantity} ≈ {value} × {measure}s, exactly where the model is a product; base: {at:list}[ (those with most "
        "{most}; bases= chooses others)]"
    ),
    "between rows": (
        "Single rows differ from these {measure}s by × or ÷ {factor}, typically (exponential of the heterogeneity "
        "score)."
    ),
    "between rows of each": (
        "Single rows differ from these {measure}s, typically by × or ÷: {factors:list} (exponentials of the "
        "heterogeneity scores)."
    ),
    "product": (
        "A product of one {measure} per feature explains {share} of the variance of the logarithm of {quantity} at "
        "held-out rows; the rest is no product."
    ),
    "balanced": (
        "the base value makes the total over {rows:#row} that of y[: it is multiplied by the off-balance "
        "{off_balance}, without which the total is {share:%} of that of y]"
    ),
    "not balanced": (
        "the total of base value × factors may differ from that of the model or of the labels; factors(X=X, y=...) "
        "makes them equal"
    ),
    "no intervals": (
        "no intervals: the result keeps too few curves of rows (ice=200), or has a mean only (heterogeneity=False)"
    ),
    "no interval of missing": "no interval for missing values: their error is known for accumulated effects only",
    "off the curve": "no factor for {n:#cell}, whose mean is outside the curve",
    "no observed base": (
        "no observed {measure}s[ for {name}][ {split}]: the mean label at the base is {mean:number}, which is not "
        "above 0[ and below {odds}]"
    ),
    "no base value": (
        "no base value: the mean of the quantity over all rows is not known; it is without heterogeneity_rows=0, and "
        "with at least one feature that is never missing"
    ),
    "base value of a sample": (
        "the base value is computed from the rows of the heterogeneity score, a sample; heterogeneity_rows=None takes "
        "all rows"
    ),
}
"""Tables of factors: first lines, how much of a model is no product, and what is not known."""


# --- where a model is wrong -----------------------------------------------------------------------

WEAK_SPOT: Mapping[str, str] = {
    "bias": (
        "{who} is {amount}[ {unit}] {bias:too low|too high} where {rule:rule} (95 % interval {low} to {high}, {part:%} "
        "of the rows)"
    ),
    "ratio": (
        "the {loss} is {amount} times its average where {rule:rule} (95 % interval {low} to {high}, {part:%} of the "
        "rows)"
    ),
    "excess": (
        "the {loss} is {amount}[ {unit}] above its average where {rule:rule} (95 % interval {low} to {high}, {part:%} "
        "of the rows)"
    ),
    "no bias": "no part of the rows was found where {who} is wrong on average[ by at least {least}]",
    "no other bias": (
        "no part of the rows was found where {who} is wrong by more than over all rows[, and by at least {least}]"
    ),
    "no loss": (
        "no part of the rows was found where the {loss} is clearly larger than on average[, by at least {least}]"
    ),
    "overall": (
        "over all rows {who} is {amount}[ {unit}] {bias:too low|too high} on average (95 % interval {low} to {high})"
    ),
    "not overall": (
        "over all rows {who} is not wrong on average (mean label − mean prediction {amount}[ {unit}], 95 % interval "
        "{low} to {high})"
    ),
    "average": "over all rows the {loss} is {amount}[ {unit}] on average (95 % interval {low} to {high})",
}
"""Where a model is wrong on average, or where its loss is large, by how much, and the same over all rows."""


# --- differences of effects -----------------------------------------------------------------------

DIFFERENCE: Mapping[str, str] = {
    "head": (
        "difference of the effects of {feature} on {quantity} ({method}): {first:#row} minus {second:#row}"
    ),
    "shape": "Shapes are compared: both curves have the same mean over the common range.",
    "height": "Heights are compared: both curves are means of the quantity.",
    "same": "No difference of the two curves is confirmed ({p:p}, test over all points).",
    "differ": "The two curves differ ({p:p}, test over all points).",
    "range": "from {low} to {high} the first curve is up to {size}[ {unit}] {most:higher|lower} (at {at})",
    "point": "at {at} the first curve is {size}[ {unit}] {most:higher|lower}",
    "level": "for {at} the first effect is {size}[ {unit}] {most:higher|lower}",
    "more": "and {n:#range} more",
    "common": "compared from {low} to {high}, where both tables have rows",
    "levels": "left out, because only one of the tables has rows of them: {levels:list}",
    "bins": (
        "the curves have different points; what may be due to that is allowed for, which makes intervals wider: "
        "explain both with the same bins=sd.Edges(...) or grid=[...]"
    ),
    "same rows": (
        "the feature has the same values in all rows of both tables; if these are the same rows, the intervals are too "
        "wide: explain the difference of the quantities, sd.prediction(new) - sd.prediction(old)"
    ),
}
"""The difference of two effects: what is compared, where it is largest, and what limits it."""


# --- diagnosis ------------------------------------------------------------------------------------

DIAGNOSIS = (
    "Diagnosis of {features:#feature} on {rows:#row}. How much it matters: Likelihood-PFI; what others know: "
    "Entropy-PFI; means over {repeats:#repeat}, in nats ({level} % intervals)"
)

UNSURE = (
    "Unsure where {rule:rule} ({part:%} of the rows): {ratio:size} times its average uncertainty."
)

NOWHERE_UNSURE = (
    "No group of rows was confirmed in which the model is clearly less sure than on average."
)

SHARED = (
    "Shared: {names:list}. {names:It matters|They matter} more than {names:its|their} importance suggests, because "
    "other features know the same[. Permute such features together: sd.PFI(groups={{'together': {together}}})]."
)

MISLEADING = "The model would predict better without {names:list}."

UNDECIDED = "Undecided: {names:list}. {next}"

MEASURE = "{name} {mean:number}[, {lower:number} to {upper:number}][, {why}]"

VERDICTS = {
    "unused": "The model does not use it.",
    "no effect": "It changes next to nothing ({likelihood}; {entropy}).",
    "little effect": "It changes next to nothing ({likelihood}; {entropy}).",
    "undecided": "Too few {more} to tell ({wide}; {other}).",
    "independent": (
        "It matters ({likelihood}), and no other feature knows the same ({entropy}; {forest}): its importance is right "
        "as it is."
    ),
    "independent by its entropy": (
        "It matters ({likelihood}), and by its entropy no other feature knows the same ({entropy}); how well the "
        "others predict it is unknown."
    ),
    "informative, linked": (
        "It matters ({likelihood}); whether other features know the same is open: its entropy says no ({entropy}), but "
        "{forest}."
    ),
    "informative, wide": (
        "It matters ({likelihood}); whether other features know the same is open: too few {more} ({entropy})"
        "[; {forest}]."
    ),
    "informative, constant entropy": (
        "It matters ({likelihood}); whether other features know the same is open: the entropy is constant[; {forest}]."
    ),
    "informative without link": (
        "It matters ({likelihood}); whether other features know the same is open: its entropy says yes ({entropy}), "
        "but the forests find none: {forest}."
    ),
    "shared": (
        "It matters more than its importance, {likelihood}, suggests: {partners} {one:knows|know} the same ({entropy}"
        "[{certain:; the model is more certain where they disagree|}][; {forest}])."
    ),
    "uninformative": (
        "The model does not need it ({likelihood}): {partners} {one:knows|know} the same ({entropy}"
        "[{certain:; the model is more certain where they disagree|}][; {forest}])."
    ),
    "uninformative without link": (
        "The model does not need it ({likelihood}); whether other features know the same is open: its entropy says yes "
        "({entropy}), but the forests find none: {forest}."
    ),
    "misleading": "The model predicts better without its values ({likelihood}; {entropy}).",
}

FOREST = (
    "the others predict it {how} (R² {r2})[, but it predicts {predicts} (R² {its})]"
    "[, but it helps to predict {helps}]"
)

NOTHING = "No further check is needed."

EFFECT = "Inspect its effect on the prediction."

REFIT = "Fit the model without it, and compare on new rows."

REFIT_WITH = "Fit the model without it, but with {partners}, and compare on new rows."

HELD_OUT = "If the model was trained on these rows, repeat the diagnosis on held-out rows."

MORE = "Use more {more}."

PERMUTE = {
    "partners": "Permute them together: sd.PFI(groups={{'together': {names}}}).",
    "forest": "Permute it together with related features; no single one of them stands out.",
    "unknown": "Use dependence=True to find the features that know the same.",
}

MISSED = (
    "The label helps to predict it (R² {without} without, {together} with it): it may contain information that the "
    "model does not use."
)

ROWS_CHANGE = (
    "The entropies of single rows do change, by {size:number} (standard deviation): see "
    "sd.explain(sd.entropy(model), X, {feature}, method='ice')."
)


# --- drift ----------------------------------------------------------------------------------------

_TOGETHER = "{alone:it excludes 0, but |}the tests allow for all parts together"

DRIFT: Mapping[str, str] = {
    "none": (
        "No change was found: the mean {quantity} is {old}[ in the old rows and {new} in the new ones{rows:|}]"
        f"[ ({{change:signed}}, 95 % interval {{ends}}; {_TOGETHER})]."
    ),
    "mean": (
        "The mean {quantity} {change:rose|fell} from {old} to {new} ({change:signed}"
        "[, 95 % interval {ends}])[: {causes:list}]."
    ),
    "same mean": (
        "The mean {quantity} did not clearly change ({old} to {new}[, difference 95 % interval {ends}; "
        f"{_TOGETHER}]), but {{parts:list}}."
    ),
    "found: rows moved": "rows[ or their labels{labels:|}] moved ({value:signed})",
    "found: model changed": "the model changed ({value:signed})",
    "found: features": "rows moved along features",
    "found: groups: rows moved": "rows moved more in some groups than in others",
    "found: groups: model changed": "the model changed more in some groups of rows than in others",
    "found: curves": "{n:#effect} changed",
    "models": "The old model is {old}, the new one {new}.",
    "rows moved": "{value:signed} because rows[ or their labels{labels:|}] moved",
    "model changed": "{value:signed} because the model changed",
    "features": "Rows moved, by feature: {parts:list}.",
    "groups: rows moved": (
        "Rows moved, by groups of rows: {value:signed} where {rule:rule} ({shares} of the rows) is the largest part; "
        "all groups add up to {whole:signed}."
    ),
    "groups: model changed": (
        "The model changed most where {rule:rule}: {value:signed} ({shares} of the rows); all groups add up to "
        "{whole:signed}."
    ),
    "curves": (
        "The {n:effect|effects} of {parts:list} changed[, {more:#other} by less than a tenth of that] (standard "
        "deviation of the difference over the rows)."
    ),
}
"""What changed between two tables and two models."""


DRIFT_PARTS: Mapping[str, str] = {
    "rows moved": (
        "Rows moved: the mean at the new rows minus that at the old ones, of the average of both models."
    ),
    "model changed": (
        "Model changed: the mean of the new model minus that of the old one, at the same rows, half of it at the old "
        "ones and half at the new ones."
    ),
}
"""What the parts are, for readers of a page."""
