"""Methods turn a quantity into an effect in three pure steps: *plan, compute, finalize*. Each family has its own file.

`skedasis.registry` lists the methods, docs/guides/which-method.md compares them. The public classes are the methods for
a numeric feature. `for_levels` and `for_pair` return their variants for a categorical feature and for two features,
`for_rows` those for given rows:

| | categorical feature | two features |
|---|---|---|
| `ale.py` | `ale_categorical.py`: differences between adjacent levels, and groups of them for ordinal features | `ale_pairs.py`: double differences, mixed derivatives |
| `pdp.py`, `mplot.py` | in the same file | in the same file; of M-plots none |

`permutation.py` and its sisters implement permutation feature importance, `change.py` what-if changes, `missing.py` the
effect of missing values, `regional.py` the effects of some of the rows.
"""
