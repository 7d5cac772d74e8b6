"""The papers' experiments, and those behind claims of our own.

Each is a module that is run by itself (``python -m experiments.uale.figure_1``) or with all others (``make
experiments``), which writes ``RESULTS.md`` and the figures in ``results``. An experiment is a
module with an ``EXPERIMENT`` (`experiments/experiment.py`) whose ``run`` returns an ``Outcome``: tables, figures, and
claims that hold or do not; `experiments/catalogue.py` lists them in the papers' order, `experiments/record.py` keeps
what came out, and `experiments/__main__.py` runs them side by side.
"""
