"""To what extent to trust an effect: what there is to object to it, in sentences, and the tests behind that.

| module | what it does |
|---|---|
| `rules` | the objections to an effect, with their thresholds; start here |
| `of_surfaces` | those to a surface |
| `flags` | how objections are carried and printed |
| `split`, `within` | the variance in a bin after RHALE's Theorem 1, and whether slopes change inside it |
| `heterogeneity` | whether rows differ at the same value |
| `far` | rows that a method made up far from the data |
| `beside` | two methods' effects of one feature: do they disagree, and which to trust |
"""
