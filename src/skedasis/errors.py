"""The three errors a user can meet, and the one sentence they all speak.

Every message reads *what, got -> expected -> fix*, so that the cure stands beside the symptom.
"""

from __future__ import annotations


class DataError(ValueError):
    """The data, or a name or number given with it, cannot be used as it is."""


class ModelOutputError(ValueError):
    """The model (or its slope function) returned something that is no effect's raw material."""


class UnsupportedError(TypeError):
    """What was asked for does not exist for this kind of model, feature or result."""


class BinningWarning(UserWarning):
    """Automatic bins could not satisfy what was asked of them."""


class LeftOutWarning(UserWarning):
    """Some features have no effect of the method that was asked for, and were left out."""


class TreeWarning(UserWarning):
    """The trees of a model cannot be walked, or not as fast as they might: it is called instead, which is slower."""


def explained(what: str, got: str, expected: str, fix: str) -> str:
    """Put a failure into the one form that all messages have.

    Parameters
    ----------
    what : str
        The argument or step that failed, as the user wrote it.
    got, expected : str
        What was found, and what would have been right.
    fix : str
        One sentence that starts with a verb: what to do now.

    Examples
    --------
    >>> explained(
    ...     "weights", "length 3", "length 5 (one a row)", "Pass one weight for each row of X"
    ... )
    'weights: got length 3, expected length 5 (one a row). Pass one weight for each row of X.'
    """
    end = "" if fix.endswith(("?", "!")) else "."
    return f"{what}: got {got}, expected {expected}. {fix.rstrip('.')}{end}"
