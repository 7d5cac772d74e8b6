"""Effects of two features.

| module | what it does |
|---|---|
| `surface` | the result; start here |
| `pairs`, `side` | the algebra of pairs, and the two small matrices in which kinds of features differ |
| `pair_parts` | cells and kept rows |
| `evaluate` | values between the nodes |
| `errors`, `interval`, `draws` | standard errors by the delta method, intervals, and the bootstrap |
"""
