"""Example data: the papers' synthetic examples with their true effects, and real tables.

| data | access |
|---|---|
| functions whose true effects and heterogeneity are known | `SYNTHETIC`, or its classes |
| labelled rows whose true predictive distribution is known | `UNCERTAIN`, or its classes |
| a real table that needs no download | `load_diabetes()` |
| other real tables | `load(name)`, with a name of `names()` |
| the table of the RHALE paper, preprocessed as in the paper | `california_rhale()` |

The package contains no data files. `load` documents where it looks for them.
"""

from __future__ import annotations

from skedasis.datasets.real import RealDataset, california_rhale, load, load_diabetes, names
from skedasis.datasets.simulations import Correlated, NonLinear, PiecewiseLinear
from skedasis.datasets.synthetic import RhaleIntroduction, RunningExample, Synthetic
from skedasis.datasets.uncertainty import (
    NoisyClasses,
    SharedInformation,
    SquareBorder,
    TrainTestSplit,
    Uncertain,
)

__all__ = [
    "SYNTHETIC",
    "UNCERTAIN",
    "Correlated",
    "NoisyClasses",
    "NonLinear",
    "PiecewiseLinear",
    "RealDataset",
    "RhaleIntroduction",
    "RunningExample",
    "SharedInformation",
    "SquareBorder",
    "Synthetic",
    "TrainTestSplit",
    "Uncertain",
    "california_rhale",
    "load",
    "load_diabetes",
    "names",
]

SYNTHETIC: dict[str, Synthetic] = {
    "rhale_introduction": RhaleIntroduction(),
    "running_example": RunningExample(),
    "correlated_a": Correlated(),
    "correlated_b": Correlated(a1=2.0, a2=0.5),
    "correlated_c": Correlated(alpha=1.0),
    "piecewise_linear": PiecewiseLinear(),
    "non_linear": NonLinear(),
}
"""The examples of the papers on effects, with the papers' parameters, by name."""

UNCERTAIN: dict[str, Uncertain] = {
    "noisy_classes": NoisyClasses(),
    "noisy_classes_copy_of_1": NoisyClasses(copy_of=1),
    "noisy_classes_copy_of_5": NoisyClasses(copy_of=5),
    "shared_information": SharedInformation(),
    "shared_information_noise_0.2": SharedInformation(noise=0.2),
    "shared_information_noise_0.4": SharedInformation(noise=0.4),
    "square_border": SquareBorder(),
}
"""The examples of the paper on entropy, by name."""
