"""The command that takes screenshots of reports: every file is made, has its size, and shows what its name says."""

import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from skedasis import datasets
from tools import screenshots
from tools.pages import ROOT


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1, 1, size=(1200, 3)), columns=["weak", "strong", "side"])
    y = 0.3 * X["weak"] + 3 * X["strong"] * np.sign(X["side"])
    data = datasets.RealDataset("made", X, y.to_numpy(), tuple(X), {"gain": "€"}, "gain", "")
    return screenshots.make_reports(tmp_path_factory.mktemp("reports"), data)


def grey(path):
    """Return the lightness of each pixel of a picture, from 0 to 255: an array of its height and width."""
    with Image.open(path) as image:
        return np.asarray(image.convert("L"), float)


@pytest.mark.slow
def test_every_picture_is_made_with_its_size_and_is_of_what_its_name_says(
    browser, reports, tmp_path
):
    made = screenshots.take_all(browser, reports, tmp_path / "new" / "folder")
    names = [*(f"{p.name}.png" for p in screenshots.PICTURES), "print.pdf", "print.png"]
    assert [path.name for path in made] == names
    seen = {path.stem: grey(path) for path in made if path.suffix == ".png"}
    for picture in screenshots.PICTURES:
        assert seen[picture.name].shape == picture.window[::-1]
    assert seen["print"].shape == screenshots.PAPER[::-1]
    assert all(image.std() > 5 for image in seen.values()), "a picture is blank"
    assert made[-2].read_bytes().startswith(b"%PDF")
    assert seen["first-light"].mean() > 200
    assert seen["first-dark"].mean() < 60
    for one, other in (("first-light", "where"), ("classes-first", "classes-second")):
        assert np.abs(seen[one] - seen[other]).mean() > 1


@pytest.mark.slow
def test_without_pdftoppm_the_print_is_a_page_with_the_style_of_paper(
    browser, reports, tmp_path, monkeypatch
):
    monkeypatch.setattr(screenshots.shutil, "which", lambda name: None)
    pdf, png = screenshots.print_page(browser, reports["one"].path, tmp_path)
    assert pdf.is_file()
    assert grey(png).shape == screenshots.PAPER[::-1]


@pytest.mark.slow
def test_the_regional_view_is_of_the_most_important_feature_with_regions(reports):
    report = reports["one"]
    section = report.content.sections[0]
    anchor = screenshots.section_with_regions(report)
    feature = re.search(rf'id="{anchor}"[^>]*data-name="([^"]+)"', report.path.read_text("utf-8"))[
        1
    ]
    assert len(section.regions[feature]) > 1
    before = report.content.features[: report.content.features.index(feature)]
    assert all(len(section.regions.get(name, ())) < 2 for name in before)
    # "weak" has one curve for all rows, and "strong" one for each side.
    assert feature in {"strong", "side"}
    linear = replace(report, content=reports["models"].content)
    only = replace(linear.content, sections=linear.content.sections[2:])
    assert screenshots.section_with_regions(replace(linear, content=only)) == "feature-1"


@pytest.mark.parametrize(
    ("path", "installed", "said"),
    [
        ("/nowhere/chromium", True, "SKEDASIS_CHROMIUM"),
        (sys.executable, False, "pip install playwright"),
    ],
)
def test_what_is_missing_is_named_with_the_fix(
    path, installed, said, monkeypatch, capsys, tmp_path
):
    monkeypatch.setenv("SKEDASIS_CHROMIUM", path)
    monkeypatch.setattr(
        screenshots.importlib.util, "find_spec", lambda name: object() if installed else None
    )
    assert screenshots.main(["--folder", str(tmp_path / "none")]) == 1
    out, err = capsys.readouterr()
    assert not out
    assert said in err
    assert not (tmp_path / "none").exists()


def test_the_command_describes_itself():
    done = subprocess.run(
        [sys.executable, "-m", "tools.screenshots", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "120"},
    )
    assert done.returncode == 0, done.stderr
    assert "--folder" in done.stdout
    assert "--docs" in done.stdout
