"""What is concluded from several passes, or from several measures of one.

| file | what it holds |
|---|---|
| `diagnose` | `diagnose`: Likelihood-PFI and Entropy-PFI from one pass, and what the two say together |
| `places` | where each of the two lies: about zero, above or below, and how sure that is |
| `verdicts` | the rules by which both are read together |
| `sentences` | what is said of a feature |
| `dependence` | how well each feature is predicted by the others, and by the others and the label |
| `columns` | columns of any kind as forests take them |
| `chance` | `chance`: what effects a learner finds in features that say nothing |
| `copies` | data with permuted columns, in the container that it came in |
"""

from skedasis.analysis.chance import chance
from skedasis.analysis.diagnose import diagnose

__all__ = ["chance", "diagnose"]
