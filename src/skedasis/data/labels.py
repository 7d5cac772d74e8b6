"""Labels: how the values of a categorical feature are written in tables and plots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any


def labels_of(values: Sequence[Any]) -> tuple[str, ...]:
    """Return texts for values, all different.

    Examples
    --------
    >>> labels_of([1, "1", 2.0, "", "a"])
    ('1', "'1'", '2', "''", 'a')
    """
    texts = [_text(v) for v in values]
    often = Counter(texts)
    quoted = [
        repr(v) if isinstance(v, str) and (often[text] > 1 or not v.strip()) else text
        for v, text in zip(values, texts, strict=True)
    ]
    return different(quoted)


def _text(value: Any) -> str:
    whole = isinstance(value, float) and value % 1 == 0 and abs(value) < 2**53
    return str(int(value)) if whole else str(value)


def different(labels: Sequence[str]) -> tuple[str, ...]:
    """Return labels with a number behind those that were there before."""
    seen: dict[str, None] = {}
    for label in labels:
        new, count = label, 2
        while new in seen:
            new, count = f"{label} ({count})", count + 1
        seen[new] = None
    return tuple(seen)


def unused(label: str, labels: Sequence[str]) -> str:
    """Return a label, in brackets where it is taken."""
    while label in labels:
        label = f"({label})"
    return label
