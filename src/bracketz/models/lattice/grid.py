"""Bonds and clusters of a rectangular grid.

Bonds are an array (2, N, D): [0, i, j] joins site (i, j) with its right neighbour, [1, i, j] with
the one below. On a periodic grid the last column's right neighbour is the first column; a side of
length 2 then has two bonds between the same sites, and a side of length 1 has none.
"""

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.model import Shape


def present(shape: Shape, periodic: bool) -> np.ndarray:
    """Which bonds there are, (2, N, D)."""
    n, d = shape
    there = np.ones((2, n, d), dtype=bool)
    there[0, :, -1] = periodic and d > 1
    there[1, -1, :] = periodic and n > 1
    return there


def colouring(shape: Shape, periodic: bool) -> tuple[np.ndarray, int]:
    """(a colour for each site such that no bond joins two of one colour, how many colours).

    A checkerboard. An odd side that closes upon itself cannot alternate: its last line gets a third
    colour, and colours of line and column add up modulo 3, so that neighbours still differ.
    """
    lines = [np.arange(length) % 2 for length in shape]
    odd = [periodic and length % 2 == 1 and length > 1 for length in shape]
    for line, alone in zip(lines, odd, strict=True):
        line[-1] = 2 if alone else line[-1]
    count = 3 if any(odd) else 2
    return (lines[0][:, None] + lines[1]) % count, count


def around(bonds, values):
    """Sum over a site's neighbours of bond times value; values (N, D, ...), bonds (2, N, D)."""
    right, down = (bond.reshape(bond.shape + (1,) * (values.ndim - 2)) for bond in bonds)
    return (
        right * jnp.roll(values, -1, axis=1)
        + jnp.roll(right * values, 1, axis=1)
        + down * jnp.roll(values, -1, axis=0)
        + jnp.roll(down * values, 1, axis=0)
    )


def agree(sites):
    """Whether the two ends of each bond are equal, (2, N, D)."""
    return jnp.stack([sites == jnp.roll(sites, -1, axis=1), sites == jnp.roll(sites, -1, axis=0)])


def clusters(bonds, grounded=None):
    """Labels of the connected components of open ``bonds`` (2, N, D): 1 + the least index in it.

    Sites in ``grounded`` (N, D) are joined to one vertex outside the grid, whose label is 0. Each
    round takes the least label next door and then the label of that label; what stays as it is is
    constant on every component. Rounds grow like the logarithm of a component's width.
    """
    right, down = bonds
    n, d = right.shape
    labels = 1 + jnp.arange(n * d, dtype=jnp.int32).reshape(n, d)
    if grounded is not None:
        labels = jnp.where(grounded, 0, labels)
    from_left, from_above = jnp.roll(right, 1, axis=1), jnp.roll(down, 1, axis=0)

    def least(labels):
        low = jnp.minimum(labels, jnp.where(right, jnp.roll(labels, -1, axis=1), labels))
        low = jnp.minimum(low, jnp.where(from_left, jnp.roll(labels, 1, axis=1), labels))
        low = jnp.minimum(low, jnp.where(down, jnp.roll(labels, -1, axis=0), labels))
        return jnp.minimum(low, jnp.where(from_above, jnp.roll(labels, 1, axis=0), labels))

    def jump(labels):
        return jnp.append(jnp.zeros(1, jnp.int32), jnp.ravel(labels))[labels]

    def round_(carry):
        labels, _ = carry
        new = jump(jump(least(labels)))
        return new, jnp.any(new != labels)

    return jax.lax.while_loop(lambda carry: carry[1], round_, (labels, jnp.array(True)))[0]
