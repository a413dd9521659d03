"""Ferromagnetic models on a rectangular grid: what Ising and Potts share.

Each site (i, j) of an N x D grid has a state x_ij in 0..q-1. With K the strengths of the bonds, not
negative, g the pull of a site towards one favoured state, and o what does not depend on x,

    log f(x) = sum_i r_i(x),
    r_i(x) = sum_j K^right_ij [x_ij = x_i,j+1] + K^down_ij [x_ij = x_i+1,j] + g_ij [x_ij = favoured]
             + o_ij.

The base is uniform, p0(x) = q^-(N D), and row i of the grid is data point i:

    log f(x; b) = -N D log q + sum_i b_i (r_i(x) + D log q),

which is p0 at b = 0 and f at b = 1. A row of powers b makes the bonds and pulls of row i b_i times
as strong, so that one kernel for any strengths serves every path: tempered (AIS), or row after row
(SMC). y, (N, D), are site fields. Z(b = 1) = sum over x of f(x).
"""

import dataclasses
from abc import abstractmethod
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.capabilities import Enumerable
from bracketz.core.kernel import Kernel
from bracketz.core.precision import double_precision
from bracketz.core.undirected import ExactDraw, Undirected
from bracketz.errors import InputError, unknown
from bracketz.kernels.compose import Compose
from bracketz.models.lattice import grid
from bracketz.models.lattice.checkerboard import Checkerboard
from bracketz.models.lattice.exact import transfer
from bracketz.models.lattice.past import clusters_from_the_past, sites_from_the_past
from bracketz.models.lattice.state import LatticeState
from bracketz.models.lattice.swendsen_wang import swendsen_wang

MAX_ENUMERATION = 2_000_000
MOVES = ("both", "swendsen-wang", "checkerboard")


class Lattice(Undirected, Enumerable):
    """What a subclass says: how many states, the strengths of bonds, the pulls of sites."""

    default_shape = (16, 16)
    #: The state sites are pulled to.
    favoured: ClassVar[int]

    coupling: Any
    field: Any
    disorder: Any
    periodic: bool
    moves: str

    @property
    @abstractmethod
    def num_states(self) -> int:
        """q."""

    @property
    @abstractmethod
    def samples_clusters(self) -> bool:
        """Whether the exact sample comes from the random-cluster model, and not from the sites."""

    @abstractmethod
    def bonds(self, shape) -> jax.Array:
        """Strengths K, (2, N, D); 0 where there is no bond."""

    @abstractmethod
    def pull(self, y) -> jax.Array:
        """Logits g of the favoured state over any other, (N, D)."""

    @abstractmethod
    def offset(self, y) -> jax.Array:
        """What a site adds to log f whatever its state, (N, D)."""

    def check_fields(self) -> None:
        """Refuse values that are none."""
        coupling = np.asarray(self.coupling, dtype=float)
        if coupling.ndim:
            object.__setattr__(self, "coupling", coupling)
        if not np.all(np.isfinite(coupling) & (coupling >= 0)):
            raise InputError(
                f"coupling must not be negative (ferromagnetic), got {coupling.min():g}"
            )
        if coupling.ndim not in (0, 3) and coupling.shape != (2,):
            raise InputError(
                "coupling must be one number, two (within rows, within columns), or an array (2,"
                f" N, D) of bonds to the right and down, got shape {coupling.shape}"
            )
        if not (np.ndim(self.field) == 0 and np.isfinite(self.field)):
            raise InputError(f"field must be a number, got {self.field}")
        if not (np.ndim(self.disorder) == 0 and 0 <= self.disorder < np.inf):
            raise InputError(f"disorder must be a number of at least 0, got {self.disorder}")
        if self.moves not in MOVES:
            raise unknown("moves", self.moves, MOVES)

    def couplings(self, shape) -> jax.Array:
        """One for each bond, (2, N, D); 0 where there is none."""
        each = jnp.asarray(self.coupling, dtype=float)
        each = each[:, None, None] if each.ndim == 1 else each
        return jnp.where(grid.present(shape, self.periodic), each, 0.0)

    def check_shape(self, shape):
        given = np.shape(self.coupling)
        if len(given) == 3 and given[1:] != tuple(shape):
            raise InputError(
                f"coupling is for a grid of {given[1]} x {given[2]} sites, and the grid has"
                f" {shape[0]} x {shape[1]}"
            )

    def check_data(self, y):
        if self.samples_clusters and np.min(np.asarray(self.pull(y))) < 0:
            raise InputError(
                "coupling from the past by clusters needs fields that are not negative, and there"
                " is one that is"
            )

    def check_state(self, state):
        sites = np.asarray(state.sites)
        if wrong := sites[(sites < 0) | (sites >= self.num_states)].tolist():
            raise InputError(
                f"a site is {wrong[0]}, and {self.num_states} states are numbered from 0 to"
                f" {self.num_states - 1}"
            )

    def doubtful(self, y, states):
        return False  # nothing is kept between visits

    # The density and its base.

    def instance(self, key, shape):
        """Site fields of zero, or normal ones with standard deviation ``disorder``."""
        return self.disorder * jax.random.normal(key, shape)

    def sample_prior(self, key, shape):
        return LatticeState(jax.random.randint(key, shape, 0, self.num_states, dtype=jnp.int8))

    def rows(self, state, y):
        """r_i(x) + D log q, (N,)."""
        sites = state.sites
        bonds = jnp.sum(self.bonds(y.shape) * grid.agree(sites), axis=0)
        here = self.pull(y) * (sites == self.favoured) + self.offset(y)
        return jnp.sum(bonds + here + jnp.log(self.num_states), axis=1)

    def log_annealed(self, state, y, powers):
        base = -state.sites.size * jnp.log(self.num_states)
        return base + jnp.sum(powers * self.rows(state, y))

    def log_increment(self, state, y, after, before):
        return jnp.sum((after - before) * self.rows(state, y))

    # Kernels.

    def _checkerboard(self, y, powers) -> Checkerboard:
        colours, count = grid.colouring(y.shape, self.periodic)
        return Checkerboard(*self._strengths(y, powers), colours, tuple(range(count)))

    def _strengths(self, y, powers) -> tuple[jax.Array, jax.Array]:
        """(bonds, logits) under powers."""
        pull = powers[:, None] * self.pull(y)
        logits = pull[:, :, None] * (jnp.arange(self.num_states) == self.favoured)
        return powers[:, None] * self.bonds(y.shape), logits

    def kernel(self, y, powers) -> Kernel:
        board = self._checkerboard(y, powers)
        if self.moves == "checkerboard":
            return board
        present = grid.present(y.shape, self.periodic)
        cluster = swendsen_wang(*self._strengths(y, powers), present)
        return cluster if self.moves == "swendsen-wang" else Compose((board, cluster))

    # Truth.

    def sample_exact(self, key, y) -> ExactDraw:
        ones = jnp.ones(y.shape[0])
        if self.samples_clusters:
            return clusters_from_the_past(
                key, self.bonds(y.shape), self.pull(y), self.favoured, self.num_states
            )
        return sites_from_the_past(key, self._checkerboard(y, ones))

    def not_drawn(self, steps):
        said = f"coupling from the past had not come to an end after {steps:,} sweeps"
        if self.samples_clusters:
            return f"{said}; use a smaller grid"
        return (
            f"{said}: so strong a coupling orders the sites; lower it, or draw the exact sample by"
            " clusters (exact=clusters), on a small grid"
        )

    def exact_evidence(self, y):
        """By a transfer matrix."""
        y = np.asarray(y, dtype=float)
        with double_precision():
            pull, offset, bonds = map(
                np.asarray, (self.pull(y), self.offset(y), self.bonds(y.shape))
            )
        logits = pull[:, :, None] * (np.arange(self.num_states) == self.favoured)
        return transfer(bonds, logits + offset[:, :, None], self.periodic)

    def nodes(self, shape):
        n = shape[0] * shape[1]
        if self.num_states**n > MAX_ENUMERATION:
            raise InputError(
                f"{self.num_states}^{n} states are too many to enumerate; use a smaller grid"
            )
        every = np.indices((self.num_states,) * n, dtype=np.int8).reshape(n, -1).T
        return LatticeState(every.reshape(-1, *shape)), 0.0

    def tiny(self):
        coupling = np.array([0.35, 0.23])
        small = dataclasses.replace(self, coupling=coupling, field=0.3, disorder=0.4)
        return small, (2, 3)
