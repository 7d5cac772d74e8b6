"""A reader of Universal Binary JSON (ubjson.org, draft 12) as XGBoost writes it: arrays are read at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from skedasis.quantity.trees.flat import NoTrees

_TYPES = {
    ord("i"): np.dtype(">i1"),
    ord("U"): np.dtype(">u1"),
    ord("I"): np.dtype(">i2"),
    ord("l"): np.dtype(">i4"),
    ord("L"): np.dtype(">i8"),
    ord("d"): np.dtype(">f4"),
    ord("D"): np.dtype(">f8"),
}
_CONSTANTS = {ord("Z"): None, ord("T"): True, ord("F"): False}
_OPEN, _CLOSE, _LIST, _END, _TEXT = (ord(letter) for letter in "{}[]S")
_ONE_TYPE, _COUNT = ord("$"), ord("#")


class Reader:
    r"""Reads the values of a document one after the other.

    Parameters
    ----------
    document : bytes

    Examples
    --------
    >>> Reader(b"{i\x01aSi\x02hi" + b"i\x01b[$U#i\x02\x07\x09}").value()
    {'a': 'hi', 'b': array([7, 9], dtype=uint8)}
    """

    def __init__(self, document: bytes | bytearray) -> None:
        self.document, self.at = bytes(document), 0

    def value(self) -> Any:
        """Return the next value: a dict, a list, an array of numbers of one type, a text, a number, a truth or None.

        Raises
        ------
        NoTrees
            For what XGBoost has never written so far.
        """
        mark = self._byte()
        if mark == _OPEN:
            return self._mapping()
        if mark == _LIST:
            return self._sequence()
        if mark == _TEXT:
            return self._text()
        if mark in _CONSTANTS:
            return _CONSTANTS[mark]
        return self._number(mark)

    def _byte(self) -> int:
        self.at += 1
        return self.document[self.at - 1]

    def _number(self, mark: int) -> Any:
        kind = _TYPES.get(mark)
        if kind is None:
            raise NoTrees(
                f"this version of XGBoost saves its models in another form ({chr(mark)!r})"
            )
        start, self.at = self.at, self.at + kind.itemsize
        return np.frombuffer(self.document, kind, 1, start)[0].item()

    def _length(self) -> int:
        """Return a length; most are eight bytes wide, which need no detour through NumPy."""
        mark = self._byte()
        if mark != ord("L"):
            return int(self._number(mark))
        self.at += 8
        return int.from_bytes(self.document[self.at - 8 : self.at], "big")

    def _text(self) -> str:
        size = self._length()
        self.at += size
        return self.document[self.at - size : self.at].decode()

    def _mapping(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self.document[self.at] != _CLOSE:
            key = self._text()
            found[key] = self.value()
        self.at += 1
        return found

    def _sequence(self) -> Any:
        if self.document[self.at] == _ONE_TYPE:
            kind = _TYPES[self.document[self.at + 1]]
            self.at += 3  # the type, and the mark of the count
            count = self._length()
            start, self.at = self.at, self.at + count * kind.itemsize
            return np.frombuffer(self.document, kind, count, start).astype(kind.newbyteorder("="))
        if self.document[self.at] == _COUNT:
            self.at += 1
            return [self.value() for _ in range(self._length())]
        found: list[Any] = []
        while self.document[self.at] != _END:
            found.append(self.value())
        self.at += 1
        return found
