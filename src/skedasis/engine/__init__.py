"""The driver: it plans every feature, goes through the batches once, merges, and reads the results.

| file | what it holds |
|---|---|
| `verb` | `explain` |
| `choose` | which features, by which form of the method |
| `prepare` | the model checked, every feature planned, batches sized |
| `run` | batches outside, features inside; merged in order |
| `reading` | results of what was gathered |
| `record` | the provenance, and checks of settings |
| `several` | a list of models: each goes the same way, on the same cells |
| `alike`, `folds`, `apart`, `shared` | for these: checks, rows of each, plans met by some of the rows, common bins |
"""

from skedasis.engine.choose import METHODS, as_method, method_called
from skedasis.engine.record import as_bytes
from skedasis.engine.verb import explain

__all__ = ["METHODS", "as_bytes", "as_method", "explain", "method_called"]
