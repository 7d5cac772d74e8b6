"""The sections of the page about whole models: at a glance, where to look, pairs, what is unsure, how it was made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from skedasis.plots.scales import count
from skedasis.report import captions, deeper, drawings, origins, words
from skedasis.report.drawings import Shown
from skedasis.report.features import FIRST, anchored, features
from skedasis.report.numbers import Numbers, listed, named, percent
from skedasis.report.numbers import ends as ends_of
from skedasis.report.story.told import Story, Told
from skedasis.results.effects import Rank

LENGTH = 96
"""Pixels of a ranking's longest bar."""


def title(story: Story) -> str:
    """Return what the page is about."""
    # "prediction" is no name that a user has given.
    names = ("the prediction" if t.quantity == "prediction" else t.quantity for t in story.told)
    quantities = list(dict.fromkeys(names))
    return f"Feature effects on {listed(quantities)}"


def lead(story: Story) -> str:
    """Return the page in a sentence."""
    names = listed([t.name for t in story.told])
    return (
        f"The effect of {count(len(story.features), 'feature')} in {names}: how large it is, where the average "
        f"misleads, and how precise it is. From {count(story.rows, 'row')} of {count(story.columns, 'column')}."
    )


def kinds(story: Story) -> dict[str, bool]:
    """Return which kinds of features there are to be told how to read."""
    effects = [e for t in story.told for e in t.rhale.values()]
    found = {e.about.feature.kind for e in effects}
    return {
        "numeric": any(e.levels is None for e in effects),
        "levels": any(e.levels is not None for e in effects),
        "nominal": "nominal" in found,
        "ordinal": "ordinal" in found,
        "missing": any(e.missing_point is not None for e in effects),
    }


def cautions(story: Story) -> list[dict[str, str]]:
    """Return what is to be minded of the whole page, with the model that it concerns."""
    several = len(story.told) > 1
    found = [{"name": "", "text": text} for text in story.remarks]
    if story.left_out:
        names = listed(story.left_out, 20)
        text = f"Left out, having more than 2,000 levels: {names}. The model still uses them."
        found.append({"name": "", "text": text})
    found += [
        {"name": told.name if several else "", "text": text}
        for told in story.told
        for text in told.warnings
    ]
    return found


def model(story: Story, told: Told, anchors: Mapping[str, str], ident: str) -> dict[str, Any]:
    """Return what the page says of one model as a whole.

    Parameters
    ----------
    story : Story
    told : Told
        One of its models.
    anchors : mapping of str to str
        Where each feature is.
    ident : str
        Unique on the page.
    """
    return {
        "name": told.name,
        "facts": _facts(story, told),
        "gist": words.gist(told),
        "tiles": _tiles(told),
        "quality": _said_of_quality(told),
        "figures": _there(
            drawings.of_ledger(told, f"{ident}-ledger"),
            drawings.of_calibration(told, f"{ident}-calibration"),
        ),
        "where": _there(drawings.of_places(told, anchors, f"{ident}-places")),
        "all": drawings.of_all(told.rhale, f"{ident}-all"),
        "all_said": captions.of_all(told, drawings.MANY).text,
        "ranking": ranking(told, anchors),
        "origins": _origins(told),
        "code": _code(told),
    }


def _there(*figures: Shown | None) -> list[Shown]:
    return [f for f in figures if f is not None]


def _code(told: Told) -> str:
    """Return what makes the ranking and the figures of all features again."""
    lines = [told.code[key] for key in (("places",), ("all",)) if key in told.code]
    return "\n".join([told.code["import",], "", *lines]) if lines else ""


def _tiles(told: Told) -> list[tuple[str, str, str]]:
    """Return how well the model predicts, in figures."""
    if told.quality is None:
        return []
    return [(m.name, m.text, m.meaning) for m in told.quality.measures]


def _said_of_quality(told: Told) -> list[str]:
    """Return what to mind of these figures, whose meaning the gist says; or why there are none."""
    if told.quality is not None:
        return list(told.quality.said[1:])
    why = "" if told.note else told.reasons.get("quality", "")
    return [f"How well it predicts is not said here. {why}"] if why else []


def _facts(story: Story, told: Told) -> list[tuple[str, str]]:
    explained = f"{count(len(story.features), 'feature')} explained"
    data = f"{count(story.rows, 'row')}, {count(story.columns, 'column')}; {explained}"
    found = [("Model", told.model), ("Explained", told.axis), ("Data", data)]
    return found + ([("Quality", told.note)] if told.note else [])


# --------------------------------------------------------------------------------------- ranking


def ranking(told: Told, anchors: Mapping[str, str]) -> dict[str, Any]:
    """Return a model's ranking: numbers with their bars, intervals where they are known, and what there is to mind."""
    intervals = f", with {percent(words.LEVEL)} intervals" if told.places else ""
    return {
        "caption": f"Importance and heterogeneity score in units of {told.axis}{intervals}.",
        "heads": _heads(told),
        "lines": _lines(told, anchors),
    }


def _heads(told: Told) -> list[dict[str, str]]:
    numeric = any(e.levels is None for e in told.rhale.values())
    levels = any(e.levels is not None for e in told.rhale.values())
    parts = "Bins" if not levels else "Bins or levels" if numeric else "Levels"
    heads = ["Feature", "Importance", "Heterogeneity score", parts]
    heads += ["Rows not to be trusted", "Missing"]
    if told.trust:
        heads.append("Warnings")
    return [
        {
            "text": text,
            "first": "ascending" if text == "Feature" else "descending",
            "sorted": "descending" if text == "Importance" else "",
        }
        for text in heads
    ]


def _lines(told: Told, anchors: Mapping[str, str]) -> list[dict[str, Any]]:
    places = {p.feature: p for p in told.places}
    ranks = {r.feature: r for r in told.rhale.ranking()}
    values = [v for r in ranks.values() for v in (r.importance, r.heterogeneity_score)]
    ends = [e for p in places.values() for e in (p.importance_ends, p.heterogeneity_score_ends)]
    values += [v for pair in ends if pair is not None for v in pair]
    top = max([v for v in values if math.isfinite(v)], default=0.0) or 1.0
    lines: list[dict[str, Any]] = []
    for line in words.ranking(told):
        f = line.feature
        rank, place = ranks[f], places.get(f)
        lines.append(
            {
                "name": f,
                "anchor": anchors[f],
                "importance": _cell(
                    rank.importance, line.importance, place and place.importance_ends, top
                ),
                "heterogeneity_score": _cell(
                    rank.heterogeneity_score,
                    line.heterogeneity_score,
                    place and place.heterogeneity_score_ends,
                    top,
                ),
                "counts": _counts(told, rank, line),
            }
        )
    return lines


def _cell(value: float, text: str, ends: tuple[float, float] | None, top: float) -> dict[str, Any]:
    """Return a number with its bar and interval, in pixels."""

    def pixels(v: float) -> float:
        return round(LENGTH * min(max(v / top, 0.0), 1.0), 1)

    known = ends is not None and all(map(math.isfinite, ends)) and ends[0] < ends[1]
    return {
        "value": value if math.isfinite(value) else "",
        "text": text,
        "share": pixels(value) if math.isfinite(value) else None,
        "ends": tuple(map(pixels, ends)) if ends and known else None,
        "interval": ends_of(*ends, top) if ends and known else "",
    }


def _counts(told: Told, rank: Rank, line: words.Line) -> list[dict[str, Any]]:
    found = [
        {"value": rank.bins, "text": line.bins, "warn": False},
        {"value": rank.untrusted_rows, "text": line.untrusted, "warn": rank.untrusted_rows > 0},
        {"value": rank.missing, "text": line.missing, "warn": False},
    ]
    if told.trust:
        warnings = len(told.trust[rank.feature].warnings) if rank.feature in told.trust else 0
        found.append({"value": warnings, "text": f"{warnings}", "warn": warnings > 0})
    return found


# ------------------------------------------------------------------------------ how it was made


def made(story: Story) -> str:
    """Return what the numbers rest on, and what they cost."""
    cost = origins.cost(story)
    rows = cost.model_rows + cost.check_rows + cost.score_rows
    also = f" and for {count(cost.slope_rows, 'row')} of slopes" if cost.slope_rows else ""
    exact = (
        "" if cost.exact else " What rests on a sample, or is approximate, says so where it stands."
    )
    who = "The models were" if len(story.told) > 1 else "The model was"
    return (
        f"The effects rest on all {count(story.rows, 'row')}.{_sampled(story)} {who} asked for "
        f"{count(rows, 'row')}{also}, in {cost.seconds:.1f} seconds.{exact} The page explains the model, "
        "not the world: where the model errs, so do its effects."
    )


def _sampled(story: Story) -> str:
    """Say how many rows the heterogeneity scores rest on, where these are not all."""
    scores = [e.swap_score for told in story.told for e in told.rhale.values()]
    pairs = [s.pairs for s in scores if s is not None and not s.exact]
    return f" The heterogeneity scores rest on {2 * max(pairs):,} of them." if pairs else ""


def _origins(told: Told) -> Numbers:
    sources = origins.slopes_from(told)
    where = f" Local effects: {'; '.join(sources)}.{origins.walked(told)}" if sources else ""
    heads = (
        *(("Method", False), ("Settings", True), ("Model rows", False), ("Calls", False)),
        *(("Slope rows", False), ("Check rows", False), ("Score rows", False)),
        ("Seconds", False),
    )
    caption = f"{named(told.name)}: {told.rhale.provenance['quantity']}.{where}"
    return Numbers(caption, heads, origins.origins(told))


def sections(story: Story, name: str | None, progress: bool | None) -> dict[str, Any]:
    """Return all that the page's templates ask for.

    Parameters
    ----------
    story : Story
    name : str, optional
        The page's title.
    progress : bool, optional
        A bar while figures are drawn.
    """
    places = anchored(story)
    together, unsure = deeper.pairs(story), deeper.unsure(story)
    return {
        "title": name or title(story),
        "lead": lead(story),
        "data": story.data,
        "several": len(story.told) > 1,
        "drawn": min(FIRST, len(story.features)),
        "contents": _contents(pairs=together is not None, unsure=unsure is not None),
        "models": [model(story, t, places, f"model-{k}") for k, t in enumerate(story.told, 1)],
        "features": features(story, progress),
        "kinds": kinds(story),
        "scored": any(e.swap_score is not None for t in story.told for e in t.rhale.values()),
        "cautions": cautions(story),
        "pairs": together,
        "unsure": unsure,
        "made": made(story),
        "versions": origins.versions(story),
    }


def _contents(*, pairs: bool, unsure: bool) -> list[dict[str, str]]:
    names = {"short": "At a glance", "where": "Where to look", "features": "Each feature"}
    names |= {"pairs": "Pairs"} if pairs else {}
    names |= {"unsure": "Predictive uncertainty"} if unsure else {}
    names |= {"made": "How this was made"}
    return [{"anchor": anchor, "name": name} for anchor, name in names.items()]
