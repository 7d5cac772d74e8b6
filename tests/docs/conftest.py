"""The browser, which the site is opened with."""

from tests.report.browser import browser

__all__ = ["browser"]
