"""Results are immutable: all of their arrays are read-only, also after pickling and copying.

Results, and the parts that they consist of, derive from `Immutable`. The classes of `skedasis.stats` whose arrays are
sums while they are computed (`Moments`, `Cells`) do not: the result that gets them makes them read-only.

Nothing is copied here. The engine copies what it takes from its caller, so that the arrays of a result are its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass

import numpy as np


class Immutable:
    """Base of results and of their parts. A subclass is a frozen dataclass.

    A subclass that defines `__post_init__` ends it with that of this class.
    """

    __slots__ = ()

    def __post_init__(self) -> None:
        """Make all arrays read-only."""
        make_read_only(*vars(self).values())

    def __setstate__(self, state: Mapping[str, object]) -> None:
        """Restore a pickled or copied object: NumPy returns arrays writeable."""
        vars(self).update(state)
        make_read_only(*state.values())


_PLAIN = (str, int, float, bool, type(None))
_DONE = (*_PLAIN, Immutable)
"""What needs nothing: an immutable object has made its own arrays read-only."""


def make_read_only(*values: object) -> None:
    """Make arrays read-only: these, and those that mappings, sequences and dataclasses among the values hold.

    Examples
    --------
    >>> array = np.zeros(2)
    >>> make_read_only({"a": [array]})
    >>> array.flags.writeable
    False
    """
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
