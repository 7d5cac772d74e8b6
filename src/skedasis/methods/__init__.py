"""Methods: how a quantity becomes an effect. Each is three pure steps, *plan, local, read*, in a file of its own.

| method | local effect | fair to correlated features | model rows a feature | pick it when |
|---|---|---|---|---|
| `RHALE` | slope at the row | yes | 0 to 2 N | you want to know for whom the average is not true |
| `UALE` | slope at the row | yes | 0 to 2 N | as RHALE, the spread accumulated as in its first paper |
| `DALE` | slope at the row | yes | 0 to 2 N | as RHALE, on bins of your own |
| `ALE` | difference across the row's bin | yes | 2 N at most | the model has no slopes |
| `PDP` | the row's whole curve | no | m N | features are independent, or the question is "what if all were set to x" |
| `ICE` | the row's whole curve | no | m N | single rows matter |
| `MPlot` | the quantity at the row | no: it holds the others' effects | N for all features | you want to see the data |

What users write is the method for a numeric feature. The same for a categorical feature, and for two features, stands
in a file of its own:

| | categorical feature | two features |
|---|---|---|
| `ALE` | `levels.py`: steps between neighbouring levels | `pairs.py`, `corners.py`: double differences |
| `DALE` | refused: there are no slopes between levels | `pairs.py`: mixed derivatives |
| `RHALE`, `UALE` | `levels.py`: runs of steps (ordinal features) | refused |
| `PDP`, `ICE` | `pdp_levels.py` | `pdp_pairs.py` |
| `MPlot` | `mplot.py` | refused |
"""
