"""A tape of a model's answers, for quantities of several outputs: one more axis, never a second code path."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from skedasis._types import Ints
from skedasis.data.containers import Borrowed, Coded
from skedasis.quantity.predicted import Predicted


class Tape:
    """Answers by what was asked: which of the batch's rows, and what their columns were replaced by.

    Each output of a model runs through the same steps on its own; the first one asks the model, the others find the
    answer here. So the model's rows are those of one output, and no method needs to know of several.
    """

    def __init__(self, answers: dict[bytes, Any] | None = None, rows: bytes = b"") -> None:
        self._answers = {} if answers is None else answers
        self._rows = rows

    def part(self, rows: Ints) -> Tape:
        """Return the tape as some of the rows see it."""
        return Tape(self._answers, hashlib.blake2b(self._rows + rows.tobytes()).digest())

    def key(self, changes: Mapping[int, Any]) -> bytes:
        """Return what identifies a question."""
        mark = hashlib.blake2b(self._rows, digest_size=24)
        for j, values in changes.items():
            mark.update(f"|{j}".encode())
            if isinstance(values, Borrowed):
                mark.update(values.mark)
                continue
            parts = (values.codes,) if isinstance(values, Coded) else values
            for part in parts if isinstance(parts, tuple) else (parts,):
                array = np.ascontiguousarray(part)
                mark.update(f"{array.shape}{array.dtype}".encode())
                mark.update(array.data)
        # Answers at the rows themselves stay when the rest is forgotten.
        return mark.digest() if changes else b"own" + self._rows

    def __contains__(self, key: object) -> bool:
        return key in self._answers

    def __getitem__(self, key: Any) -> Any:
        return self._answers[key]

    def __setitem__(self, key: Any, answer: Any) -> None:
        # A copy: a model may answer with a part of its input, which is written to later.
        self._answers[key] = answer if isinstance(answer, Predicted) else np.array(answer)

    def forget(self) -> None:
        """Forget all answers but those at the rows of X: the next feature asks other questions."""
        for key in [k for k in self._answers if k != b"own"]:
            del self._answers[key]
