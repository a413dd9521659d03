"""Vectors and symmetric matrices written out, number by number.

A GPU kernel in which every lane of a warp takes a chain of its own keeps the numbers of a chain in
the registers of one lane; an entry of a ``Vector`` is an array over lanes. They know the arithmetic
that formulas of the models use of arrays (``+``, ``-``, products with a number, ``@``, ``len``,
indices), so that one formula serves both.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax


def _tree(cls):
    return jax.tree_util.register_pytree_node(
        cls, lambda whole: (whole.entries, None), lambda _, entries: cls(entries)
    )


class _Entries:
    """Entry by entry arithmetic."""

    def __init__(self, entries: Iterable[Any]):
        self.entries = tuple(entries)

    def _with(self, other, of: Callable[[Any, Any], Any]):
        pairs = zip(self.entries, other.entries, strict=True)
        return type(self)(of(a, b) for a, b in pairs)

    def __add__(self, other):
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self._with(other, lambda a, b: a - b)

    def __mul__(self, number):
        return type(self)(a * number for a in self.entries)

    __rmul__ = __mul__


class Vector(_Entries):
    """
    Example:
        >>> from bracketz.numerics.lanes import Vector
        >>> (2 * Vector([1, 2]) + Vector([0, 1])) @ Vector([1, 10])
        52
    """

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.entries)

    def __getitem__(self, k: int):
        return self.entries[k]

    def __matmul__(self, other: "Vector"):
        first, *rest = (a * b for a, b in zip(self, other, strict=True))
        return sum(rest, start=first)


class Symmetric(_Entries):
    """A symmetric matrix by its lower triangle, row by row.

    Example:
        >>> from bracketz.numerics.lanes import Symmetric, Vector
        >>> m = Symmetric([1, 2, 3])  # 1 2 above 2 3
        >>> (m @ Vector([1, 10])).entries, m[1].entries, m[0, 1]
        ((21, 32), (2, 3), 2)
    """

    @property
    def size(self) -> int:
        return int((2 * len(self.entries)) ** 0.5)  # k (k + 1) / 2 of them

    def __getitem__(self, index):
        if isinstance(index, tuple):
            j, k = max(index), min(index)
            return self.entries[j * (j + 1) // 2 + k]
        return Vector(self[index, k] for k in range(self.size))

    def __matmul__(self, vector: Vector) -> Vector:
        return Vector(self[j] @ vector for j in range(self.size))


_tree(Vector)
_tree(Symmetric)


def outer(a, b):
    """a b^T of arrays; of ``Vector``s the lower triangle of it, where the sum that it enters is
    symmetric."""
    if isinstance(a, Vector):
        return Symmetric(a[j] * b[k] for j in range(len(a)) for k in range(j + 1))
    return a[:, None] * b
