"""Pictures of results, in two steps: `panels` says what is to be seen, as arrays; `mpl` draws it and decides nothing.

| file | what it holds | knows matplotlib |
|---|---|---|
| `marks` | what a panel consists of: lines, bands, violins, rugs, … | no |
| `panels` | from an `Effect` to its panels | no |
| `density` | violins and rugs of many rows | no |
| `scale` | ranges, ticks and labels of axes | no |
| `artists` | what marks look like | yes |
| `mpl` | figures: `draw` and `draw_all` | yes |

Colours mean the same everywhere: blue is the average and its own error, amber is how the rows differ from it.
"""
