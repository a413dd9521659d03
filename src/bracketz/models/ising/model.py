"""Ising: spins on a grid that like to agree with their neighbours; undirected, any fields.

    log f(s) = sum over bonds J_ab s_a s_b + sum over sites (h + y_a) s_a,    s_a = -1 or 1

J s s' = 2 J [s = s'] - J and h s = 2 h [s = 1] - h, so it is a ``Lattice`` of two states with bonds
2 J, pulls 2 (h + y) towards up, and what is left over as the offset. Exact samples come from
coupling from the past (``bracketz.models.lattice.past``), so that a sandwich is certified on both
sides for any given couplings and fields.
"""

import jax.numpy as jnp

from bracketz.core.pytree import Array, pytree_dataclass, static
from bracketz.errors import unknown
from bracketz.models.lattice import Lattice

EXACT = ("sites", "clusters")


@pytree_dataclass
class Ising(Lattice):
    """A ferromagnetic Ising model on a rectangular grid: log Z, certified on both sides.

    log f(s) = sum over bonds J s s' + sum over sites (field + y) s with spins -1 and 1. What is
    called data elsewhere, y, are fields of single sites, (N, D): the posterior of a noisy picture
    is such a model, with y the picture over the noise variance. A sweep costs O(N D).

    Args:
        coupling: J, not negative: one number, one for bonds within rows and one within columns, or
            an array (2, N, D) of bonds to the right and down.
        field: of every site.
        disorder: standard deviation of random site fields, where none are given.
        periodic: the grid closes upon itself (a torus).
        moves: "both": Gibbs on a checkerboard, then Swendsen and Wang's clusters; or one of
            "checkerboard", "swendsen-wang".
        exact: how coupling from the past draws the exact sample: by "sites" (fast; it takes for
            ever in the ordered phase, at couplings above 0.44), or by "clusters" (any coupling,
            small grids, no negative fields).

    Raises:
        InputError: a value out of range.

    Example:
        >>> import bracketz as bz, numpy as np
        >>> model = bz.Ising(coupling=0.2, field=0.1)
        >>> answer = bz.sandwich(model, np.zeros((3, 4)), gap=0.5)
        >>> abs(answer.log_ml - model.exact_evidence(np.zeros((3, 4)))) < 0.2
        True
    """

    coupling: float | Array = 0.4
    field: float = 0.0
    disorder: float = 0.0
    periodic: bool = static(default=False)
    moves: str = static(default="both")
    exact: str = static(default="sites")

    name = "ising"
    favoured = 1

    def __post_init__(self):
        self.check_fields()
        if self.exact not in EXACT:
            raise unknown("exact", self.exact, EXACT)

    @property
    def num_states(self):
        return 2

    @property
    def samples_clusters(self):
        return self.exact == "clusters"

    def bonds(self, shape):
        return 2 * self.couplings(shape)

    def pull(self, y):
        return 2 * (self.field + jnp.asarray(y))

    def offset(self, y):
        return -jnp.sum(self.couplings(y.shape), axis=0) - (self.field + jnp.asarray(y))
