"""What comes out: immutable values that evaluate, re-bin, tabulate, save and plot themselves, without the model."""
