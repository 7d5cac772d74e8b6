"""Real tables: `load` finds or downloads them, because they are not part of the package."""

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
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skedasis._arguments import check_name
from skedasis._files import write_bytes
from skedasis.errors import DataError

if TYPE_CHECKING:
    from pandas import DataFrame

TIMEOUT = 15.0
"""Seconds that a download waits for a response."""

ValueArray: TypeAlias = NDArray[np.generic]
RawColumns: TypeAlias = dict[str, ValueArray]


@dataclass(frozen=True, eq=False)
class RealDataset:
    """A table to fit a model on and to explain.

    Parameters
    ----------
    name : str
    X : pandas.DataFrame or ndarray, shape (n, d)
        A data frame if pandas is installed; else an array, of objects if a column has text.
    y : ndarray, shape (n,)
    feature_names : tuple of str, length d
    units : mapping of str to str
        Units of features and target, as far as they are known.
    target : str
        Name of the target y.
    description : str
        Origin and peculiarities of the data.
    """

    name: str
    X: DataFrame | ValueArray = field(repr=False)
    y: ValueArray = field(repr=False)
    feature_names: tuple[str, ...]
    units: Mapping[str, str] = field(repr=False)
    target: str
    description: str = field(repr=False)


@dataclass(frozen=True)
class _Source:
    """Description of a file: its checksum, its columns, and where it can be downloaded."""

    sha256: str
    target: str
    description: str
    units: Mapping[str, str]
    leave_out: tuple[str, ...] = ()
    url: str | None = None
    header: str | None = None
    """The line that replaces the first line of the downloaded file."""
    codes: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """By column, the texts that replace the cells of the downloaded file; rows of an unknown target are dropped."""
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """By column, the cells of the downloaded file that stand for a missing value."""


def _numbered(*texts: str) -> dict[str, str]:
    """Return texts by their numbers from 1; 0, which is not among them, is missing."""
    return {str(number): text for number, text in enumerate(texts, 1)} | {"0": ""}


_EFFECTOR = "https://raw.githubusercontent.com/givasile/effector/v0.1.12/data"

_SOURCES: dict[str, _Source] = {
    "california_housing": _Source(
        sha256="8a3727f4cf54ac1a327f69b1d5b4db54c5834ea81c6e4efc0d163300022a685e",
        target="median_house_value",
        description="Block groups of the 1990 census (Pace & Barry 1997). total_bedrooms has 207 "
        "missing values; the target is capped at 500001; ocean_proximity is text.",
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
        "stand for missing values; they are not replaced.",
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
        description="Munich's rent index 2003 (LMU Munich data archive). bez is the number of the "
        "district. nmqm, the rent per square metre, is left out.",
        units={"nm": "EUR/month", "wfl": "m²"},
        leave_out=("nmqm",),
    ),
    "credit": _Source(
        sha256="43c83a4630f1995f00b456becc4a84219616a2f2bae445e86c706264cc9050a4",
        target="Status",
        description="Credit risk of loans, good or bad (gastonstat/CreditScoring on GitHub). Home, "
        "Marital, Records and Job are text; seven columns have missing values.",
        units={"Age": "years", "Seniority": "years", "Time": "months"},
        url="https://raw.githubusercontent.com/gastonstat/CreditScoring/master/CreditScoring.csv",
        header="Status,Seniority,Home,Time,Age,Marital,Records,Job,Expenses,Income,Assets,Debt,"
        "Amount,Price",
        # As in R's package modeldata: names for codes, and incomes of 0 are missing.
        codes={
            "Status": {"1": "good", "2": "bad"},
            "Home": _numbered("rent", "owner", "priv", "ignore", "parents", "other"),
            "Marital": _numbered("single", "married", "widow", "separated", "divorced"),
            "Records": _numbered("no", "yes"),
            "Job": _numbered("fixed", "partime", "freelance", "others"),
        },
        missing={"Income": ("0", "99999999"), "Assets": ("99999999",), "Debt": ("99999999",)},
    ),
}


def names() -> tuple[str, ...]:
    """Return the names of the tables that `load` provides.

    Examples
    --------
    >>> from skedasis.datasets import names
    >>> names()[:3]
    ('california_housing', 'concrete', 'pima_diabetes')
    """
    return tuple(_SOURCES)


def load(name: str, *, download: bool = True) -> RealDataset:
    """Load a real table by name.

    The file ``<name>.csv`` is searched in the folder of the environment variable ``SKEDASIS_DATA``, then in
    ``../shared/data`` relative to the working directory and to the project's root, then among earlier downloads
    (``~/.cache/skedasis``). If it is not found and is publicly available as a CSV file, it is downloaded into the
    folder of ``SKEDASIS_DATA``, or else into the cache. The file must have the checksum of the version that the
    documentation uses.

    Parameters
    ----------
    name : str
        One of `names()`.
    download : bool
        Whether a missing file may be downloaded.

    Raises
    ------
    DataError
        For an unknown name, a file that is not found or cannot be downloaded, and a wrong checksum.

    Examples
    --------
    >>> from skedasis.datasets import load
    >>> load("boston")
    Traceback (most recent call last):
    ...
    skedasis.errors.DataError: name: got 'boston', expected one of ['california_housing', ...
    """
    source = _SOURCES[check_name("name", name, names(), "Use one of them")]
    columns = _parse(_content(name, source, download))
    y = columns.pop(source.target)
    for column in source.leave_out:
        del columns[column]
    return _dataset(name, columns, y, source.units, source.target, source.description)


def load_diabetes() -> RealDataset:
    """Load scikit-learn's diabetes data, 442 rows and 10 features, in the original units.

    The source (Efron et al. 2004) does not give units for the blood serum; their magnitude suggests mg/dL.

    Examples
    --------
    >>> from skedasis.datasets import load_diabetes
    >>> diabetes = load_diabetes()
    >>> diabetes.X.shape, diabetes.units["bmi"]
    ((442, 10), 'kg/m²')
    """
    if importlib.util.find_spec("sklearn") is None:
        install = "Install it with pip install scikit-learn"
        raise DataError(
            "load_diabetes", "no scikit-learn", "scikit-learn, which has the data", install
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


def california_rhale(standardize: bool = True) -> RealDataset:
    """Load California housing as the RHALE paper prepares it: 19549 rows, 8 features.

    Rows with a missing value are dropped, then (once) rows in which a feature is more than three standard deviations
    from its mean. The paper's text has this factor 3, its formula does not.

    Parameters
    ----------
    standardize : bool
        Whether features and target are then scaled to mean 0 and standard deviation 1 (ddof 0), as in the paper.

    Notes
    -----
    The paper's table gives the target's mean and standard deviation before outliers are dropped.
    """
    raw = load("california_housing")
    numeric = [j for j, column in enumerate(raw.feature_names) if column != "ocean_proximity"]
    features = tuple(raw.feature_names[j] for j in numeric)
    table: NDArray[np.float64] = np.column_stack(
        [np.asarray(raw.X)[:, numeric].astype(float), raw.y]
    ).astype(float)
    table = table[~np.isnan(table).any(axis=1)]
    scores = np.abs(table - table.mean(axis=0)) / table.std(axis=0)
    table = table[(scores[:, :-1] <= 3.0).all(axis=1)]
    units = dict(raw.units)
    if standardize:
        table = (table - table.mean(axis=0)) / table.std(axis=0)
        units = dict.fromkeys((*features, raw.target), "sd")
    columns: RawColumns = {column: table[:, j] for j, column in enumerate(features)}
    note = f"{raw.description} Prepared as in the RHALE paper (Gkolemis et al. 2023, appendix B.3)."
    return _dataset("california_rhale", columns, table[:, -1], units, raw.target, note)


def _dataset(
    name: str,
    columns: RawColumns,
    y: ValueArray,
    units: Mapping[str, str],
    target: str,
    description: str,
) -> RealDataset:
    if importlib.util.find_spec("pandas") is not None:
        import pandas as pd

        table = pd.DataFrame(columns)
    else:
        table = np.column_stack(list(columns.values()))
    return RealDataset(name, table, y, tuple(columns), units, target, description)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "skedasis"


def folders() -> list[Path]:
    """Return the folders in which files are searched, in order."""
    chosen = os.environ.get("SKEDASIS_DATA")
    shared = [root.parent / "shared" / "data" for root in (Path.cwd(), Path(__file__).parents[3])]
    return list(dict.fromkeys([*([Path(chosen)] if chosen else []), *shared, _cache()]))


def _content(name: str, source: _Source, download: bool) -> str:
    """Return the text of a file, from a folder or downloaded."""
    searched = folders()
    for folder in searched:
        path = folder / f"{name}.csv"
        if path.is_file():
            return _decode(path.read_bytes(), source, str(path), "Remove or replace it")
    if download and source.url is not None:
        return _download(name, source, source.url)
    raise DataError(
        f"load({name!r})",
        f"no {name}.csv in {', '.join(map(str, searched))}",
        f"a CSV file with sha256 {source.sha256[:12]}…",
        "Put it there, or set SKEDASIS_DATA to the folder that contains it",
    )


def _download(name: str, source: _Source, url: str) -> str:
    """Download a public file, normalise line ends and header, verify the checksum, and cache it."""
    from http.client import HTTPException
    from urllib.request import urlopen

    fix = f"Put {name}.csv into a folder, and set SKEDASIS_DATA to it"
    try:
        with urlopen(url, timeout=TIMEOUT) as response:  # noqa: S310 - the URLs above, all https
            raw: bytes = response.read()
    except (OSError, HTTPException) as error:
        raise DataError(f"load({name!r})", f"{error}", f"a response from {url}", fix) from error
    content = raw.replace(b"\r\n", b"\n")
    if source.header is not None:
        content = source.header.encode() + b"\n" + content.partition(b"\n")[2]
    content = _decoded_cells(content, source)
    text = _decode(content, source, url, fix)
    folder = Path(os.environ.get("SKEDASIS_DATA") or _cache())
    # If the folder is not writable, the next call downloads the file again.
    with contextlib.suppress(OSError):
        write_bytes(folder / f"{name}.csv", content, f"load({name!r})")
    return text


def _decoded_cells(content: bytes, source: _Source) -> bytes:
    """Replace the codes of a downloaded file by texts, and what stands for missing values by nothing."""
    if not source.codes:
        return content
    # What is not text has the wrong checksum.
    header, *rows = csv.reader(io.StringIO(content.decode("utf-8", "replace")))
    lines = [header]
    for row in rows:
        cells = [
            ""
            if cell in source.missing.get(name, ())
            else source.codes.get(name, {}).get(cell, cell)
            for name, cell in zip(header, row, strict=False)
        ]
        if cells[header.index(source.target)] in source.codes[source.target].values():
            lines.append(cells)
    return "".join(f"{','.join(line)}\n" for line in lines).encode()


def _decode(content: bytes, source: _Source, where: str, fix: str) -> str:
    """Return the content as text; raise if the checksum is wrong."""
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != source.sha256:
        raise DataError(where, f"sha256 {sha256[:12]}…", f"{source.sha256[:12]}…", fix)
    return content.decode("utf-8")


def _parse(text: str) -> RawColumns:
    """Return the columns of a CSV file, in the file's order."""
    header, *rows = csv.reader(io.StringIO(text))
    return {
        name: _typed(cells) for name, cells in zip(header, zip(*rows, strict=True), strict=True)
    }


def _typed(cells: tuple[str, ...]) -> ValueArray:
    """Return cells as integers, else as floats, else as text; an empty cell is NaN or None."""
    try:
        return np.array([int(cell) for cell in cells])
    except ValueError:
        pass
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return np.array([cell or None for cell in cells], dtype=object)
