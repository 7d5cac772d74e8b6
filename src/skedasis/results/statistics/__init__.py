"""ALE statistics after Okoli (2023): ALED, ALER, NALED and NALER.

| module | what it does |
|---|---|
| `measure` | the statistics of effects, with their intervals; start here |
| `deviation` | mean absolute deviations of curves, exact over the rows, and of many counts of the rows at once |
| `percentiles` | effects as percentiles of the outcome |
| `statistics` | how they are carried, printed and compared with those of random features |
"""
