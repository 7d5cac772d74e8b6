"""Results: immutable values that evaluate, rebin, tabulate, save and plot themselves without calling the model."""
