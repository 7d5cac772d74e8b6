"""What the documentation of reports says runs as it is written."""

import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.slow
def test_the_code_of_the_report_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "report.md").read_text("utf-8"), re.DOTALL)
    assert len(blocks) >= 3
    script = tmp_path / "blocks.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    left = runpy.run_path(str(script))
    written = {path.name for path in tmp_path.glob("*.html")}
    named = set(re.findall(r"[\"']([\w-]+\.html)[\"']", "\n".join(blocks)))
    assert named == written
    assert left["report"].path.name in written
    for path in tmp_path.glob("*.html"):
        assert path.read_text("utf-8").lower().startswith("<!doctype html>")
