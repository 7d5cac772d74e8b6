"""Ensembles of trees: what changing a column does to them, found by walking the trees instead of calling the model.

- `ensemble.py`: trees as flat arrays; what every loader makes and every kernel reads;
- `load.py`: from a fitted model to an ensemble, or the reason why not; a file for each library;
- `choose.py`: whether a model is walked or called;
- `coding.py`: columns as codes, so that a test of a node compares whole numbers;
- `shape.py`: the order in which nodes are visited, and what each feature decides;
- `kernels.py` and `marked.py`: the work for small trees, as sets of rows; `counting.py` for means in NumPy alone;
- `steps.py`, `walks.py` and `walked.py`: the work for large ones, row by row;
- `jit.py`, `instructions.py`, `bits.py`: how kernels are compiled;
- `forest.py`: an ensemble on a batch of rows, answering what is asked with columns replaced;
- `standin.py`: what takes the model's place in a quantity; `bound.py` its `Bound`.
"""
