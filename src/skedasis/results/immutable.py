"""Results are immutable: all of their arrays are read-only, also after pickling and copying."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Self

import numpy as np

from skedasis.results.described import Documented


class Immutable(Documented):
    """Base of results and of their parts."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Make all arrays read-only."""
        make_read_only(*vars(self).values())

    def altered(self, **attributes: object) -> Self:
        """Return a copy with other values of attributes, which are not checked; the other ones are shared."""
        found = object.__new__(type(self))
        vars(found).update(vars(self) | attributes)
        make_read_only(*attributes.values())
        return found

    def __setstate__(self, state: Mapping[str, object]) -> None:
        """Restore a pickled or copied object: NumPy returns arrays writeable."""
        vars(self).update(state)
        make_read_only(*state.values())


class Recorded(Immutable):
    """Base of results with a record of how they were computed."""

    __slots__ = ()

    def with_provenance(self, entries: Mapping[str, object]) -> Self:
        """Return the result with entries added to its provenance."""
        return self.altered(provenance={**vars(self)["provenance"], **entries})


_PLAIN = (str, int, float, bool, type(None))
_DONE = (*_PLAIN, Immutable)
"""What needs nothing: an immutable object has made its own arrays read-only."""


def make_read_only(*values: object) -> None:
    """Make arrays read-only: these, and those that mappings, sequences and dataclasses among the values hold."""
    for value in values:
        if isinstance(value, _DONE):
            continue
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        elif isinstance(value, Mapping):
            make_read_only(*value.values())
        elif isinstance(value, (list, tuple)):
            # The levels of a feature, names of features: many, and no arrays among them.
            if value and not isinstance(value[0], _PLAIN):
                make_read_only(*value)
        elif is_dataclass(value) and not isinstance(value, type):
            make_read_only(*vars(value).values())
