"""The operations of results that other modules compute: rebinning, intervals, checks, tables, files and figures."""

# The imports below are read by type checkers only.
# ruff: noqa: F401
# pyright: reportUnusedImport=false

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skedasis.plots.draw_matplotlib import draw as draw_figure
    from skedasis.plots.kinds import explore, notebook_html, plot
    from skedasis.results.ale_statistics import statistics as ale_statistics
    from skedasis.results.build.pairs import rebin_surface
    from skedasis.results.build.rebin import rebin_effect
    from skedasis.results.checks.change import check_change
    from skedasis.results.checks.check import in_order as checks_in_order
    from skedasis.results.checks.elevated_regions import elevated_regions
    from skedasis.results.checks.heterogeneity_test import heterogeneity_test
    from skedasis.results.checks.reliability import (
        check_effect,
        check_effects,
        check_surface,
    )
    from skedasis.results.checks.variance_decomposition import variance_decomposition
    from skedasis.results.curve_words import one_line
    from skedasis.results.documents import (
        about_document,
        axis_document,
        effect_document,
        effect_keys,
        surface_axes,
        surface_document,
        surface_keys,
    )
    from skedasis.results.effect_words import depends_on_cell, effect_text, kind_of, method_of
    from skedasis.results.effects import Effects
    from skedasis.results.frames import (
        column_pairs,
        effect_table,
        point_column,
        stack_tables,
        surface_table,
        tile_column,
        to_data_frame,
    )
    from skedasis.results.intervals.analytic import (
        IntervalOptions,
        reweighted_effect,
    )
    from skedasis.results.intervals.analytic import (
        interval as effect_interval,
    )
    from skedasis.results.intervals.analytic import (
        intervals as effects_intervals,
    )
    from skedasis.results.intervals.contrasts import (
        ContrastOptions,
        contrast,
        contrast_of_models,
        contrasts,
        contrasts_of_effects,
        contrasts_of_regions,
        contrasts_with_reference,
        pairs_of,
    )
    from skedasis.results.intervals.surfaces import (
        interval as surface_interval,
    )
    from skedasis.results.intervals.surfaces import (
        resampled as reweighted_surface,
    )
    from skedasis.results.intervals.surfaces import (
        surface_error,
    )
    from skedasis.results.io import save
    from skedasis.results.surfaces import Surfaces
else:

    def __getattr__(name: str) -> object:
        """Return an operation, imported from its module at the first use."""
        if name not in MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, _, attribute = MODULES[name].partition(":")
        return getattr(import_module(module), attribute)


MODULES = {
    "draw_figure": "skedasis.plots.draw_matplotlib:draw",
    "explore": "skedasis.plots.kinds:explore",
    "notebook_html": "skedasis.plots.kinds:notebook_html",
    "plot": "skedasis.plots.kinds:plot",
    "ale_statistics": "skedasis.results.ale_statistics:statistics",
    "rebin_surface": "skedasis.results.build.pairs:rebin_surface",
    "rebin_effect": "skedasis.results.build.rebin:rebin_effect",
    "check_change": "skedasis.results.checks.change:check_change",
    "checks_in_order": "skedasis.results.checks.check:in_order",
    "elevated_regions": "skedasis.results.checks.elevated_regions:elevated_regions",
    "heterogeneity_test": "skedasis.results.checks.heterogeneity_test:heterogeneity_test",
    "check_effect": "skedasis.results.checks.reliability:check_effect",
    "check_effects": "skedasis.results.checks.reliability:check_effects",
    "check_surface": "skedasis.results.checks.reliability:check_surface",
    "variance_decomposition": "skedasis.results.checks.variance_decomposition:variance_decomposition",
    "about_document": "skedasis.results.documents:about_document",
    "axis_document": "skedasis.results.documents:axis_document",
    "effect_keys": "skedasis.results.documents:effect_keys",
    "surface_keys": "skedasis.results.documents:surface_keys",
    "effect_document": "skedasis.results.documents:effect_document",
    "surface_axes": "skedasis.results.documents:surface_axes",
    "surface_document": "skedasis.results.documents:surface_document",
    "depends_on_cell": "skedasis.results.effect_words:depends_on_cell",
    "effect_text": "skedasis.results.effect_words:effect_text",
    "kind_of": "skedasis.results.effect_words:kind_of",
    "method_of": "skedasis.results.effect_words:method_of",
    "one_line": "skedasis.results.curve_words:one_line",
    "column_pairs": "skedasis.results.frames:column_pairs",
    "effect_table": "skedasis.results.frames:effect_table",
    "point_column": "skedasis.results.frames:point_column",
    "stack_tables": "skedasis.results.frames:stack_tables",
    "surface_table": "skedasis.results.frames:surface_table",
    "tile_column": "skedasis.results.frames:tile_column",
    "to_data_frame": "skedasis.results.frames:to_data_frame",
    "IntervalOptions": "skedasis.results.intervals.analytic:IntervalOptions",
    "effect_interval": "skedasis.results.intervals.analytic:interval",
    "effects_intervals": "skedasis.results.intervals.analytic:intervals",
    "reweighted_effect": "skedasis.results.intervals.analytic:reweighted_effect",
    "ContrastOptions": "skedasis.results.intervals.contrasts:ContrastOptions",
    "contrast": "skedasis.results.intervals.contrasts:contrast",
    "contrast_of_models": "skedasis.results.intervals.contrasts:contrast_of_models",
    "contrasts": "skedasis.results.intervals.contrasts:contrasts",
    "contrasts_of_effects": "skedasis.results.intervals.contrasts:contrasts_of_effects",
    "contrasts_of_regions": "skedasis.results.intervals.contrasts:contrasts_of_regions",
    "pairs_of": "skedasis.results.intervals.contrasts:pairs_of",
    "contrasts_with_reference": "skedasis.results.intervals.contrasts:contrasts_with_reference",
    "surface_interval": "skedasis.results.intervals.surfaces:interval",
    "reweighted_surface": "skedasis.results.intervals.surfaces:resampled",
    "surface_error": "skedasis.results.intervals.surfaces:surface_error",
    "save": "skedasis.results.io:save",
    "Effects": "skedasis.results.effects:Effects",
    "Surfaces": "skedasis.results.surfaces:Surfaces",
}
"""Name of each operation → its module and its name there."""
