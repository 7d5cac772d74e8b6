"""The browser fixtures for all tests of pages."""

from tests.report.browser import browser, visit

__all__ = ["browser", "visit"]
