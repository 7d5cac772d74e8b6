"""What models say of their labels, as distributions: their kinds, mixtures, and one dispatch from a model to them."""
