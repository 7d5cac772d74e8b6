"""What is explained: scalar functions of a row, derived from a fitted model."""
