"""Models in files: one reader a format. Which file gets which is decided in `quantity/files.py`.

| file | what it reads |
|---|---|
| `checks` | what every reader looks at first: that there is a file, what it begins with, and how it is refused |
| `boosters` | LightGBM's text, XGBoost's JSON and binary JSON |
| `networks` | ONNX |
| `programs` | what `torch.export.save` wrote, without the pickles that torch would load |
| `skops` | scikit-learn's models as skops writes them |
| `pickles` | pickle, joblib and torch's own: only for who trusts the file, for to read it is to run it |
"""
