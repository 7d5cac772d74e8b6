"""Pictures of results, in two steps: `panels` says what is to be seen, as arrays; `mpl` draws it and decides nothing.

| file | what it holds | knows matplotlib |
|---|---|---|
| `marks` | what a panel consists of: lines, bands, violins, rugs, … | no |
| `view` | what of an effect is to be seen | no |
| `panels` | from an `Effect` to its panels: accumulated effects, M-plots | no |
| `dependence`, `tint` | those of PDP and ICE; what curves are coloured by | no |
| `levels` | those of categorical features | no |
| `common`, `density`, `scale` | what they share; violins and rugs; ranges, ticks and labels of axes | no |
| `heat`, `rim`, `contours` | from a `Surface` to a heat map, its sides, its contours | no |
| `overlay` | from several effects of one feature to what they share | no |
| `style` | colours, line styles, sizes | yes |
| `artists`, `strands` | what marks look like; individual curves | yes |
| `mpl`, `surface`, `compare` | figures: `draw` and `draw_all`, `draw_surface`, `compare` | yes |

Colours mean the same everywhere: blue is the average and its own error, amber is how the rows differ from it.
"""
