"""Potts: q colours on a grid, neighbours like to share theirs; undirected.

    log f(x) = sum over bonds J_ab [x_a = x_b] + sum over sites (h + y_a) [x_a = 0],   x_a in 0..q-1

For two colours it is the Ising model with half the coupling. Gibbs on the sites is not monotone for
more than two, so exact samples come from the random-cluster model, whose bonds are
(``bracketz.models.lattice.past``): fields must then favour colour 0, that is, not be negative.
"""

import dataclasses

import numpy as np

from bracketz.core.pytree import Array, pytree_dataclass, static
from bracketz.core.validation import require_at_least
from bracketz.errors import InputError
from bracketz.models.lattice import Lattice


@pytree_dataclass
class Potts(Lattice):
    """A ferromagnetic Potts model on a rectangular grid: log Z, certified on both sides.

    log f(x) = sum over bonds J [x = x'] + sum over sites (field + y) [x = 0] with q colours 0..q-1.
    y are fields of single sites, (N, D), not negative. A sweep costs O(N D q); the exact sample,
    bond by bond, O((N D)^2) per sweep.

    Args:
        colours: q.
        coupling: J, not negative: one number, one for bonds within rows and one within columns, or
            an array (2, N, D) of bonds to the right and down.
        field: of every site, towards colour 0; not negative.
        disorder: scale of random site fields, absolute values of normal ones, where none are given.
        periodic: the grid closes upon itself (a torus).
        moves: "both": Gibbs on a checkerboard, then Swendsen and Wang's clusters; or one of
            "checkerboard", "swendsen-wang".

    Raises:
        InputError: a value out of range.

    Example:
        >>> import bracketz as bz, numpy as np
        >>> model = bz.Potts(colours=3, coupling=0.5)
        >>> answer = bz.sandwich(model, np.zeros((3, 3)), gap=0.5)
        >>> abs(answer.log_ml - model.exact_evidence(np.zeros((3, 3)))) < 0.2
        True
    """

    colours: int = static(default=3)
    coupling: float | Array = 0.8
    field: float = 0.0
    disorder: float = 0.0
    periodic: bool = static(default=False)
    moves: str = static(default="both")

    name = "potts"
    favoured = 0
    default_shape = (8, 8)

    def __post_init__(self):
        self.check_fields()
        require_at_least(2, colours=self.colours)
        if self.colours > 100:
            raise InputError(f"colours must be at most 100, got {self.colours}")

    @property
    def num_states(self):
        return self.colours

    @property
    def samples_clusters(self):
        return True

    def bonds(self, shape):
        return self.couplings(shape)

    def pull(self, y):
        return self.field + y

    def offset(self, y):
        return 0.0 * y

    def instance(self, key, shape):
        return abs(super().instance(key, shape))

    def tiny(self):
        small, shape = super().tiny()
        colours = min(self.colours, 3)
        return dataclasses.replace(small, colours=colours, coupling=np.array([0.7, 0.45])), shape
