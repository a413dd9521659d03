"""A factored model with kernels: frozen tables of step sizes and roots, by inverse temperature."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bracketz.core.kernel import Kernel
from bracketz.core.model import Model
from bracketz.core.pytree import pytree_dataclass, static
from bracketz.kernels.compose import Compose
from bracketz.kernels.hamiltonian import HMC
from bracketz.kernels.walk import MultiScaleWalk
from bracketz.models.factored.model import Factored, Flattening
from bracketz.numerics.noise import plain

#: Proposals of a sweep of the walk: beside HMC, and alone.
WALK_BESIDE, WALK_ALONE = 2, 12
#: Scales of the walk's proposals, in units of the root (the largest shrinks with the dimension).
SMALLEST, LARGEST = 0.003, 2.4


class Position(NamedTuple):
    """A state as the kernels see it."""

    vector: jax.Array
    discrete: tuple = ()


@pytree_dataclass
class Tuning:
    """Step sizes and roots at a number of inverse temperatures, in rising order; then frozen.

    A kernel at inverse temperature b takes the first entry whose own is at least b. Any function of
    b would do: it does not depend on the states the kernel moves.
    """

    betas: Any  # (K,)
    roots: Any  # (K, d) or (K, d, d)
    step_sizes: Any  # (K,)
    steps: Any  # (K,), leapfrog steps
    kernel: str = static(default="hmc")  # what a sweep is made of: also "hmc+walk", "walk"


@pytree_dataclass
class Tuned(Model):
    """``model`` with the kernels a tuning gives; its state is a ``Position``."""

    model: Factored
    tuning: Tuning

    #: A quarter period each: after these hardly anything is left of where a chain began.
    settling = 4

    def adopt(self, state) -> Position:
        """A state of the model as one of this."""
        return Position(*Flattening(self.model).split(state))

    def restore(self, position: Position):
        """The other way round."""
        return Flattening(self.model).join(*position)

    def num_rows(self, y):
        return self.model.num_rows(y)

    def data_shape(self, y):
        return self.model.data_shape(y)

    def doubtful(self, y, states):
        return False

    def sample_prior(self, key, shape=None):
        return self.adopt(self.model.sample_prior(plain(key)))

    def simulate(self, key, state, shape=None):
        return self.model.simulate(plain(key), self.restore(state))

    def log_annealed(self, state, y, powers):
        return self.model.log_annealed(self.restore(state), y, powers)

    def log_increment(self, state, y, after, before):
        return self.model.log_increment(self.restore(state), y, after, before)

    def kernel(self, y, powers) -> Kernel:
        parts = self.parts(y, powers)
        return parts[0] if len(parts) == 1 else Compose(parts)

    def parts(self, y, powers) -> tuple[Kernel, ...]:
        """Of a sweep: what is tuned here, if anything is real; what the user wrote, if anything."""
        gibbs = self.model.gibbs(y, powers)
        tuned = (_OfVector(self, y, powers),) if Flattening(self.model).size else ()
        return tuned if gibbs is None else (*tuned, _OfState(self, gibbs))


class _OfVector(Kernel):
    """The tuned kernels on the real entries, the discrete ones as they are."""

    def __init__(self, tuned: Tuned, y, powers, backward: bool = False):
        self.tuned, self.y, self.powers, self.backward = tuned, y, powers, backward
        tuning = jax.tree.map(jnp.asarray, tuned.tuning)
        beta = jnp.mean(powers)
        k = jnp.searchsorted(tuning.betas, beta * (1 - 1e-12))
        k = jnp.minimum(k, tuning.betas.shape[0] - 1)
        self.root, self.step_size = tuning.roots[k], tuning.step_sizes[k]
        self.steps = tuning.steps[k]

    def inner(self, discrete) -> Kernel:
        """On the vector, given the rest."""
        flat = Flattening(self.tuned.model)

        def density(vector):
            return self.tuned.model.log_annealed(flat.join(vector, discrete), self.y, self.powers)

        return kernel_of(
            self.tuned.tuning.kernel, density, self.root, self.step_size, self.steps, flat.size
        )

    @property
    def reports(self):
        return self.inner(()).reports

    def step(self, key, state):
        return self.step_and_report(key, state)[0]

    def step_and_report(self, key, state):
        kernel = self.inner(state.discrete)
        kernel = kernel.reversed() if self.backward else kernel
        vector, report = kernel.step_and_report(plain(key), state.vector)
        return Position(vector, state.discrete), report

    def reversed(self):
        return _OfVector(self.tuned, self.y, self.powers, not self.backward)


def kernel_of(kind: str, density, root, step_size, steps, size: int) -> Kernel:
    """One sweep of a kind, on vectors."""
    largest = LARGEST / size**0.5
    hmc = HMC(density, step_size, root, steps)
    if kind == "hmc":
        return hmc
    if kind == "walk":
        return MultiScaleWalk(density, SMALLEST, largest, root, WALK_ALONE)
    return Compose((hmc, MultiScaleWalk(density, SMALLEST, largest, root, WALK_BESIDE)))


class _OfState(Kernel):
    """A user's kernel, on positions."""

    def __init__(self, tuned: Tuned, kernel: Kernel):
        self.tuned, self.kernel = tuned, kernel

    @property
    def reports(self):
        return self.kernel.reports

    def step(self, key, state):
        return self.tuned.adopt(self.kernel.step(plain(key), self.tuned.restore(state)))

    def step_and_report(self, key, state):
        moved, report = self.kernel.step_and_report(plain(key), self.tuned.restore(state))
        return self.tuned.adopt(moved), report

    def reversed(self):
        return _OfState(self.tuned, self.kernel.reversed())
