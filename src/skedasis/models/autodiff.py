"""Models with automatic differentiation: slopes of all features from one backward pass, mixed derivatives from two."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skedasis._types import Floats, ModelRows, Values
from skedasis.data.features import Feature
from skedasis.errors import UnsupportedError
from skedasis.models.adapters import DerivativeInfo, ModelAdapter, first_line


@dataclass(frozen=True)
class _DerivativeProbe:
    """The slopes of an output, as seen at the probe rows."""

    missing: str = ""
    stepped: frozenset[int] = frozenset()


class Differentiable(ModelAdapter):
    """A model of a library with automatic differentiation: torch or JAX."""

    source: ClassVar[str]

    def _reset(self) -> None:
        super()._reset()
        self._probes: dict[int | None, _DerivativeProbe] = {}
        self._has_mixed: dict[tuple[int, int, int | None], bool] = {}
        self._shared = _SharedGradients()

    def _set_probe(self, probe: Values) -> None:
        super()._set_probe(probe)
        self._probes, self._has_mixed = {}, {}

    @abstractmethod
    def _gradients(
        self, part: Values, columns: Sequence[int | None], row: int | None = None
    ) -> list[Values]:
        """Return for each output the gradient, by all rows, of its sum over the rows, or of its value at one row."""

    @abstractmethod
    def _mixed_derivative(self, part: Values, j: int, k: int, column: int | None) -> Values:
        """Return the mixed second derivative of an output by columns j and k, (m,)."""

    def slopes(self, X: ModelRows, output: int | None = None, *, together: bool = False) -> Floats:
        """Return the partial derivatives of an output, (n, d)."""
        rows = self._rows(X)

        def differentiate(columns: Sequence[int | None]) -> list[Floats]:
            return self._slopes(rows, columns)

        if not together or output is None:
            return differentiate([output])[0]
        return self._shared.get(rows, output, self._count, differentiate)

    def mixed(self, X: ModelRows, j: int, k: int, output: int | None = None) -> Floats:
        """Return the mixed second derivative by columns j and k, (n,)."""
        self._check_mixed(j, k, output)
        rows = self._rows(X)
        out = np.empty(len(rows))
        for part in self._parts(len(rows)):
            some = rows[part]
            out[part] = self._mixed_derivative(self._as_input(some), j, k, output)[: len(some)]
        return out

    def derivative_info(self, feature: Feature, output: int | None) -> DerivativeInfo:
        """Return that of slopes, or of central differences or steps where these replace them."""
        seen = self._probe_derivatives(output)
        if seen.missing:
            return DerivativeInfo(
                "differences", f"central differences: {seen.missing}", exact=False
            )
        if feature.position in seen.stepped:
            source = f"differences across bins: {self.__name__} is piecewise constant in this feature (detected)"
            return DerivativeInfo("steps", source, exact=False)
        return DerivativeInfo("slopes", self.source)

    def has_mixed(self, output: int | None) -> bool:
        """Return whether there are mixed second derivatives: wherever there are slopes."""
        return not self._probe_derivatives(output).missing

    def _slopes(self, rows: Values, columns: Sequence[int | None]) -> list[Floats]:
        """Return the partial derivatives of each output, (n, d), in column-major order because columns are read."""
        slopes = [np.empty(rows.shape[::-1]).T for _ in columns]
        for part in self._parts(len(rows)):
            some = rows[part]
            gradients = self._gradients(self._as_input(some), columns)
            for out, gradient in zip(slopes, gradients, strict=True):
                out[part] = gradient[: len(some)]
        return slopes

    def _count(self) -> int:
        """Return the number of outputs."""
        if self._probe is None:
            return 1
        shape = self._output_for(self._probe[:2]).shape
        return shape[1] if len(shape) > 1 else 1

    def _probe_derivatives(self, output: int | None) -> _DerivativeProbe:
        """Return which derivatives an output has: tested once per output, as soon as there are probe rows."""
        if self._probe is None:
            return _DerivativeProbe()
        with self._lock:
            if output not in self._probes:
                self._probes[output] = self._test_derivatives(self._probe, output)
            return self._probes[output]

    def _test_derivatives(self, probe: Values, output: int | None) -> _DerivativeProbe:
        try:
            slopes = self._slopes(probe, [output])[0]
        except Exception as error:  # noqa: BLE001 - the values exist, so any failure means "no derivative"
            return _DerivativeProbe(f"no derivative was found ({first_line(error)})")
        flat = np.flatnonzero((slopes == 0).all(axis=0)).tolist()
        return _DerivativeProbe(
            stepped=frozenset(j for j in flat if self._changes(probe, [j], output))
        )

    def _changes(self, probe: Values, columns: Sequence[int], output: int | None) -> bool:
        """Return whether the difference of an output by one column, or the double difference by two, is not zero."""
        total: Floats = np.zeros(len(probe))
        largest = 0.0
        for mask in range(2 ** len(columns)):
            rows = probe.copy()
            changed = [j for bit, j in enumerate(columns) if mask >> bit & 1]
            for j in changed:
                rows[:, j] = np.roll(np.sort(probe[:, j]), len(probe) // 2)
            response = self._output_for(rows)
            response = response if response.ndim == 1 else response[:, output or 0]
            total = total + (-1.0) ** (len(columns) - len(changed)) * response.astype(float)
            largest = max(largest, float(np.abs(response[np.isfinite(response)]).max(initial=0.0)))
        difference = np.abs(total[np.isfinite(total)])
        return bool((difference > np.sqrt(self.eps) * largest).any())

    def _check_mixed(self, j: int, k: int, output: int | None) -> None:
        """Raise if the mixed derivative is zero at every probe row, although the two features interact."""
        probe, key = self._probe, (j, k, output)
        if probe is None:
            return
        with self._lock:
            if key not in self._has_mixed:
                mixed = self._mixed_derivative(self._as_input(probe), j, k, output)
                self._has_mixed[key] = bool(mixed.any()) or not self._changes(probe, [j, k], output)
        if not self._has_mixed[key]:
            raise UnsupportedError(
                f"mixed derivatives of {self.__name__}",
                "zero at every row, although the two features interact: the model is piecewise linear (ReLU)",
                "a smooth model, whose mixed derivatives show interactions",
                "Use sd.ALE(): its differences show the interaction",
            )

    def _check_row_independence(self, few: Values) -> None:
        """Raise if the output of a row, or its derivative, depends on the other rows of the same call."""
        super()._check_row_independence(few)
        first = 0 if self._output_for(few).ndim > 1 else None
        try:
            slopes = self._gradients(self._as_input(few), [first], row=0)[0]
        except Exception:  # noqa: BLE001 - without a derivative there is no evidence; `derivative_info` reports it
            return
        if (np.abs(np.nan_to_num(slopes[1:])) > 0).any():
            raise self._row_dependence("an output for a row whose slopes change")


class _SharedGradients(threading.local):
    """The slopes of all outputs at the same rows, kept from the request of the first output to that of the last one."""

    def __init__(self) -> None:
        self.fingerprint = b""
        self.waiting: dict[int, Floats] = {}

    def get(
        self,
        rows: Values,
        output: int,
        count: Callable[[], int],
        differentiate: Callable[[Sequence[int | None]], list[Floats]],
    ) -> Floats:
        """Return the slopes of one output at these rows."""
        fingerprint = _fingerprint(rows)
        if self.waiting and (fingerprint != self.fingerprint or output not in self.waiting):
            return differentiate([output])[0]
        if not self.waiting:
            self.fingerprint = fingerprint
            self.waiting = dict(enumerate(differentiate(range(count()))))
        return self.waiting.pop(output)


def _fingerprint(rows: Values) -> bytes:
    """Return a hash of the rows."""
    import hashlib  # which loads OpenSSL

    digest = hashlib.blake2b(f"{rows.shape}{rows.dtype}".encode(), digest_size=24)
    for column in rows.T:
        digest.update(np.ascontiguousarray(column).data)
    return digest.digest()
