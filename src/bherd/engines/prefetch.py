"""Asking the processor for a row before it is needed; compiled code only.

Rows visited in a new order every epoch come from all over the memory, and the processor cannot guess
the next one. Told a few rows ahead, it has them at hand in time.
"""

import functools
from typing import Any

LINE = 64
"""Bytes that come from the memory at once."""


def prefetch(x: Any, row: int, column: int) -> None:
    """Nothing in plain Python; in compiled code, a hint that this place of `x` is read soon."""


@functools.cache
def register() -> None:
    """Teach numba what `prefetch` compiles to. It must be known before its users are compiled."""
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic, overload

    tools: Any = cgutils

    def typed(_: Any, x: Any, row: Any, column: Any) -> Any:
        del row, column

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = signature.args[0]
            array = context.make_array(kind)(context, builder, arguments[0])
            place = tools.get_item_pointer(context, builder, kind, array, arguments[1:], wraparound=False)
            byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
            hint = tools.get_or_insert_function(
                builder.module, ir.FunctionType(ir.VoidType(), [byte, word, word, word]), "llvm.prefetch.p0"
            )
            # To read, to keep in the nearest cache, data.
            builder.call(hint, [builder.bitcast(place, byte), word(0), word(3), word(1)])
            return context.get_dummy_value()

        return types.void(x, types.intp, types.intp), generate

    hint: Any = intrinsic(typed)

    def overloaded(x: Any, row: Any, column: Any) -> Any:
        del x, row, column

        def place(x: Any, row: Any, column: Any) -> Any:
            return hint(x, row, column)

        return place

    overload(prefetch)(overloaded)
