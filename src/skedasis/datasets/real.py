"""Real tables, none of which is part of the package: `load` finds or fetches them.

The files' columns are kept as they are, missing values and zeros that stand for missing ones too.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import importlib.util
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skedasis.errors import DataError, explained

TIMEOUT = 15.0
"""Seconds that a download may wait for an answer."""

Columns: TypeAlias = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table to fit a model on and to explain.

    Parameters
    ----------
    name : str
    X : pandas.DataFrame or ndarray, shape (n, d)
        A data frame where pandas is installed; else an array, of objects if a column holds text.
    y : ndarray, shape (n,)
    feature_names : tuple of str, length d
    units : mapping of str to str
        Units of features and target, as far as they are known.
    target : str
        Name of what y holds.
    description : str
        Where the data come from, and what to mind.
    """

    name: str
    X: Any = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    feature_names: tuple[str, ...]
    units: Mapping[str, str] = field(repr=False)
    target: str
    description: str = field(repr=False)


@dataclass(frozen=True)
class _Source:
    """How to find a file, how to know that it is the right one, and what its columns are."""

    sha256: str
    target: str
    description: str
    units: Mapping[str, str]
    leave_out: tuple[str, ...] = ()
    url: str | None = None
    header: str | None = None
    """The first line to put in place of the public file's."""


_EFFECTOR = "https://raw.githubusercontent.com/givasile/effector/v0.1.12/data"

_SOURCES: dict[str, _Source] = {
    "california_housing": _Source(
        sha256="8a3727f4cf54ac1a327f69b1d5b4db54c5834ea81c6e4efc0d163300022a685e",
        target="median_house_value",
        description="Block groups of the 1990 census (Pace & Barry 1997). total_bedrooms misses "
        "207 values; the target is capped at 500001; ocean_proximity is text.",
        units={
            "longitude": "°",
            "latitude": "°",
            "housing_median_age": "years",
            "median_income": "10,000 USD",
            "median_house_value": "USD",
        },
        url="https://raw.githubusercontent.com/ageron/handson-ml2/master/datasets/housing/housing.csv",
    ),
    "concrete": _Source(
        sha256="c2690f237285ede14fa54fe05dbe6a83ce510f65de6a8c5f8cafd6cefd9f38e2",
        target="compressive_strength",
        description="Mixtures of concrete and their strength (UCI data set 165, Yeh 1998, CC BY "
        "4.0). 25 rows are exact duplicates; slag, fly ash and superplasticizer are often 0.",
        units={
            **dict.fromkeys(
                (
                    "cement",
                    "blast_furnace_slag",
                    "fly_ash",
                    "water",
                    "superplasticizer",
                    "coarse_aggregate",
                    "fine_aggregate",
                ),
                "kg/m³",
            ),
            "age": "days",
            "compressive_strength": "MPa",
        },
    ),
    "pima_diabetes": _Source(
        sha256="c82fe0831fc83705287c407c198fc53917a3a20fce6c9ffbe9d2dc6fb6514713",
        target="class",
        description="Diabetes among Pima women (NIDDK). Zeros in plas, pres, skin, insu and mass "
        "stand for missing values; they are left as they are.",
        units={
            "plas": "mg/dL",
            "pres": "mmHg",
            "skin": "mm",
            "insu": "mU/L",
            "mass": "kg/m²",
            "age": "years",
        },
        url=f"{_EFFECTOR}/Diabetes-Dataset/diabetes.csv",
        header="preg,plas,pres,skin,insu,mass,pedi,age,class",
    ),
    "bike_sharing_hour": _Source(
        sha256="b03a2d02e8c10f435c43c7f0b358b7e34a003afea53dbc37f0183f2763295133",
        target="cnt",
        description="Bicycles rented in each hour of two years in Washington (UCI data set 275, "
        "Fanaee-T & Gama 2013, CC BY 4.0). Weather is scaled. casual and registered, which "
        "add up to the target, are left out.",
        units={"hr": "h", "cnt": "bicycles/h"},
        leave_out=("instant", "dteday", "casual", "registered"),
        url=f"{_EFFECTOR}/Bike-Sharing-Dataset/hour.csv",
    ),
    "munich_rent_2003": _Source(
        sha256="3c78533584f815bc11e1c2993bd4a4dd8365477da89ed974ee613342d35cc2b3",
        target="nm",
        description="Munich's rent index 2003 (LMU Munich data archive). bez is the number of a "
        "district. nmqm, the rent per square metre, is left out.",
        units={"nm": "EUR/month", "wfl": "m²"},
        leave_out=("nmqm",),
    ),
    "credit": _Source(
        sha256="43c83a4630f1995f00b456becc4a84219616a2f2bae445e86c706264cc9050a4",
        target="Status",
        description="Loans that went well and loans that did not (gastonstat/CreditScoring on "
        "GitHub). Home, Marital, Records and Job are text; seven columns miss values.",
        units={"Age": "years", "Seniority": "years", "Time": "months"},
    ),
}


def names() -> tuple[str, ...]:
    """Return the names that `load` knows.

    Examples
    --------
    >>> from skedasis.datasets import names
    >>> names()[:3]
    ('california_housing', 'concrete', 'pima_diabetes')
    """
    return tuple(_SOURCES)


def load(name: str, *, download: bool = True) -> Dataset:
    """Load a real table by name.

    The file ``<name>.csv`` is looked for in the folder that the environment variable
    ``SKEDASIS_DATA`` names, then in ``../shared/data`` as seen from the working directory and from
    the project's root, then among earlier downloads (``~/.cache/skedasis``). Where it is public as
    a CSV file it is fetched at last, into the first or the last of these. Wherever it comes from,
    it must have the checksum that the documentation's numbers rest on.

    Parameters
    ----------
    name : str
        One of `names()`.
    download : bool
        Whether a missing file may be fetched.

    Examples
    --------
    >>> from skedasis.datasets import load
    >>> load("boston")
    Traceback (most recent call last):
    ...
    skedasis.errors.DataError: name: got 'boston', expected one of ['california_housing', ...
    """
    if name not in _SOURCES:
        raise DataError(
            explained("name", repr(name), f"one of {list(names())}", "Choose one of them")
        )
    source = _SOURCES[name]
    columns = _parse(_content(name, source, download))
    y = columns.pop(source.target)
    for column in source.leave_out:
        del columns[column]
    return _dataset(name, columns, y, source.units, source.target, source.description)


def load_diabetes() -> Dataset:
    """Load scikit-learn's diabetes data, 442 rows and 10 features, in the units of measurement.

    The source (Efron et al. 2004) names no units for the blood serum; by their size they are the
    American ones.

    Examples
    --------
    >>> from skedasis.datasets import load_diabetes
    >>> diabetes = load_diabetes()
    >>> diabetes.X.shape, diabetes.units["bmi"]
    ((442, 10), 'kg/m²')
    """
    if importlib.util.find_spec("sklearn") is None:
        install = "Install it: pip install scikit-learn"
        raise DataError(
            explained("load_diabetes", "no scikit-learn", "scikit-learn's copy", install)
        )
    from sklearn import datasets as bundled

    raw: Any = bundled.load_diabetes(scaled=False)
    serum = {"s1": "mg/dL", "s2": "mg/dL", "s3": "mg/dL", "s6": "mg/dL"}
    return _dataset(
        "diabetes",
        {column: raw.data[:, j] for j, column in enumerate(raw.feature_names)},
        raw.target,
        {"age": "years", "bmi": "kg/m²", "bp": "mmHg", **serum},
        "progression",
        "Progression of diabetes one year later (Efron et al. 2004). sex is coded 1 and 2; s1 "
        "total cholesterol, s2 LDL, s3 HDL, s4 total cholesterol / HDL, s5 log of triglycerides "
        "(possibly), s6 blood sugar.",
    )


def california_rhale(standardize: bool = True) -> Dataset:
    """Load California housing as the RHALE paper prepares it: 19549 rows, 8 features.

    Rows with a missing value are dropped, then, once, rows with a feature more than three standard
    deviations from its mean (the paper's formula lacks the 3 that its text has).

    Parameters
    ----------
    standardize : bool
        Whether features and target are then scaled to mean 0 and standard deviation 1 (ddof 0), as
        in the paper.

    Notes
    -----
    The paper's table gives the target's mean and standard deviation before the outliers are
    dropped.
    """
    raw = load("california_housing")
    numeric = [j for j, column in enumerate(raw.feature_names) if column != "ocean_proximity"]
    features = tuple(raw.feature_names[j] for j in numeric)
    table = np.column_stack([np.asarray(raw.X)[:, numeric].astype(float), raw.y])
    table = table[~np.isnan(table).any(axis=1)]
    scores = np.abs(table - table.mean(axis=0)) / table.std(axis=0)
    table = table[(scores[:, :-1] <= 3.0).all(axis=1)]
    units = dict(raw.units)
    if standardize:
        table = (table - table.mean(axis=0)) / table.std(axis=0)
        units = dict.fromkeys((*features, raw.target), "sd")
    columns: Columns = {column: table[:, j] for j, column in enumerate(features)}
    note = f"{raw.description} Prepared as in the RHALE paper (Gkolemis et al. 2023, appendix B.3)."
    return _dataset("california_rhale", columns, table[:, -1], units, raw.target, note)


def _dataset(
    name: str,
    columns: Columns,
    y: NDArray[Any],
    units: Mapping[str, str],
    target: str,
    description: str,
) -> Dataset:
    if importlib.util.find_spec("pandas") is not None:
        import pandas as pd

        table: Any = pd.DataFrame(columns)
    else:
        table = np.column_stack(list(columns.values()))
    return Dataset(name, table, y, tuple(columns), units, target, description)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "skedasis"


def folders() -> list[Path]:
    """Return where files are looked for, in order."""
    chosen = os.environ.get("SKEDASIS_DATA")
    beside = [root.parent / "shared" / "data" for root in (Path.cwd(), Path(__file__).parents[3])]
    return [*([Path(chosen)] if chosen else []), *beside, _cache()]


def _content(name: str, source: _Source, download: bool) -> str:
    """Return the file's text, found or fetched."""
    looked_in = folders()
    for folder in looked_in:
        path = folder / f"{name}.csv"
        if path.is_file():
            return _checked(path.read_bytes(), source, str(path), "Remove or replace it")
    if download and source.url is not None:
        return _fetch(name, source, source.url)
    raise DataError(
        explained(
            f"load({name!r})",
            f"no {name}.csv in {', '.join(map(str, looked_in))}",
            f"a CSV file with sha256 {source.sha256[:12]}…",
            "Put it there, or set SKEDASIS_DATA to the folder that holds it",
        )
    )


def _fetch(name: str, source: _Source, url: str) -> str:
    """Download a public file, bring it into the form that the checksum is of, and keep it."""
    from http.client import HTTPException
    from urllib.request import urlopen

    fix = f"Put it, as {name}.csv, into the folder that SKEDASIS_DATA names"
    try:
        with urlopen(url, timeout=TIMEOUT) as answer:  # noqa: S310 - the addresses above, all https
            raw: bytes = answer.read()
    except (OSError, HTTPException) as error:
        raise DataError(
            explained(f"load({name!r})", f"{error}", f"an answer from {url}", fix)
        ) from error
    content = raw.replace(b"\r\n", b"\n")
    if source.header is not None:
        content = source.header.encode() + b"\n" + content.partition(b"\n")[2]
    text = _checked(content, source, url, fix)
    folder = Path(os.environ.get("SKEDASIS_DATA") or _cache())
    # Where nothing can be written, the next call fetches the file again.
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.csv").write_bytes(content)
    return text


def _checked(content: bytes, source: _Source, where: str, fix: str) -> str:
    found = hashlib.sha256(content).hexdigest()
    if found != source.sha256:
        raise DataError(explained(where, f"sha256 {found[:12]}…", f"{source.sha256[:12]}…", fix))
    return content.decode("utf-8")


def _parse(text: str) -> Columns:
    """Return the columns of a CSV file, in its order."""
    header, *rows = csv.reader(io.StringIO(text))
    return {
        name: _typed(cells) for name, cells in zip(header, zip(*rows, strict=True), strict=True)
    }


def _typed(cells: tuple[str, ...]) -> NDArray[Any]:
    """Return integers, else floats, else text; an empty cell is NaN or None."""
    try:
        return np.array([int(cell) for cell in cells])
    except ValueError:
        pass
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return np.array([cell or None for cell in cells], dtype=object)
