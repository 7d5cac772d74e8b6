"""Methods turn a quantity into an effect in three pure steps: *plan, compute, finalize*. Each method has its own file.

| method | local effect | valid for correlated features | model rows per feature | use it if |
|---|---|---|---|---|
| `RHALE` | slope at the row | yes | 0 to 4 N | you want to see where the average misleads |
| `UALE` | slope at the row | yes | 0 to 4 N | as RHALE, with deviations accumulated as in its first paper |
| `DALE` | slope at the row | yes | 0 to 2 N | as RHALE, on bins that you choose |
| `ALE` | difference across the row's bin | yes | at most 2 N | the model has no slopes |
| `PDP` | the row's whole curve | no | m N | features are independent, or you ask "what if all rows had value x" |
| `ICE` | the row's whole curve | no | m N | single rows matter |
| `MPlot` | the quantity at the row | no: includes others' effects | N for all features | you want to see the data |

`RHALE` and `UALE` cost more than 2 N only for step functions and for features with few values.

The public classes are the methods for a numeric feature. `for_levels` and `for_pair` return their variants for a
categorical feature and for two features:

| | categorical feature | two features |
|---|---|---|
| `ALE` | `ale_categorical.py`: differences between adjacent levels | `ale_pairs.py`: double differences |
| `DALE` | error: no slopes between levels | `ale_pairs.py`: mixed derivatives |
| `RHALE`, `UALE` | `ale_categorical.py`: groups of adjacent levels (ordinal features) | error |
| `PDP`, `ICE` | `pdp.py` | `pdp.py` |
| `MPlot` | `mplot.py` | error |

`permutation.py`, `permutation_plan.py` and `permutation_metric.py` implement permutation feature importance,
`missing.py` the effect of missing values.
"""
