"""One factored model, many data sets: each chain has its own.

Where data sets are independent given what is known (the images of a decoder), their evidences are
one number each, and one compiled program can find them all: a chain's state says which data set is
its own, and its densities and kernels look that one up. Kernels and schedule come from pilots on a
few of the data sets and are frozen for all. A table fits none of them perfectly, which costs
efficiency and never correctness: any table keeps every f(.; b) invariant.

Tables are merged at common inverse temperatures: of the pilots' covariances the mean, of their step
sizes the least, and of their schedules the mean.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.kernel import Kernel
from bracketz.core.model import Model
from bracketz.core.pytree import pytree_dataclass
from bracketz.models.factored.model import Factored
from bracketz.models.factored.pilot import TABLE, Survey, steps_of, survey
from bracketz.models.factored.tuned import Position, Tuned, Tuning
from bracketz.numerics.noise import plain
from bracketz.paths.schedules import Adapted


class Seat(NamedTuple):
    """Where a chain is, and whose data it looks at."""

    position: Position
    which: jax.Array  # the number of its data set


def mine(y, which):
    """The data set of a number, of several along a leading axis."""
    return jax.tree.map(lambda a: jnp.asarray(a)[which], y)


@pytree_dataclass
class OneOfMany(Model):
    """``tuned`` on the data set its state names; y has them along a leading axis."""

    tuned: Tuned

    settling = Tuned.settling

    def adopt(self, states) -> Seat:
        """States of the model, one for each data set, as states of this."""
        positions = jax.vmap(self.tuned.adopt)(states)
        return Seat(positions, jnp.arange(positions.vector.shape[0]))

    def num_rows(self, y):
        return self.tuned.num_rows(jax.tree.map(lambda a: a[0], y))

    def data_shape(self, y):
        return self.tuned.data_shape(jax.tree.map(lambda a: a[0], y))

    def doubtful(self, y, states):
        return False

    def sample_prior(self, key, shape=None):
        return Seat(self.tuned.sample_prior(key), jnp.zeros((), int))

    def simulate(self, key, state, shape=None):
        return self.tuned.simulate(plain(key), state.position)

    def log_annealed(self, state, y, powers):
        return self.tuned.log_annealed(state.position, mine(y, state.which), powers)

    def log_increment(self, state, y, after, before):
        return self.tuned.log_increment(state.position, mine(y, state.which), after, before)

    def kernel(self, y, powers) -> Kernel:
        return _OfOne(self.tuned, y, powers)


class _OfOne(Kernel):
    """The kernel of a chain's own data set."""

    def __init__(self, tuned: Tuned, y, powers, backward: bool = False):
        self.tuned, self.y, self.powers, self.backward = tuned, y, powers, backward

    def inner(self, which) -> Kernel:
        kernel = self.tuned.kernel(mine(self.y, which), self.powers)
        return kernel.reversed() if self.backward else kernel

    @property
    def reports(self):
        return self.inner(0).reports

    def step(self, key, state):
        return self.step_and_report(key, state)[0]

    def step_and_report(self, key, state):
        position, report = self.inner(state.which).step_and_report(key, state.position)
        return Seat(position, state.which), report

    def reversed(self):
        return _OfOne(self.tuned, self.y, self.powers, not self.backward)


class Shared(NamedTuple):
    """What pilots on a few data sets say, for all of them."""

    model: OneOfMany
    schedule: Adapted
    length: float  # of the path: the root of the mean square over the pilots


def shared(model: Factored, y, count: int, key, note=lambda sentence: None) -> Shared:
    """Pilots on the first ``count`` data sets, merged and frozen.

    Args:
        model: of one data set.
        y: the data sets, along a leading axis.
        count: how many have a pilot of their own.
        key: the pilots' own randomness.
        note: told a sentence now and then.
    """
    runs = []
    for k in range(count):
        runs.append(survey(model, mine(y, k), jax.random.fold_in(key, k)))
        note(f"pilot {k + 1} of {count}: the path is {runs[-1].length:.2g} long")
    betas = np.mean([run.schedule() for run in runs], axis=0)
    tuning = merged(runs, np.interp(np.linspace(0, 1, TABLE), np.linspace(0, 1, len(betas)), betas))
    length = float(np.sqrt(np.mean([run.length**2 for run in runs])))
    return Shared(OneOfMany(Tuned(model, tuning)), Adapted().frozen(betas), length)


def merged(runs: list[Survey], betas: np.ndarray) -> Tuning:
    """One table at inverse temperatures ``betas``: mean covariances, least step sizes."""
    covariances: Any = 0.0
    sizes = np.full(len(betas), np.inf)
    for run in runs:
        own = np.array([stage.beta for stage in run.stages])
        roots = np.stack([stage.root for stage in run.stages])
        dense = roots.ndim == 3
        squares = roots @ np.swapaxes(roots, 1, 2) if dense else roots**2
        above = np.clip(np.searchsorted(own, betas), 1, len(own) - 1)
        share = (betas - own[above - 1]) / (own[above] - own[above - 1])
        share = share.reshape(-1, *[1] * (squares.ndim - 1))
        covariances = covariances + (1 - share) * squares[above - 1] + share * squares[above]
        sizes = np.minimum(sizes, np.interp(betas, own, [s.step_size for s in run.stages]))
    covariances = covariances / len(runs)
    roots = np.linalg.cholesky(covariances) if covariances.ndim == 3 else np.sqrt(covariances)
    kernel = "hmc" if all(run.kernel == "hmc" for run in runs) else "hmc+walk"
    return Tuning(betas, roots, sizes, np.asarray(steps_of(sizes)), kernel)
