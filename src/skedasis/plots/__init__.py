"""Figures of results, in two steps: a specification of marks, and a renderer that draws it.

A result (`Effect`, `Surface`, `Importance`, `Diagnosis`, or those of several models) becomes a figure specification in
`figures`: frozen dataclasses of arrays and texts in units of the data. They contain every number and every word of the
figure, and tests read them without drawing. Two renderers turn a specification into a figure and decide nothing else:
`mpl` draws it on matplotlib axes (`plot()`), `svg` writes SVG for HTML pages (`explore()`, notebooks, reports).

| file | content | imports matplotlib |
|---|---|---|
| `spec` | marks, panels and options of the figures of effects | no |
| `scales` | axes, ticks, numbers as text, width of text, placement of labels, simplification of lines | no |
| `theme` | colours, line styles, hatches, sizes | no |
| `figures/effect`, `effect_parts` | from an effect of a numeric feature to its panels; parts that figures share | no |
| `figures/categorical` | from an effect of a categorical feature to its panels | no |
| `figures/ice` | PDP and ICE: curves, their colours, elevated regions, histograms of groups | no |
| `figures/compare` | overlaid effects, several models, small multiples | no |
| `figures/surface` | from a `Surface` to a heat map, contours, cells and marginal histograms | no |
| `figures/importance`, `diagnosis` | from an `Importance` or a `Diagnosis` to bars, histograms and scatter plots | no |
| `descriptions` | tooltips and alternative text | no |
| `mpl/marks` | marks, axes, labels and legends on matplotlib axes | yes |
| `mpl/effect`, `surface`, `importance`, `multi_model` | the functions behind `plot()` | yes |
| `svg/elements`, `frame`, `marks`, `panels` | SVG as text, coordinate frames, marks, panels | no |
| `svg/effect`, `surface`, `importance`, `diagnosis` | the same figures as SVG | no |
| `svg/overview` | figures of reports: importance against heterogeneity, variance explained, calibration | no |
| `html`, `assets` | HTML pages, notebook output and tables; style sheets and scripts | no |

Colours have the same meaning in all figures: blue is the average and its confidence interval, amber is the
heterogeneity, which is how the effect varies between rows. A line style, mark, hatch or word repeats each distinction,
so that no figure relies on colour alone.
"""
