"""Methods turn a quantity into an effect in three pure steps: *plan, compute, finalize*. Each family has its own file.

`skedasis.registry` lists the methods, docs/guides/which-method.md compares them. The public classes are the methods for
a numeric feature. `for_levels` and `for_pair` return their variants for a categorical feature and for two features,
`for_rows` those for given rows:

| | categorical feature | two features |
|---|---|---|
| differences between levels and bins | `ale_categorical.py` | `ale_pairs.py` |
| slopes | `ale_categorical.py`: groups of levels in order | `ale_pairs.py`: mixed derivatives |
| curves | `pdp.py` | `pdp.py` |
| means of rows | `mplot.py` | none |

`permutation.py` and its sisters implement permutation feature importance, `change.py` what-if changes, `missing.py` the
effect of missing values, `regional.py` the effects of some of the rows.
"""
