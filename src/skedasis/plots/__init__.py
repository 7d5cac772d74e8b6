"""Pictures of results, in two steps: `panels` says what is to be seen, as arrays; `mpl` draws it and decides nothing.

| file | what it holds | knows matplotlib |
|---|---|---|
| `marks` | what a panel consists of: lines, bands, violins, rugs, … | no |
| `view` | what of an effect is to be seen | no |
| `panels` | from an `Effect` to its panels: accumulated effects, M-plots | no |
| `dependence`, `tint` | those of PDP and ICE; what curves are coloured by | no |
| `levels` | those of categorical features | no |
| `strips`, `groups` | where curves rise, and whose; how a feature is distributed in each class | no |
| `common`, `density`, `scale` | what they share; violins and rugs; ranges, ticks and labels of axes | no |
| `heat`, `rim`, `contours` | from a `Surface` to a heat map, its sides, its contours | no |
| `overlay` | from several effects of one feature to what they share | no |
| `bars` | from an `Importance` to bars, and to rows before and after permutation | no |
| `where`, `tags` | from a `Diagnosis` to features between two importances; names that do not touch | no |
| `palette`, `numbers` | colours, line styles, sizes; numbers as people write them | no |
| `fits` | from results of several models to each one's curve, their mean, and how sure that is | no |
| `multiples` | which of many effects are drawn, in which order, on which scales | no |
| `web` | the same pictures as SVG for pages | no |
| `style` | fonts | yes |
| `artists`, `strands`, `ground` | what marks look like; individual curves; what stands under them | yes |
| `mpl`, `surface`, `compare` | figures: `draw` and `draw_all`, `draw_surface`, `compare` | yes |
| `importance`, `diagnosis`, `several` | figures: `draw_importance`, `draw_diagnosis`; several models | yes |

Colours mean the same everywhere: blue is the average and its own error, amber is how the rows differ from it.
"""
