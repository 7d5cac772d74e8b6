"""Models with automatic differentiation: slopes of all features from one backward pass, cross derivatives from two."""

from __future__ import annotations

import hashlib
import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats
from skedasis.data.features import Feature
from skedasis.errors import UnsupportedError, explained
from skedasis.models.adapters import Adapted, Traits, first_line


@dataclass(frozen=True)
class _Look:
    """What a look at the slopes at a few rows has shown.

    Parameters
    ----------
    missing : str
        Why there are none, in words; empty where there are.
    stepped : frozenset of int
        Columns that the answer jumps in, and never slopes: rounded, or used as an index.
    """

    missing: str = ""
    stepped: frozenset[int] = frozenset()


class Differentiable(Adapted):
    """A model of a library that differentiates: torch or JAX.

    Where there is no derivative after all (an answer of whole numbers, a step that the library cannot differentiate),
    differences take its place and the traits say why; where an answer only jumps in a column, steps do. Both are seen
    at up to 64 rows of the first call.
    """

    source: ClassVar[str]

    def _start(self) -> None:
        super()._start()
        self._looks: dict[int | None, _Look] = {}
        self._bends: dict[tuple[int, int, int | None], bool] = {}
        self._together = _Together()

    def _met(self, probe: NDArray[Any]) -> None:
        super()._met(probe)
        self._looks, self._bends = {}, {}

    @abstractmethod
    def _pulled(
        self, part: NDArray[Any], columns: Sequence[int | None], row: int | None = None
    ) -> list[NDArray[Any]]:
        """Return, for each of these outputs, the gradient by all rows of its sum over the rows, or of one row's."""

    @abstractmethod
    def _crossed(self, part: NDArray[Any], j: int, k: int, column: int | None) -> NDArray[Any]:
        """Return the mixed second derivative of an output by columns j and k, (m,)."""

    def slopes(self, X: Any, output: int | None = None, *, together: bool = False) -> Floats:
        """Return the partial derivatives of an output, (n, d).

        Parameters
        ----------
        X : rows in any container
        output : int, optional
        together : bool
            Whether all outputs are asked for, one after the other: one forward pass then serves them all.
        """
        rows = self._rows(X)

        def derive(columns: Sequence[int | None]) -> list[Floats]:
            return self._slopes(rows, columns)

        if not together or output is None:
            return derive([output])[0]
        return self._together.answer(rows, output, self._count, derive)

    def mixed(self, X: Any, j: int, k: int, output: int | None = None) -> Floats:
        """Return the mixed second derivative by columns j and k, (n,).

        Raises
        ------
        UnsupportedError
            Where it is zero because the model is piecewise linear, although the two features act together.
        """
        self._check_bent(j, k, output)
        rows = self._rows(X)
        found = np.empty(len(rows))
        for part in self._parts(len(rows)):
            own = rows[part]
            found[part] = self._crossed(self._own(own), j, k, output)[: len(own)]
        return found

    def traits(self, feature: Feature, output: int | None) -> Traits:
        """Return slopes, or what takes their place."""
        look = self._look(output)
        if look.missing:
            return Traits("differences", f"central differences: {look.missing}", certain=False)
        if feature.position in look.stepped:
            found = f"differences across bins: {self.__name__} is piecewise constant in this feature (detected)"
            return Traits("steps", found, certain=False)
        return Traits("slopes", self.source)

    def has_mixed(self, output: int | None) -> bool:
        """Return whether there are mixed second derivatives: wherever there are slopes."""
        return not self._look(output).missing

    def _slopes(self, rows: NDArray[Any], columns: Sequence[int | None]) -> list[Floats]:
        """Return the partial derivatives of these outputs, stored by columns, which is how they are read."""
        found = [np.empty(rows.shape[::-1]).T for _ in columns]
        for part in self._parts(len(rows)):
            own = rows[part]
            slopes = self._pulled(self._own(own), columns)
            for out, one in zip(found, slopes, strict=True):
                out[part] = one[: len(own)]
        return found

    def _count(self) -> int:
        """Return how many outputs there are."""
        if self._probe is None:
            return 1
        shape = self._of(self._probe[:2]).shape
        return shape[1] if len(shape) > 1 else 1

    def _look(self, output: int | None) -> _Look:
        """Return what there is to derive, looked at once for each output, as soon as there are rows to look at."""
        if self._probe is None:
            return _Look()
        with self._lock:
            if output not in self._looks:
                self._looks[output] = self._looked(self._probe, output)
            return self._looks[output]

    def _looked(self, probe: NDArray[Any], output: int | None) -> _Look:
        try:
            slopes = self._slopes(probe, [output])[0]
        except Exception as error:  # noqa: BLE001 - whatever it is: the values came, their derivative did not
            return _Look(f"no derivative was found ({first_line(error)})")
        flat = np.flatnonzero((slopes == 0).all(axis=0)).tolist()
        return _Look(stepped=frozenset(j for j in flat if self._moves(probe, [j], output)))

    def _moves(self, probe: NDArray[Any], columns: Sequence[int], output: int | None) -> bool:
        """Return whether an output changes when these columns, all together but not each on its own, are changed."""
        total: Any = 0.0
        largest = 0.0
        for mask in range(2 ** len(columns)):
            rows = probe.copy()
            chosen = [j for place, j in enumerate(columns) if mask >> place & 1]
            for j in chosen:
                rows[:, j] = np.roll(np.sort(probe[:, j]), len(probe) // 2)
            answer = self._of(rows)
            answer = answer if answer.ndim == 1 else answer[:, output or 0]
            total = total + (-1.0) ** (len(columns) - len(chosen)) * answer.astype(float)
            largest = max(largest, float(np.abs(answer[np.isfinite(answer)]).max(initial=0.0)))
        moved = np.abs(total[np.isfinite(total)])
        return bool((moved > np.sqrt(self.eps) * largest).any())

    def _check_bent(self, j: int, k: int, output: int | None) -> None:
        """Refuse mixed derivatives that are zero at every row, where the features act together all the same."""
        probe, key = self._probe, (j, k, output)
        if probe is None:
            return
        with self._lock:
            if key not in self._bends:
                some = self._crossed(self._own(probe), j, k, output)
                self._bends[key] = bool(some.any()) or not self._moves(probe, [j, k], output)
        if not self._bends[key]:
            raise UnsupportedError(
                explained(
                    f"mixed derivatives of {self.__name__}",
                    "zero at every row, although the two features act together: a piecewise linear model (ReLU)",
                    "a smooth one, whose mixed derivatives show how features act together",
                    "Use sd.ALE(), whose differences do",
                )
            )

    def _check_rows_apart(self, few: NDArray[Any]) -> None:
        """Refuse a model whose answer for a row depends on the rows beside it, if only by its derivative."""
        super()._check_rows_apart(few)
        first = 0 if self._of(few).ndim > 1 else None
        try:
            slopes = self._pulled(self._own(few), [first], row=0)[0]
        except Exception:  # noqa: BLE001 - no derivative, no evidence: `_look` says so when slopes are asked for
            return
        if (np.abs(np.nan_to_num(slopes[1:])) > 0).any():
            raise self._entangled("whose slopes change")


class _Together(threading.local):
    """The slopes of all outputs at some rows, from when the first output asks for its own until the last one has.

    Each output runs through the same steps on its own, mostly in turn. Where one asks several questions before it is
    the next one's turn (curves of slopes), the first of them is kept and the others are answered output by output: to
    derive all outputs for each would cost more than it saves.
    """

    def __init__(self) -> None:
        self.mark = b""
        self.waiting: dict[int, Floats] = {}

    def answer(
        self,
        rows: NDArray[Any],
        output: int,
        count: Callable[[], int],
        derive: Callable[[Sequence[int | None]], list[Floats]],
    ) -> Floats:
        """Return one output's slopes at these rows."""
        mark = _mark(rows)
        if self.waiting and (mark != self.mark or output not in self.waiting):
            return derive([output])[0]
        if not self.waiting:
            self.mark, self.waiting = mark, dict(enumerate(derive(range(count()))))
        return self.waiting.pop(output)


def _mark(rows: NDArray[Any]) -> bytes:
    """Return what tells these rows from others."""
    mark = hashlib.blake2b(f"{rows.shape}{rows.dtype}".encode(), digest_size=24)
    for column in rows.T:
        mark.update(np.ascontiguousarray(column).data)
    return mark.digest()
