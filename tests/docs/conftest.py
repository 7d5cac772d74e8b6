"""The browser fixtures for the tests of the site."""

from tests.report.browser import browser

__all__ = ["browser"]
