"""The public addresses of the project, and what follows from them.

They stand in ``[tool.skedasis.addresses]`` of pyproject.toml and nowhere else. Empty ones are left out everywhere, so
that nothing links to nowhere:

- the package's metadata and its page on PyPI (`hatch_build.py`),
- the address of the site and its link to the repository (`tools/site.py`),
- ``repository-code`` and ``url`` of CITATION.cff, which a test compares (`tests/package/test_addresses.py`).
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

_ADDRESS = re.compile(r"https://[^\s/]+(/[^\s/]+)*")
_FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)
_IMAGE = r"!\[(?P<alt>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<image>[^()\s]+)\)"
_LINK = r"\[(?P<text>[^\[\]]*)\]\((?P<link>[^()\s]+)\)"
_MARKDOWN = re.compile(f"{_IMAGE}|{_LINK}")
_ILLUSTRATION = re.compile(rf"^{_IMAGE}\n\n(?:\*(?!\*)[^*]+\*\n\n)?", re.MULTILINE)
"""An image that is a paragraph, and its caption: a paragraph in italics below it."""


@dataclass(frozen=True)
class Addresses:
    """The addresses that are known.

    Raises
    ------
    ValueError
        If an address is not empty and does not begin with ``https://``, or ends with a slash.
    """

    repository: str = ""
    documentation: str = ""

    def __post_init__(self) -> None:
        """Check the addresses."""
        for name, address in vars(self).items():
            if address and not _ADDRESS.fullmatch(address):
                raise ValueError(
                    f"tool.skedasis.addresses.{name} in pyproject.toml: got {address!r}, expected an "
                    "address such as 'https://example.org/skedasis', without a slash at its end"
                )

    @classmethod
    def read(cls, root: Path = ROOT) -> Addresses:
        """Return the addresses of a project's pyproject.toml."""
        project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
        return cls(**project["tool"]["skedasis"]["addresses"])

    def project_urls(self) -> dict[str, str]:
        """Return the links of the package's page on PyPI, by their labels.

        Examples
        --------
        >>> Addresses().project_urls()
        {}
        >>> list(Addresses(repository="https://example.org/r").project_urls())
        ['Homepage', 'Source', 'Issues', 'Changelog']
        """
        links = {
            "Homepage": self.documentation or self.repository,
            "Documentation": self.documentation,
            "Source": self.repository,
            "Issues": self.repository and f"{self.repository}/issues",
            "Changelog": self.page("CHANGELOG.md") or self.file("CHANGELOG.md", "HEAD"),
        }
        return {label: address for label, address in links.items() if address}

    def page(self, path: str) -> str:
        """Return the address of a file's page in the documentation; empty if it has none.

        Examples
        --------
        >>> Addresses(documentation="https://example.org").page("docs/guides/bins.md#few-rows")
        'https://example.org/guides/bins.html#few-rows'
        """
        name, mark, part = path.partition("#")
        if name == "CHANGELOG.md":
            name = "docs/changelog.md"
        if not self.documentation or not re.fullmatch(r"docs/.+\.md", name):
            return ""
        place = name.removeprefix("docs/").removesuffix(".md")
        return f"{self.documentation}/{place}.html{mark}{part}"

    def file(self, path: str, revision: str, view: str = "blob") -> str:
        """Return the address of a file in the repository at a revision; empty if there is no repository.

        Examples
        --------
        >>> Addresses(repository="https://example.org/r").file("a/b.png", "v1", view="raw")
        'https://example.org/r/raw/v1/a/b.png'
        """
        return f"{self.repository}/{view}/{revision}/{path}" if self.repository else ""


def long_description(text: str, addresses: Addresses, version: str) -> str:
    """Return the README as the text of the package's page: no link and no image is relative.

    With addresses they are absolute: pages of the documentation, and files at the tag of the version. What has no
    address is left out: of a link its text stays; an image goes, together with its caption.

    Examples
    --------
    >>> readme = "See [the guide](docs/guides/bins.md)."
    >>> long_description(readme, Addresses(), "1.0")
    'See the guide.'
    >>> long_description(readme, Addresses(repository="https://example.org/r"), "1.0")
    'See [the guide](https://example.org/r/blob/v1.0/docs/guides/bins.md).'
    """
    rewriter = _Rewriter(addresses, f"v{version}")
    parts = _FENCE.split(text)  # every second part is code
    return "".join(part if k % 2 else rewriter.rewrite(part) for k, part in enumerate(parts))


@dataclass(frozen=True)
class _Rewriter:
    addresses: Addresses
    tag: str

    def rewrite(self, text: str) -> str:
        """Return text without code blocks whose links and images are absolute, or gone."""
        if not self.addresses.repository:
            text = _ILLUSTRATION.sub(
                lambda found: found[0] if _is_absolute(found["image"]) else "", text
            )
        return _MARKDOWN.sub(self._markdown, text)

    def _markdown(self, found: re.Match[str]) -> str:
        target = found["image"] or found["link"]
        if _is_absolute(target):
            return found[0]
        if found["image"]:
            address = self.addresses.file(target, self.tag, "raw")
            return f"![{found['alt']}]({address})" if address else ""
        address = self.addresses.page(target) or self.addresses.file(target, self.tag)
        return f"[{found['text']}]({address})" if address else found["text"]


def _is_absolute(target: str) -> bool:
    return target.startswith(("https://", "http://", "mailto:", "#"))
