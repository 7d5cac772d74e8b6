"""The same pictures as SVG: text that a browser draws, and that a little script makes live. Knows no matplotlib.

| file | what it holds |
|---|---|
| `svg` | elements as text, and all escaping |
| `text` | how much room words take |
| `frame` | from axes to pixels: grid, ticks, labels |
| `marks`, `areas`, `strands`, `thin` | what marks look like: lines, bands, violins; hatched stretches; curves |
| `legend` | what explains them |
| `panel`, `tips` | one pair of axes with all that stands in it; what is said of its bins, levels and points |
| `words` | what a figure shows, for those who do not see it |
| `stack`, `figure`, `many`, `over` | panels one above the other; `effect`; `effects` and `small`; `compare` |
| `heat`, `cells`, `isolines`, `lattice` | surfaces |
| `bars`, `diagnosis`, `places`, `calibration`, `ledger`, `fits` | importances; diagnoses; overviews; several models |
| `outline`, `tagged`, `say` | what these share |
| `tables`, `behind` | the numbers behind pictures |
| `page`, `explore`, `notebook` | pages of figures; interactive twins of `plot`; what notebooks show |
| `drawing` | a finished drawing, and the sheet that it lies on |
| `heat`, `lattice`, `isolines`, `cells` | surfaces: patches of colour, contours, what is said of cells |
| `bars`, `diagnosis`, `places`, `calibration`, `ledger` | the other figures of a report |
| `tagged`, `outline` | names beside points; heads, and scales below frames |
| `assets` | how all of it looks, and the script |
"""
