"""The operations, each imported from the module that computes it; `operations.py` imports one when it is first used."""

from skedasis.plots.kinds import explore as explore
from skedasis.plots.kinds import notebook_html as notebook_html
from skedasis.plots.plot import plot as plot
from skedasis.results.ale_statistics import statistics as statistics
from skedasis.results.build.pairs import rebin_surface as rebin_surface
from skedasis.results.build.rebin import rebin_effect as rebin_effect
from skedasis.results.checks.change import check_change as check_change
from skedasis.results.checks.check import checks_in_order as checks_in_order
from skedasis.results.checks.elevated_regions import elevated_regions as elevated_regions
from skedasis.results.checks.heterogeneity_test import heterogeneity_test as heterogeneity_test
from skedasis.results.checks.reliability import check_effect as check_effect
from skedasis.results.checks.reliability import check_effects as check_effects
from skedasis.results.checks.reliability import check_surface as check_surface
from skedasis.results.checks.variance_decomposition import (
    variance_decomposition as variance_decomposition,
)
from skedasis.results.documents import about_document as about_document
from skedasis.results.documents import axis_document as axis_document
from skedasis.results.documents import effect_document as effect_document
from skedasis.results.documents import effect_keys as effect_keys
from skedasis.results.documents import surface_axes as surface_axes
from skedasis.results.documents import surface_document as surface_document
from skedasis.results.documents import surface_keys as surface_keys
from skedasis.results.effect_difference import effect_difference as effect_difference
from skedasis.results.effect_words import depends_on_cell as depends_on_cell
from skedasis.results.effect_words import effect_text as effect_text
from skedasis.results.effect_words import kind_of as kind_of
from skedasis.results.effect_words import method_of as method_of
from skedasis.results.effect_words import surface_text as surface_text
from skedasis.results.effects import Effects as Effects
from skedasis.results.factors import bases_of as bases_of
from skedasis.results.factors import factors_of as factors_of
from skedasis.results.factors import factors_side_by_side as factors_side_by_side
from skedasis.results.factors import rating_table as rating_table
from skedasis.results.frames import column_pairs as column_pairs
from skedasis.results.frames import effect_table as effect_table
from skedasis.results.frames import point_column as point_column
from skedasis.results.frames import stack_tables as stack_tables
from skedasis.results.frames import surface_table as surface_table
from skedasis.results.frames import tile_column as tile_column
from skedasis.results.frames import to_data_frame as to_data_frame
from skedasis.results.intervals.analytic import ContrastOptions as ContrastOptions
from skedasis.results.intervals.analytic import IntervalOptions as IntervalOptions
from skedasis.results.intervals.analytic import interval as interval
from skedasis.results.intervals.analytic import intervals as intervals
from skedasis.results.intervals.analytic import reweighted_effect as reweighted_effect
from skedasis.results.intervals.contrasts import contrast as contrast
from skedasis.results.intervals.contrasts import contrast_of_models as contrast_of_models
from skedasis.results.intervals.contrasts import contrasts as contrasts
from skedasis.results.intervals.contrasts import contrasts_of_effects as contrasts_of_effects
from skedasis.results.intervals.contrasts import contrasts_of_regions as contrasts_of_regions
from skedasis.results.intervals.contrasts import (
    contrasts_with_reference as contrasts_with_reference,
)
from skedasis.results.intervals.contrasts import pairs_of as pairs_of
from skedasis.results.intervals.surfaces import reweighted_surface as reweighted_surface
from skedasis.results.intervals.surfaces import surface_error as surface_error
from skedasis.results.intervals.surfaces import surface_interval as surface_interval
from skedasis.results.io import save as save
from skedasis.results.regions import rules_text as rules_text
from skedasis.results.surfaces import Surfaces as Surfaces
