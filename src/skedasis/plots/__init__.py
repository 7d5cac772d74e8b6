"""Figures of results, in three steps: a figure as values, its layout, and a renderer that draws it.

A figure function (`figures`) turns a result into a `FigureSpec`: panels with axes, marks in units of the data, legend
entries, tooltips and alternative text. It decides everything that a reader sees, and tests read it without drawing. The
layout finds room for panels and texts in a figure of a given size. Two renderers draw any figure and decide nothing:
one by matplotlib (`plot()`), one as SVG for HTML pages (`explore()`, notebooks, reports).

| file | content | imports matplotlib |
|---|---|---|
| `marks` | `FigureSpec`, panels, and all kinds of marks | no |
| `figures/effect`, `effect_parts`, `effect_texts` | a numeric feature's effect; what figures of effects share | no |
| `figures/categorical` | an effect of a categorical feature | no |
| `figures/ice` | PDP and ICE: curves, their colours, elevated regions, histograms of groups | no |
| `figures/options` | options of figures of effects | no |
| `figures/multiples`, `models`, `compare` | many features; several models; several results in one figure | no |
| `figures/surface` | a `Surface`: heat map, contours, cells, marginal histograms | no |
| `figures/importance`, `diagnosis` | an `Importance` or a `Diagnosis`: bars, histograms, scatter plots | no |
| `figures/overview`, `calibration` | importance against heterogeneity; mean labels against mean predictions | no |
| `scales` | axes, numbers as text, width of text, simplification of lines | no |
| `ticks`, `text`, `layout` | ticks that fit; line breaks and shortening; where everything is | no |
| `theme` | colours, styles of marks and texts, hatches, and the style sheet made from them | no |
| `draw_matplotlib` | renderer for matplotlib, in a new figure or on given axes | yes |
| `draw_svg`, `elements` | renderer for SVG; escaped elements of SVG and HTML | no |
| `plot`, `keywords` | what `plot()` of each result does, the options of every figure; types of the options | `plot` |
| `html`, `assets` | HTML pages, notebook output and tables; style sheets and scripts | no |

Colours have the same meaning in all figures: blue is the average and its confidence interval, amber is the
heterogeneity, which is how the effect varies between rows. A line style, mark, hatch or word repeats each distinction,
so that no figure relies on colour alone.
"""
