"""The same pictures as SVG: text that a browser draws, and that a little script makes live. Knows no matplotlib.

| file | what it holds |
|---|---|
| `svg` | elements as text, and all escaping |
| `text` | how much room words take |
| `drawing` | a finished drawing, and the sheet that it lies on |
| `frame` | from axes to pixels: grid, ticks, labels |
| `marks`, `areas`, `strands`, `thin` | what marks look like: lines, bands, violins; hatched stretches; curves |
| `legend`, `outline`, `tagged` | what explains marks; heads, and scales below frames; names beside points |
| `panel`, `stack` | one pair of axes with all that stands in it; panels one above the other |
| `tips`, `words`, `say` | what is said of bins, levels and points; of a figure to who does not see it; of a result |
| `figure`, `many`, `over` | `effect`; `effects` and `small`; `compare` |
| `heat`, `lattice`, `isolines`, `cells` | surfaces: patches of colour, contours, what is said of cells |
| `bars`, `before` | importances; rows before and after permutation |
| `diagnosis`, `places`, `calibration`, `ledger`, `fits` | diagnoses; the overviews of a report; several models |
| `tables`, `behind` | the numbers behind pictures |
| `page`, `explore`, `notebook` | pages of figures; interactive twins of `plot`; what notebooks show |
| `assets` | how all of it looks, and the script |
"""
