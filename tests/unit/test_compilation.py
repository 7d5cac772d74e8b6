"""Numba's cache of kernels: a full disk, an interruption and damaged files cost time, not the call."""

from __future__ import annotations

import errno
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from skedasis import _compilation as compilation
from skedasis.errors import TreeWarning

numba = pytest.importorskip("numba")

FACTOR = "def scaled(x):\n    return {factor} * x\n"


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    """Return a function that compiles a small kernel as a new process would, and calls it with 3."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compilation, "_ANNOUNCED", set())
    compilation._warn_uncached.cache_clear()
    source = tmp_path / "scaled_kernel.py"

    def call(factor: int = 2) -> Any:
        if not source.exists() or source.read_text() != FACTOR.format(factor=factor):
            source.write_text(FACTOR.format(factor=factor))
        spec = importlib.util.spec_from_file_location("scaled_kernel", source)
        module = ModuleType("scaled_kernel")
        exec(compile(source.read_text(), str(source), "exec"), module.__dict__)
        monkeypatch.setitem(sys.modules, spec.name, module)
        module.scaled.__module__ = "scaled_kernel"
        compiled = compilation.compiled(module.scaled)
        return compiled(3), compiled

    yield call
    compilation._warn_uncached.cache_clear()


def files(tmp_path: Path) -> list[str]:
    return sorted(p.suffix for p in (tmp_path / "cache").rglob("*") if p.is_file())


def test_a_kernel_is_compiled_once(kernels, tmp_path):
    value, first = kernels()
    assert (value, first.stats.cache_hits) == (6, {})
    value, second = kernels()
    assert (value, len(second.stats.cache_hits)) == (6, 1)
    assert files(tmp_path) == [".nbc", ".nbi"]


def test_kernels_that_take_long_are_announced_once_for_each_module(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(compilation, "_ANNOUNCED", set())
    (tmp_path / "cached").touch()
    for name, compiled in (("a", ("sums", 3)), ("b", ("trees", 12)), ("c", None)):
        module = ModuleType(name)
        vars(module).update({} if compiled is None else {"COMPILED": compiled})
        compilation._announce_compilation(module, tmp_path / "cached")
        assert not capsys.readouterr().err
        for _ in range(2):
            compilation._announce_compilation(module, tmp_path / "new")
        said = capsys.readouterr().err
        of = compiled and "skedasis: compiling kernels for {}, about {} s; this happens once.\n"
        assert said == (of.format(*compiled) if compiled else "")


@pytest.mark.parametrize(
    ("error", "at"),
    [(OSError(errno.ENOSPC, "No space left on device"), 1), (KeyboardInterrupt(), 2)],
)
def test_a_file_that_cannot_be_written(kernels, tmp_path, monkeypatch, at, error):
    kernels(5)  # of another version, whose file remains
    replace, count = os.replace, [0]

    def full(source: str, target: str) -> None:
        count[0] += 1
        if count[0] == at:
            raise error
        replace(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        if isinstance(error, OSError):
            with pytest.warns(TreeWarning, match="or its disk is full"):
                assert kernels()[0] == 6
        else:
            with pytest.raises(KeyboardInterrupt):
                kernels()
    assert ".nbi" not in files(tmp_path)
    assert files(tmp_path) in ([".nbc"], [])
    value, again = kernels()  # not the kernel of the other version
    assert (value, again.stats.cache_hits) == (6, {})
    assert len(kernels()[1].stats.cache_hits) == 1


@pytest.mark.parametrize(("suffix", "part"), [("nbi", 0.5), ("nbc", 0.99)])
def test_damaged_files_are_compiled_again(kernels, tmp_path, suffix, part):
    kernels()
    path = next((tmp_path / "cache").rglob(f"*.{suffix}"))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(part * len(whole))])
    value, again = kernels()
    assert (value, again.stats.cache_hits) == (6, {})
    assert len(kernels()[1].stats.cache_hits) == 1
