"""Frozen dataclasses that JAX can look inside.

Array-like fields are traced, fields marked ``static()`` are part of the compiled program's
identity. A model whose hyperparameters are traced fields compiles once for all their values.
"""

import dataclasses
from typing import Any, TypeVar, dataclass_transform

import jax
import numpy as np

#: What a field or a state may hold: JAX's arrays, and NumPy's before they get there.
Array = jax.Array | np.ndarray

T = TypeVar("T")


def static(*, default: Any = dataclasses.MISSING) -> Any:
    """A field that is not an array: a size, a name, a flag.

    It is part of the compiled program's identity: another value costs another compilation.

    Args:
        default: the field's default; without one the field must be given.

    Returns:
        A dataclass field, for a class made by ``pytree_dataclass``.

    Example:
        >>> import bracketz as bz, jax
        >>> @bz.pytree_dataclass
        ... class Sized:
        ...     size: int = bz.static(default=2)
        >>> Sized().size, jax.tree.leaves(Sized())
        (2, [])
    """
    return dataclasses.field(default=default, metadata={"static": True})


def unchecked(cls: type[T], **values) -> T:
    """An instance around values that may be traced: ``__post_init__`` does not see them. Other
    fields get their defaults."""
    assert dataclasses.is_dataclass(cls)
    obj = object.__new__(cls)
    for field in dataclasses.fields(cls):
        object.__setattr__(obj, field.name, values.pop(field.name, field.default))
    assert not values, f"{cls.__name__} has no fields {sorted(values)}"
    return obj


@dataclass_transform(frozen_default=True, field_specifiers=(static,))
def pytree_dataclass(cls: type[T]) -> type[T]:
    """Make ``cls`` a frozen dataclass and register it as a pytree.

    ``__post_init__`` (where values are checked) runs when a person constructs the object, and not
    when JAX rebuilds it around tracers.

    Args:
        cls: a class with annotated fields: traced, unless marked by ``static``.

    Returns:
        The class.

    Example:
        >>> import bracketz as bz, jax
        >>> @bz.pytree_dataclass
        ... class Scaled:
        ...     scale: float
        ...     size: int = bz.static(default=2)
        >>> jax.tree.leaves(Scaled(3.0))
        [3.0]
    """
    cls = dataclasses.dataclass(frozen=True, eq=False)(cls)
    assert dataclasses.is_dataclass(cls)
    fields = dataclasses.fields(cls)
    static_names = tuple(f.name for f in fields if f.metadata.get("static"))
    traced_names = tuple(f.name for f in fields if not f.metadata.get("static"))

    def flatten(obj):
        children = tuple((jax.tree_util.GetAttrKey(n), getattr(obj, n)) for n in traced_names)
        return children, tuple(getattr(obj, n) for n in static_names)

    def unflatten(aux, children):
        obj = object.__new__(cls)
        for name, value in zip(static_names + traced_names, (*aux, *children), strict=True):
            object.__setattr__(obj, name, value)
        return obj

    jax.tree_util.register_pytree_with_keys(cls, flatten, unflatten)
    return cls
