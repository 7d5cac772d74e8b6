"""The experiments of the papers, and some additional ones.

Each is a module that can be run alone (``python -m experiments.uale.figure_1``) or with all others (``python
-m experiments``), which writes ``RESULTS.md`` and the figures in ``results``. An experiment is a module with an
``EXPERIMENT`` (`experiments/experiment.py`) whose ``run`` returns an ``Outcome``: tables, figures, and claims that hold
or do not; `experiments/catalogue.py` lists them in the order of the papers, `experiments/record.py` stores their
results, and `experiments/__main__.py` runs them in parallel.
"""
