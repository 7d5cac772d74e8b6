"""Random states: the integer that keys all random draws of a call."""

from __future__ import annotations

from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from skedasis.errors import DataError, format_error

RandomState: TypeAlias = "int | np.random.Generator | None"
"""What `random_state` may be, as in scikit-learn: an integer, a generator, or None."""


def as_seed(what: str, random_state: Any) -> int:
    """Return the integer that keys the random draws of a call.

    Parameters
    ----------
    what : str
        The argument, for the message.
    random_state : int, numpy.random.Generator or None
        An integer is taken as it is. From a generator one integer is drawn, so that its next use differs. None draws
        one from the operating system's entropy. The provenance of a result records the integer.

    Returns
    -------
    int

    Raises
    ------
    DataError
        For negative integers and other types.

    Examples
    --------
    >>> as_seed("explain(random_state)", 7)
    7
    >>> rng = np.random.default_rng(0)
    >>> as_seed("explain(random_state)", rng) == as_seed("explain(random_state)", rng)
    False
    """
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    whole = isinstance(random_state, Integral) and not isinstance(random_state, (bool, np.bool_))
    if not whole or random_state < 0:
        raise DataError(
            format_error(
                what,
                repr(random_state),
                "an integer of 0 or more, a numpy.random.Generator, or None",
                "Use 0",
            )
        )
    return int(random_state)
