"""`--where`: rows by a condition are those of another library's SQL, of data in memory and of files alike."""

from __future__ import annotations

import datetime as dt
import re
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skedasis.cli.parquet import ParquetTable
from skedasis.data import where
from skedasis.data.readers import FileTable, read_table
from skedasis.errors import DataError, UnsupportedError
from skedasis.stream.parquet import parquet

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")

FRAME = pd.DataFrame(
    {
        "yr": [0, 1, 1, 0],
        "temp": [0.1, np.nan, 0.7, 0.9],
        "town": ["a", None, "b", "c"],
        "hour of day": [1, 2, 3, 4],
        'q"x': [1, 2, 3, 4],
        "sold": pd.to_datetime(["2024-01-01 00:00", "2024-06-01 12:30", None, "2025-01-01 00:00"]),
        "flag": [True, False, True, False],
        "é": [1, 2, 3, 4],
        "zone": pd.to_datetime(["2024-01-01 00:30"] * 3 + [None]).tz_localize("America/New_York"),
        "class": pd.Categorical(["y", "x", None, "y"], ["y", "x"]),
        "level": pd.Categorical(["low", "high", "mid", None], ["low", "mid", "high"], ordered=True),
        "code": pd.Categorical([10, 20, 10, None]),
        "big": pd.array([2**53, 2**53 + 1, None, 1], dtype="Int64"),
        "day": [dt.date(2024, 1, k) for k in (1, 2, 3, 4)],
    }
)


def in_files(table, folder):
    """Return a table as one that is read in chunks: two files with row groups of a few rows."""
    for k, part in enumerate((table.slice(0, 3), table.slice(3))):
        pq.write_table(part, folder / f"{k}.parquet", row_group_size=2)
    return ParquetTable.of(parquet(folder), str(folder))


def every_kind(frame, folder):
    """Return a data frame of pandas as tables of each library, and of files."""
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    kinds = {
        "pandas": frame,
        "polars": pl.from_pandas(frame.astype({"code": "Int64"})),
        "pyarrow": arrow,
    }
    found = {kind: FileTable(data, tuple(frame)) for kind, data in kinds.items()}
    return {**found, "files": in_files(arrow, folder)}


def selected(table, condition):
    """Return the numbers of the rows, from a column that has them."""
    try:
        chosen = table.where(condition, "--where")
    except DataError as error:
        if "which none of" in str(error):
            return []
        raise
    if isinstance(chosen, ParquetTable):
        return [n for _, rows in chosen.source.chunks(3) for n in rows.column("_row").to_pylist()]
    return [int(n) for n in chosen.column("_row")]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    frame = FRAME.assign(_row=range(len(FRAME)))
    return every_kind(frame, tmp_path_factory.mktemp("files"))


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("yr = 1", [1, 2]),
        ("yr == 1", [1, 2]),
        ("yr <> 1", [0, 3]),
        ("temp < 0.8", [0, 2]),
        ("NOT temp < 0.8", [3]),
        ("temp <> 0.7", [0, 3]),
        ("temp > 0.8 OR NOT temp > 0.8", [0, 2, 3]),
        ("temp IS NULL", [1]),
        ("isnan(temp)", []),
        ("temp = 'nan'", []),
        ("town IS NULL OR town = 'c'", [1, 3]),
        ("town IN ('a', 'b')", [0, 2]),
        ("town NOT IN ('a')", [2, 3]),
        ("town LIKE '%b%' OR upper(town) = 'A'", [0, 2]),
        ("temp BETWEEN 0.1 AND 0.7", [0, 2]),
        ('"hour of day" % 2 = 0 AND é > 1', [1, 3]),
        ('"q""x" >= 3', [2, 3]),
        ("sold >= '2024-06-01'", [1, 3]),
        ("sold = '2024-06-01T12:30'", [1]),
        ("year(sold) = 2024", [0, 1]),
        ("zone = '2024-01-01 00:30'", [0, 1, 2]),
        ("zone < '2024-01-01 00:30'", []),
        ("zone IS NULL", [3]),
        ("day > '2024-01-02'", [2, 3]),
        ("flag", [0, 2]),
        ("NOT flag AND yr = 1", [1]),
        ("class = 'y'", [0, 3]),
        ("class > 'x'", [0, 3]),
        ("class IS NULL", [2]),
        ("level < 'low'", [1]),
        ("code > 15", [1]),
        (f"big = {2**53 + 1}", [1]),
        ("yr * 2 - 1 > 0", [1, 2]),
        ("yr < é - 2", [3]),
        ("yr = 99999999999999999999", []),
        ("\n  yr\n= 1 -- a comment", [1, 2]),
    ],
)
def test_a_condition_selects_the_same_rows_of_every_library_and_of_files(tables, condition, rows):
    for kind, table in tables.items():
        assert selected(table, condition) == rows, kind


def test_nan_is_missing_wherever_it_is_stored(tmp_path):
    table = pa.table({"x": [1.0, float("nan"), None, -1.0], "_row": range(4)})
    assert pa.compute.is_nan(table["x"]).to_pylist() == [False, True, None, False]
    for one in (FileTable(pl.from_arrow(table), ("x", "_row")), in_files(table, tmp_path)):
        assert selected(one, "x IS NULL") == [1, 2]
        assert selected(one, "x > 0") == [0]
        assert selected(one, "NOT x > 0") == [3]
    X = np.array([[1.0, 0], [np.nan, 1], [-1.0, 2]])
    assert selected(FileTable(X, ("x", "_row")), "x IS NULL OR x < 0") == [1, 2]


def test_categories_and_zones_of_polars_are_text_and_local_times():
    town = pl.Series(["b", "a", None], dtype=pl.Enum(["b", "a"]))
    at = [dt.datetime(2024, 7, 1, hour, tzinfo=dt.UTC) for hour in (22, 23, 23)]
    times = pl.Series(at, dtype=pl.Datetime("ms", "UTC")).dt.convert_time_zone("Europe/Berlin")
    frame = pl.DataFrame({"town": town, "sold": times, "_row": [0, 1, 2]})
    table = FileTable(frame, tuple(frame.columns))
    assert selected(table, "town > 'a'") == [0]
    assert selected(table, "sold = '2024-07-02 01:00'") == [1, 2]
    objects = FileTable(frame.to_pandas().astype({"sold": object}), tuple(frame.columns))
    assert selected(objects, "sold = '2024-07-02 00:00'") == [0]


def test_the_same_rows_of_csv_and_of_parquet(tmp_path):
    r = np.random.default_rng(0)
    frame = pd.DataFrame({"x": r.normal(size=500), "t": r.choice(["u", "v"], 500)})
    frame["sold"] = pd.date_range("2024-01-01", periods=500, freq="h")
    frame["_row"] = range(500)
    frame.loc[::7, "x"] = np.nan
    frame.loc[::5, "t"] = None
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=64)
    condition = "(x > 0 OR t IS NULL) AND sold >= '2024-01-03' AND NOT t = 'v'"
    late = frame["sold"] >= "2024-01-03"
    rows = frame.index[late & (frame["t"] == "u") & (frame["x"] > 0)].tolist()
    assert len(rows) > 50
    for path in ("rows.csv", "rows.parquet"):
        assert selected(read_table(tmp_path / path), condition) == rows
    chunks = ParquetTable.of(parquet(tmp_path / "rows.parquet"), str(tmp_path / "rows.parquet"))
    assert selected(chunks, condition) == rows
    assert chunks.where(condition, "--where").take([3, 0]).column("_row").tolist() == [
        rows[3],
        rows[0],
    ]


def test_files_are_filtered_a_batch_at_a_time(tmp_path, monkeypatch):
    n = 300_000
    pq.write_table(pa.table({"x": np.arange(n), "y": np.ones(n)}), tmp_path / "a.parquet")
    sizes = []
    rows = where.RowCondition.rows
    monkeypatch.setattr(
        where.RowCondition, "rows", lambda own, table: sizes.append(table.shape) or rows(own, table)
    )
    table = ParquetTable.of(parquet(tmp_path), str(tmp_path)).where("x % 3 = 0", "--where")
    assert len(table) == n // 3
    # The first pass counts rows, from the column of the condition alone.
    assert sum(size for size, _ in sizes) == n
    assert max(size for size, _ in sizes) <= 131_072
    assert {columns for _, columns in sizes} == {1}


# --- agreement with Polars' SQL on random conditions and data ---------------------------------------

values = st.one_of(st.none(), st.integers(-4, 4), st.sampled_from([-0.5, 0.25, 1.5]))
words = st.one_of(st.none(), st.sampled_from(["", "x", "y", "Z", "it''s"]))
signs = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
numeric = st.recursive(
    st.sampled_from(["a", "b", "0", "1.5", "3"]),
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner),
    max_leaves=3,
)
comparison = st.one_of(
    st.builds("{} {} {}".format, st.sampled_from("ab"), signs, numeric),
    st.builds("a BETWEEN {} AND {}".format, st.integers(-3, 3), numeric),
    st.builds("t {} '{}'".format, signs, words.filter(bool)),
    st.builds("a {}IN ({}, {})".format, st.sampled_from(["", "NOT "]), *[st.integers(-3, 3)] * 2),
    st.builds("{} IS {}NULL".format, st.sampled_from("abt"), st.sampled_from(["", "NOT "])),
)
conditions = st.recursive(
    comparison,
    lambda inner: st.one_of(
        st.builds("NOT ({})".format, inner),
        st.builds("({}) {} ({})".format, inner, st.sampled_from(["AND", "OR"]), inner),
    ),
    max_leaves=5,
)


@settings(max_examples=60)
@given(conditions, st.lists(st.tuples(values, values, words), min_size=1, max_size=8))
def test_random_conditions_select_the_rows_that_polars_selects(text, data):
    schema = {"a": pl.Float64, "b": pl.Float64, "t": pl.String}
    frame = pl.DataFrame(data, schema=schema, orient="row")
    expected = frame.with_row_index("_row").filter(pl.sql_expr(text))["_row"].to_list()
    condition = where.parse(text, list(schema))
    for table in (frame, frame.to_pandas()):
        assert condition.rows(table).tolist() == expected
    arrow = frame.to_arrow()
    parts = [(k, condition.rows(arrow.slice(k, 3))) for k in range(0, len(data), 3)]
    assert [k + n for k, rows in parts for n in rows.tolist()] == expected


# --- what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("yr ==", "=="),
        ("", "syntax error"),
        ("town = 1", "Could not convert string 'a'"),
        ("sold > 'soon'", "soon.*YYYY-MM-DD"),
        ("yr && temp", "&&"),
        ("hum IS NOT missing", "missing"),
        ("tmep > 1", "no column 'tmep'.*Did you mean 'temp'"),
        ("TEMP > 1", "no column 'TEMP'.*Did you mean 'temp'"),
        ("town = south", "no column 'south'.*Text stands between single"),
        ('town = "a"', "no column 'a'"),
        ("rows.yr = 1", "no column 'rows.yr'"),
        ("1 = 1", "names no column"),
        ("sum(yr) > 1", "aggregates"),
        ("row_number() OVER (ORDER BY yr) > 1", "more than a condition"),
        ("random() < 0.5 AND yr = 1", "random is not the same each time"),
        ("sold < today()", "today is not the same each time"),
        ("sold > ago(INTERVAL 1 DAY)", "ago"),
        ("pg_sleep(9) IS NULL AND yr = 1", "pg_sleep"),
        ("unknown(yr) = 1", "unknown"),
        ("yr = 1\udc80", "it is no Unicode"),
        ("0 <= yr < 5", "0 <= yr < 5"),
    ],
)
def test_a_mistake_names_the_condition_and_the_columns(tables, condition, message):
    for kind in ("pandas", "files"):
        with pytest.raises(DataError, match=message) as caught:
            tables[kind].where(condition, "--where")
        said = str(caught.value)
        assert said.startswith(f"--where: got {condition!r} (")
        assert "expected one SQL condition on 'yr', 'temp', 'town', 'hour of day'" in said


@pytest.mark.parametrize(
    "condition",
    [
        "yr IN (SELECT 1)",
        "yr = (SELECT max(column0) FROM read_csv('secret.csv'))",
        "EXISTS (FROM read_csv('secret.csv'))",
        "yr = 1 OR yr IN (SELECT yr FROM rows)",
        "yr = ANY (SELECT 1)",
        "read_csv('secret.csv') = 1",
        "yr = 1 UNION SELECT * FROM read_csv('secret.csv')",
        "yr = 1 EXCEPT SELECT 1",
        "yr = 1; COPY (SELECT 1) TO 'written.csv'",
        "yr = 1; SELECT 1",
        "yr = 1; SET enable_external_access = true",
        "yr = 1 ORDER BY temp",
        "yr = 1 LIMIT 1",
        "yr = 1 GROUP BY yr",
        "yr = 1 QUALIFY true",
        "yr = 1) OR (yr = 0",
        "COLUMNS(*) > 0 AND yr = 1",
        "yr = ?",
        "yr = $1",
        "yr = 1 AND #2 < 2",
        "get_block_size('memory') > yr",
        "getenv('HOME') = '' AND yr = 1",
        "yr" + " + 1" * 900 + " = 1",
        "yr" + " + 1" * 2400 + " = 1",
    ],
)
def test_what_is_no_condition_is_refused_and_no_file_is_touched(
    tables, condition, tmp_path, monkeypatch
):
    (tmp_path / "secret.csv").write_text("1\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="--where"):
        tables["pandas"].where(condition, "--where")
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]


def test_small_integers_and_half_floats_do_not_overflow():
    rows = pa.table({"u8": pa.array([250, 1], pa.uint8()), "half": np.float16([0.5, np.nan])})
    table = FileTable(rows.append_column("_row", pa.array([0, 1])), ("u8", "half", "_row"))
    assert selected(table, "u8 + 10 > 255 AND half * 200000 = 100000") == [0]


def test_the_engine_itself_reads_no_file_and_keeps_its_settings(tmp_path):
    path = tmp_path / "secret.csv"
    path.write_text("1\n")
    local_frame = FRAME  # noqa: F841 - a variable that DuckDB finds by default
    assert duckdb.sql(f"FROM read_csv('{path}')").fetchall() == [(1,)]
    with where._database().cursor() as connection:
        for statement in (f"FROM read_csv('{path}')", f"FROM '{path}'", f"ATTACH '{path}' AS x"):
            with pytest.raises(duckdb.PermissionException):
                connection.execute(statement)
        with pytest.raises(duckdb.CatalogException):
            connection.execute("FROM local_frame")
        with pytest.raises(duckdb.InvalidInputException, match="locked"):
            connection.execute("SET enable_external_access = true")


@settings(max_examples=100)
@given(st.text("yrtemp =<>!&|~()[]'`\"0123.e+-*/%,_:;\\@", max_size=30))
def test_any_text_is_a_condition_or_refused(text):
    try:
        chosen = FileTable(FRAME, tuple(FRAME)).where(text, "--where")
    except DataError:
        return
    assert 0 < len(chosen) <= len(FRAME)


def test_names_that_differ_in_case_alone_are_used_one_at_a_time():
    frame = pd.DataFrame({"a": [1, 2], "A": [2, 1], "_row": [0, 1]})
    table = FileTable(frame, tuple(frame))
    assert selected(table, "A = 1") == [1]
    assert selected(table, "a = 1") == [0]
    with pytest.raises(DataError, match="differ in case alone"):
        selected(table, "a = 1 AND A = 2")


def test_columns_of_mixed_types_are_refused_by_name():
    table = FileTable(pd.DataFrame({"o": [1, "a"], "yr": [0, 1]}), ("o", "yr"))
    assert len(table.where("yr = 1", "--where")) == 1
    with pytest.raises(DataError, match=re.escape("column o with type object")):
        table.where("o = 1", "--where")


def test_a_table_without_such_rows_is_an_error_with_the_count():
    table = FileTable(FRAME, tuple(FRAME))
    assert table.where("yr = 1", "--where").read == 4
    with pytest.raises(DataError, match="which none of 4 rows satisfies"):
        table.where("yr = 7", "--where")


@pytest.mark.parametrize("library", ["duckdb", "pyarrow"])
def test_a_missing_library_is_named_with_the_extra_that_brings_it(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    where._database.cache_clear()
    with pytest.raises(UnsupportedError, match=rf"{library}.*pip install 'skedasis\[sql\]'"):
        FileTable(FRAME, tuple(FRAME)).where("yr = 1", "--where")
