"""`report`: one self-contained page about one or several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from skedasis.errors import DataError, explained
from skedasis.execute import Progress
from skedasis.quantity.trees.choose import Wish
from skedasis.report import origins, pictures, words
from skedasis.report.numbers import count, listed
from skedasis.report.pictures import Picture
from skedasis.report.story import Story, Told, gather
from skedasis.results.effects import Effects


@dataclass(frozen=True, eq=False)
class Report:
    """A page that is written, and the results that it shows.

    Parameters
    ----------
    path : Path
    effects : dict of str to dict of str to Effects
        By model, then by method: "RHALE", "ALE", "PDP". Nominal features, which have no RHALE, have their ALE there.
    figures : tuple of Path
        Figures that were written besides.
    """

    path: Path
    effects: Mapping[str, Mapping[str, Effects]] = field(repr=False)
    figures: tuple[Path, ...] = field(default=(), repr=False)

    def __fspath__(self) -> str:
        return str(self.path)


def report(
    models: Any,
    X: Any,
    y: Any = None,
    path: str | Path = "report.html",
    *,
    features: Sequence[Any] | None = None,
    schema: Any = None,
    groups: Any = None,
    weights: Any = None,
    title: str | None = None,
    seed: int = 0,
    memory: int | str = "1GB",
    keep: int | str = "256MB",
    threads: int = 1,
    progress: bool | None = None,
    tree: Wish = "auto",
) -> Report:
    """Write the story of one or several models into one page.

    The page holds all it shows: pictures are part of it, it fetches nothing and runs nothing, and no row of X is in it
    beyond what the pictures show.

    Parameters
    ----------
    models : model or mapping of str to model
        A quantity, fitted estimator or callable; or several of them by name.
    X : array or data frame of n rows
    y : array of n labels, optional
        For quantities that need them.
    path : str or Path
        Where the page is written; a page that is there is replaced.
    features : list, optional
        By default every one. Those of more than 2,000 levels are named as left out.
    schema, groups, weights, seed, memory, keep, threads, progress, tree
        As in `skedasis.explain`.
    title : str, optional

    Returns
    -------
    Report
        Where the page is, and the effects that it shows.

    Notes
    -----
    Four passes a model: RHALE of numeric and ordinal features, ALE of all, PDP with c-ICE of these and those. Features
    that no row has a value of are refused, as by `skedasis.explain`.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> done = sd.report(lambda X: X[:, 0] * X[:, 1], X, path=page, progress=False)
    >>> done.path.name, list(done.effects["function"])
    ('report.html', ['RHALE', 'ALE', 'PDP'])
    """
    path = _writable(path)
    story = gather(
        models,
        X,
        y,
        features=features,
        weights=weights,
        schema=schema,
        groups=groups,
        seed=seed,
        memory=memory,
        keep=keep,
        threads=threads,
        progress=progress,
        tree=tree,
    )
    return write(story, path, title=title, progress=progress)


def write(
    story: Story,
    path: str | Path,
    *,
    title: str | None = None,
    figures: str | Path | None = None,
    progress: bool | None = None,
) -> Report:
    """Draw a story's pictures and write its page.

    Parameters
    ----------
    story : Story
        Of `gather`.
    path : str or Path
    title : str, optional
    figures : str or Path, optional
        A folder into which the pictures are written besides.
    progress : bool, optional
        A bar when drawing takes longer than two seconds.
    """
    path = _writable(path)
    drawn = _draw(story, progress)
    page = _page(story, drawn, title or _title(story))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    written: list[Path] = []
    if figures is not None:
        written = _save(story, drawn, Path(figures))
    effects = {t.name: {"RHALE": t.rhale, "ALE": t.ale, "PDP": t.pdp} for t in story.told}
    return Report(path, effects, tuple(written))


def _writable(path: str | Path) -> Path:
    """Refuse a path that is no file before the work begins."""
    path = Path(path)
    if path.is_dir():
        raise DataError(
            explained(
                "report(path)",
                f"the folder {str(path)!r}",
                "a file",
                f"Write {str(path / 'report.html')!r}",
            )
        )
    return path


Drawn = dict[str, dict[str, list[Picture]]]
"""Pictures by model and feature; under "" the overview."""


def _draw(story: Story, progress: bool | None) -> Drawn:
    drawn: Drawn = {}
    steps = len(story.told) * (len(story.features) + 1)
    with Progress(steps, "Drawing", progress) as bar:
        for told in story.told:
            drawn[told.name] = {"": [pictures.of_all(told)]}
            bar.advance()
            for feature in story.features:
                drawn[told.name][feature] = _of_feature(told, feature)
                bar.advance()
    return drawn


def _of_feature(told: Told, feature: str) -> list[Picture]:
    if len(told.rhale[feature].x) < 2:
        return []  # a feature that takes one value has nothing to show
    return [pictures.of_rhale(told, feature), pictures.of_pdp(told, feature)]


def _save(story: Story, drawn: Drawn, folder: Path) -> list[Path]:
    """Write the pictures as files."""
    folder.mkdir(parents=True, exist_ok=True)
    written: dict[Path, None] = {}
    for told in story.told:
        for picture in (p for some in drawn[told.name].values() for p in some):
            name = pictures.file_name(told.name, picture.name)
            path = folder / f"{name}.png"
            if path in written:  # names that differ only in what a file system cannot hold
                path = folder / f"{name}-{len(written)}.png"
            path.write_bytes(picture.png)
            written[path] = None
    return list(written)


# -------------------------------------------------------------------------------------- the page


def _page(story: Story, drawn: Drawn, title: str) -> str:
    from skedasis import __version__

    # Everything that comes from a user is escaped: a column may be called <script>.
    environment = Environment(
        loader=PackageLoader("skedasis.report"), autoescape=True, undefined=StrictUndefined
    )
    anchors = {feature: f"feature-{k}" for k, feature in enumerate(story.features, 1)}
    cautions = [
        {"name": t.name, "text": text}
        for t in story.told
        for text in (words.secants(t), *t.warnings)
        if text
    ]
    return environment.get_template("page.html.j2").render(
        title=title,
        lead=_lead(story),
        version=__version__,
        models=[_model(t, drawn[t.name][""][0], anchors) for t in story.told],
        features=[_feature(story, drawn, f, anchors[f]) for f in story.features],
        left_out=listed(story.left_out, 20),
        kinds=_kinds(story),
        cautions=cautions,
        remarks=story.remarks,
        made=_made(story),
        versions=origins.versions(story),
    )


def _title(story: Story) -> str:
    quantities = list(dict.fromkeys(t.quantity for t in story.told))
    return f"What moves {listed(quantities)}"


def _lead(story: Story) -> str:
    names = listed([t.name for t in story.told])
    return (
        f"The effect of {count(len(story.features), 'feature')} in {names}, for whom it is not true, "
        f"and how sure that is: {count(story.rows, 'row')}, {count(story.columns, 'column')}."
    )


def _kinds(story: Story) -> dict[str, bool]:
    """Return which kinds of features there are to be told how to read."""
    effects = [e for t in story.told for e in t.rhale.values()]
    kinds = {e.about.feature.kind for e in effects}
    return {
        "numeric": any(e.levels is None for e in effects),
        "levels": any(e.levels is not None for e in effects),
        "nominal": "nominal" in kinds,
        "ordinal": "ordinal" in kinds,
        "missing": any(e.missing_point is not None for e in effects),
    }


def _made(story: Story) -> str:
    passes = [e.provenance for t in story.told for e in t.passes]
    rows = sum(p["model_rows"] + p["check_rows"] for p in passes)
    seconds = sum(p["seconds"] for p in passes)
    slopes = sum(p["slope_rows"] for p in passes)
    also = f" and for {count(slopes, 'row')} of slopes" if slopes else ""
    exact = "" if all(p["exact"] for p in passes) else " Some of it is approximate; see below."
    return (
        f"Every number rests on all {count(story.rows, 'row')}. The models were asked for "
        f"{count(rows, 'row')}{also} in {seconds:.1f} seconds.{exact} What the models say is explained, "
        "not the world: where a model errs, so do its effects."
    )


def _model(told: Told, overview: Picture, anchors: Mapping[str, str]) -> dict[str, Any]:
    sources = origins.slopes_from(told)
    return {
        "name": told.name,
        "model": told.model,
        "axis": told.axis,
        "quantity": told.rhale.provenance["quantity"],
        "note": told.note,
        "gist": words.gist(told),
        "ranking": words.ranking(told),
        "anchors": anchors,
        "overview": overview,
        "origins": origins.origins(told),
        "slopes": f"Local effects: {'; '.join(sources)}.{origins.walked(told)}" if sources else "",
    }


def _feature(story: Story, drawn: Drawn, feature: str, anchor: str) -> dict[str, Any]:
    effects: list[dict[str, Any]] = []
    unit = pictures.unit_of(story.told[0].rhale[feature])
    for told in story.told:
        rhale = told.rhale[feature]
        said = {
            "Effect": words.course(rhale, unit),
            "Rows": words.scatter(rhale),
            "Certainty": words.certainty(rhale, told.ale[feature]),
            "Missing": words.missing(rhale),
            "Order": words.order(rhale),
        }
        effects.append(
            {
                "model": told.name,
                "said": {about: text for about, text in said.items() if text},
                "figures": drawn[told.name][feature],
                "doubts": words.doubts(rhale),
                "parts": "bins" if rhale.levels is None else "levels",
                "tables": words.numbers(rhale, told.axis, unit or f"unit of {feature}"),
            }
        )
    return {"name": feature, "unit": unit, "anchor": anchor, "effects": effects}
