"""The public addresses: filled in, they reach everything that needs them; empty, nothing links to nowhere."""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from html.parser import HTMLParser
from pathlib import Path

import pytest
from readme_renderer import markdown

from tests.package.building import ROOT, built, copied, with_addresses
from tools.addresses import Addresses, long_description

REPOSITORY = "https://example.org/somebody/skedasis"
DOCUMENTATION = "https://docs.example.org/skedasis"
STATES = {"none": {}, "both": {"repository": REPOSITORY, "documentation": DOCUMENTATION}}
ADDRESSES = Addresses.read()
README = (ROOT / "README.md").read_text("utf-8")


class Page(HTMLParser):
    """What a page shows: its words, and where its links and images lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = ""
        self.links: list[str] = []
        self.images: list[str] = []
        rendered = markdown.render(text)
        assert rendered is not None
        self.feed(rendered)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        # PyPI gives headings an address of their own.
        if tag == "a" and not found["href"].startswith("#user-content-"):
            self.links.append(found["href"])
        if tag == "img":
            self.images.append(found["src"])

    def handle_data(self, data):
        self.text += data

    @property
    def words(self) -> list[str]:
        return self.text.split()


def test_the_readme_has_links_and_images_that_need_an_address():
    page = Page(README)
    assert len([link for link in page.links if not link.startswith("https://")]) > 10
    assert page.images


@pytest.fixture(scope="module", params=STATES)
def built_metadata(request, tmp_path_factory):
    """Return a state of the addresses, and the metadata of the wheel that is built in it."""
    folder = tmp_path_factory.mktemp(request.param)
    project = with_addresses(copied(folder / "project"), **STATES[request.param])
    *_, wheel = built(folder / "dist", source=project)
    with zipfile.ZipFile(wheel) as archive:
        (place,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        return request.param, message_from_bytes(archive.read(place))


def test_the_links_of_the_package_are_those_that_are_known(built_metadata):
    state, metadata = built_metadata
    links = dict(line.split(", ") for line in metadata.get_all("Project-URL") or [])
    both = {
        "Homepage": DOCUMENTATION,
        "Documentation": DOCUMENTATION,
        "Source": REPOSITORY,
        "Issues": f"{REPOSITORY}/issues",
        "Changelog": f"{DOCUMENTATION}/changelog.html",
    }
    assert links == (both if state == "both" else {})
    assert metadata["Home-page"] is None


def test_no_link_and_no_image_of_the_page_leads_to_nowhere(built_metadata):
    state, metadata = built_metadata
    text = metadata.get_payload(decode=True).decode("utf-8")
    page = Page(text)
    assert all(re.match(r"https://[\w.]+/", place) for place in page.links + page.images)
    version = metadata["Version"]
    for place in page.links + page.images:
        if place.startswith(REPOSITORY):
            path = re.sub(rf"{REPOSITORY}/(blob|raw)/v{re.escape(version)}/", "", place)
            assert (ROOT / path.partition("#")[0]).exists(), place
        if place.startswith(DOCUMENTATION):
            path = place.removeprefix(f"{DOCUMENTATION}/").partition("#")[0]
            assert path == "changelog.html" or (ROOT / "docs" / path).with_suffix(".md").exists()
    original = Page(README)
    if state == "none":
        assert not [place for place in page.links + page.images if "example.org" in place]
        # All words stay but those of images' captions.
        assert len(page.words) > 0.9 * len(original.words)
        assert set(page.words) <= set(original.words)
    else:
        assert len(page.links) == len(original.links)
        assert len(page.images) == len(original.images)
        assert page.words == original.words
    assert re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL) == re.findall(
        r"^```.*?^```", README, re.MULTILINE | re.DOTALL
    )


EVERY_FORM = """
See [a guide](docs/guides/a.md#part), [a file](src/a.py), [elsewhere](https://other.org/a), [here](#part).

![An image [of two]](docs/a.png)

*Its caption, in `code` and words.*

*Emphasised*, not a caption. In text: ![small](a.png).

```python
x = [a](b.md)
```
"""


WITHOUT_ADDRESSES = """
See a guide, a file, [elsewhere](https://other.org/a), [here](#part).

*Emphasised*, not a caption. In text: .

```python
x = [a](b.md)
```
"""


def test_every_form_of_a_link_without_addresses():
    text = long_description(EVERY_FORM, Addresses(), "2.0")
    assert re.sub(r"\n{3,}", "\n\n", text) == WITHOUT_ADDRESSES


def test_every_form_of_a_link_with_addresses():
    text = long_description(EVERY_FORM, Addresses("https://a.org/b", "https://d.org"), "2.0")
    assert text.replace("https://a.org/b/raw/v2.0/", "") == EVERY_FORM.replace(
        "docs/guides/a.md#part", "https://d.org/guides/a.html#part"
    ).replace("(src/a.py)", "(https://a.org/b/blob/v2.0/src/a.py)")


@pytest.mark.parametrize("address", ["example.org", "http://example.org", "https://example.org/"])
def test_an_address_that_cannot_be_completed_is_refused(tmp_path, address):
    project = with_addresses(copied(tmp_path / "project"), repository=address)
    with pytest.raises(ValueError, match=rf"repository in pyproject.toml: got '{address}', expec"):
        Addresses.read(project)


def test_the_citation_has_the_addresses_that_are_known():
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    found = {key: citation.get(key, "") for key in ("repository-code", "url")}
    assert found == {"repository-code": ADDRESSES.repository, "url": ADDRESSES.documentation}
    assert not {"repository", "repository-artifact"} & set(citation)


def test_no_other_file_names_an_address_of_the_project():
    known = tuple(filter(None, vars(ADDRESSES).values()))
    examples = {"https://github.com/OWNER/skedasis", "https://example.org/skedasis"}
    skipped = {".git", ".venv", "build", "dist", "site"}
    files = [
        path
        for folder in ROOT.iterdir()
        if folder.name not in skipped and not folder.name.startswith((".venv", ".ruff", ".hyp"))
        for path in ([folder] if folder.is_file() else folder.rglob("*"))
        if path.suffix in {".cff", ".md", ".py", ".pyi", ".toml", ".yaml", ".yml"}
    ]
    assert len(files) > 300
    for path in files:
        for place in re.findall(r"https?://[^\s)\"'`>|]*skedasis[\w/-]*", path.read_text("utf-8")):
            if path != Path(__file__):
                assert place in examples or place.startswith(known), f"{path}: {place}"


PAGE_HOOKS = "from tools.site import on_config, on_post_page\n"
SETTINGS = """
site_name: pages
use_directory_urls: false
theme: {name: material, font: false}
hooks: [hooks.py]
"""


@pytest.fixture
def project(tmp_path, monkeypatch) -> Iterator[Path]:
    """Return the folder of a copy of the project, whose modules are forgotten after the test."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path / "project"
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.parametrize("state", STATES)
def test_the_site_has_the_addresses_that_are_known(project, monkeypatch, state):
    pytest.importorskip("material")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")
    project = with_addresses(copied(project), **STATES[state])
    (project / "docs").mkdir()
    (project / "docs" / "index.md").write_text("# Words\n")
    (project / "hooks.py").write_text(PAGE_HOOKS)
    (project / "mkdocs.yml").write_text(SETTINGS)
    config = load_config(str(project / "mkdocs.yml"))
    # As the command does.
    config = config.plugins.on_startup(command="build", dirty=False) or config
    build(config)
    page = (project / "site" / "index.html").read_text("utf-8")
    canonical = re.findall(r'<link rel="canonical" href="([^"]+)"', page)
    assert canonical == [f"{DOCUMENTATION}/index.html"] * (state == "both")
    links = set(re.findall(r'<a href="(https://[^"]*example[^"]*)"', page))
    assert links == ({REPOSITORY} if state == "both" else set())
    # The theme's script asks the host of a repository about it where it finds this mark.
    assert 'data-md-component="source"' not in page
