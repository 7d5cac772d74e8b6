"""How sure an effect is: by formula, and by counting its rows otherwise.

| module | what it does | starts from |
|---|---|---|
| `interval` | what is asked for, checked, and made | here |
| `covariance` | errors of all points together, for bands | moments |
| `replicate` | what a bootstrap draws from: rows, or moments | results |
| `counted`, `counted_curves`, `averaged` | an effect of many counts of its rows at once | sums |
| `summed` | sums of rows in cells, for many counts | rows |
| `redrawn` | moments drawn anew, where rows are gone | moments |
| `rechosen` | bins chosen anew in each replicate | both |
"""
