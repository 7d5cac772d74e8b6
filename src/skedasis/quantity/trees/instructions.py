"""Single instructions for counting bits and for finding the lowest one, where kernels are compiled."""

from __future__ import annotations

from functools import cache
from typing import Any

from skedasis.quantity.trees import bits


@cache
def single_instructions() -> None:
    """Put single instructions in the place of the functions of `bits.py`."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic, overload

    @intrinsic
    def population(typing: Any, word: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.ctpop(args[0])

        return types.uint64(types.uint64), build

    @intrinsic
    def trailing(typing: Any, word: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

        return types.uint64(types.uint64), build

    @overload(bits.ones, inline="always")
    def ones(word: Any) -> Any:
        def one(word: Any) -> Any:
            return types.int64(population(word))  # pyright: ignore[reportCallIssue]

        return one

    @overload(bits.lowest, inline="always")
    def lowest(word: Any) -> Any:
        def one(word: Any) -> Any:
            return types.int64(trailing(word))  # pyright: ignore[reportCallIssue]

        return one
