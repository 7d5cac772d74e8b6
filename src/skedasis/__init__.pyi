"""The public names, each imported from the module that defines it.

This stub is the one list of them. Type checkers read it as it is; `__init__.py` reads it to import a name when it is
first used, and for `__all__`.
"""

from skedasis import datasets as datasets
from skedasis.analysis.calibration import calibration as calibration
from skedasis.analysis.diagnose import diagnose as diagnose
from skedasis.analysis.drift import drift as drift
from skedasis.analysis.effect_display import EffectDisplay as EffectDisplay
from skedasis.analysis.interactions import interactions as interactions
from skedasis.analysis.null_distribution import null_distribution as null_distribution
from skedasis.analysis.shap_dependence import shap_dependence as shap_dependence
from skedasis.analysis.variance_shares import variance_shares as variance_shares
from skedasis.analysis.weak_spots import weak_spots as weak_spots
from skedasis.binning import AutoUniform as AutoUniform
from skedasis.binning import Edges as Edges
from skedasis.binning import Greedy as Greedy
from skedasis.binning import Optimal as Optimal
from skedasis.binning import Quantile as Quantile
from skedasis.binning import Uniform as Uniform
from skedasis.data.features import Feature as Feature
from skedasis.distributions.ensembles import ensemble as ensemble
from skedasis.engine.explain import explain as explain
from skedasis.engine.regions import regions as regions
from skedasis.engine.what_if import what_if as what_if
from skedasis.errors import BinningWarning as BinningWarning
from skedasis.errors import CostWarning as CostWarning
from skedasis.errors import DataError as DataError
from skedasis.errors import LeftOutWarning as LeftOutWarning
from skedasis.errors import ModelOutputError as ModelOutputError
from skedasis.errors import TreeWarning as TreeWarning
from skedasis.errors import UnsupportedError as UnsupportedError
from skedasis.methods.ale import ALE as ALE
from skedasis.methods.ale import DALE as DALE
from skedasis.methods.ale import RHALE as RHALE
from skedasis.methods.ale import UALE as UALE
from skedasis.methods.mplot import MPlot as MPlot
from skedasis.methods.pdp import ICE as ICE
from skedasis.methods.pdp import PDP as PDP
from skedasis.methods.permutation import PFI as PFI
from skedasis.plots.html import Explorable as Explorable
from skedasis.plots.plot import compare as compare
from skedasis.quantities.loss import loss as loss
from skedasis.quantities.observed import label as label
from skedasis.quantities.observed import residual as residual
from skedasis.quantities.outputs import logit as logit
from skedasis.quantities.outputs import prediction as prediction
from skedasis.quantities.outputs import probability as probability
from skedasis.quantities.uncertainty import entropy as entropy
from skedasis.quantities.uncertainty import nll as nll
from skedasis.quantities.uncertainty import predictive_quantile as predictive_quantile
from skedasis.quantities.uncertainty import predictive_variance as predictive_variance
from skedasis.report.report import report as report
from skedasis.results.ale_statistics import NullDistribution as NullDistribution
from skedasis.results.ale_statistics import Statistic as Statistic
from skedasis.results.ale_statistics import Statistics as Statistics
from skedasis.results.calibration import Calibration as Calibration
from skedasis.results.change import Change as Change
from skedasis.results.change import Changes as Changes
from skedasis.results.checks.check import Check as Check
from skedasis.results.checks.check import Checks as Checks
from skedasis.results.checks.heterogeneity_test import HeterogeneityTest as HeterogeneityTest
from skedasis.results.checks.variance_decomposition import (
    VarianceDecomposition as VarianceDecomposition,
)
from skedasis.results.contrast import Contrast as Contrast
from skedasis.results.contrast import Contrasts as Contrasts
from skedasis.results.diagnosis import Diagnosis as Diagnosis
from skedasis.results.drift import Drift as Drift
from skedasis.results.effect import Effect as Effect
from skedasis.results.effect_difference import EffectDifference as EffectDifference
from skedasis.results.effects import Effects as Effects
from skedasis.results.factors import Factors as Factors
from skedasis.results.factors import RatingTable as RatingTable
from skedasis.results.importance import Importance as Importance
from skedasis.results.interactions import Interactions as Interactions
from skedasis.results.io import load as load
from skedasis.results.multi_model import MultiModelEffect as MultiModelEffect
from skedasis.results.multi_model import MultiModelEffects as MultiModelEffects
from skedasis.results.multi_model import MultiModelImportance as MultiModelImportance
from skedasis.results.multi_model import MultiModelSurface as MultiModelSurface
from skedasis.results.multi_output import Comparison as Comparison
from skedasis.results.multi_output import MultiOutput as MultiOutput
from skedasis.results.regions import MultiModelRegions as MultiModelRegions
from skedasis.results.regions import MultiModelRegionsByFeature as MultiModelRegionsByFeature
from skedasis.results.regions import Regions as Regions
from skedasis.results.regions import RegionsByFeature as RegionsByFeature
from skedasis.results.surface import Surface as Surface
from skedasis.results.surfaces import Surfaces as Surfaces
from skedasis.results.variance_shares import VarianceShares as VarianceShares
from skedasis.results.weak_spots import WeakSpot as WeakSpot
from skedasis.results.weak_spots import WeakSpots as WeakSpots
from skedasis.stream.parquet import ParquetData as ParquetData
from skedasis.stream.parquet import parquet as parquet

__version__: str
_MODULES: dict[str, str]

def _imports_beside(file: str) -> dict[str, str]: ...
