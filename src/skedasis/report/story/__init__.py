"""What a report tells, as values: nothing here knows of a page.

| file | what it holds |
|---|---|
| `gathering` | `gather`: from models and data to a `Story` |
| `told` | `Story`, and `Told`: all there is to tell of one model, or of one of its outputs |
| `telling` | one model: its passes, and what follows from them |
| `asked` | the model asked by several methods: effects, complaints, costs; its predictions, once |
| `quality`, `scores` | how well it predicts; the scores themselves |
| `ledger` | how much of the variance the drawn effects add up to |
| `interest` | importance against heterogeneity score, with intervals |
| `together` | the strongest pairs |
| `unsure` | what makes it unsure |
| `codes` | the code that makes each figure |
| `rowless` | results without a row of the data |
"""

from __future__ import annotations

from skedasis.report.story.codes import CURVES
from skedasis.report.story.gathering import gather
from skedasis.report.story.rowless import without_rows
from skedasis.report.story.told import Story, Told

__all__ = ["CURVES", "Story", "Told", "gather", "without_rows"]
