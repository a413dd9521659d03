"""An estimator: stepping stones.

log p(y) is a sum over neighbours on the tempered path, log Z_t / Z_{t-1}, and each is the log of
the average of f(x; b_t) / f(x; b_{t-1}) over a chain at b_{t-1}. The chain starts at a prior draw
and is handed on from stone to stone without being in equilibrium, and an average over one chain is
used in a product: the value is consistent in `samples`, but it is no bound on either side.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp

import bracketz as bz


@bz.pytree_dataclass
class SteppingStones(bz.Program):
    """One chain; the carry is (state, log sum of this stone's ratios, log evidence so far)."""

    model: Any
    y: Any
    path: Any
    samples: Any

    def start(self, key):
        """A prior draw, before the first stone."""
        state = self.model.sample_prior(key, self.y.shape)
        return state, jnp.array(-jnp.inf), jnp.array(0.0)

    def step(self, key, carry, index):
        """One sweep at the present stone, one ratio; after the last, on to the next stone."""
        state, log_sum, total = carry
        stone, sample = index // self.samples, index % self.samples
        powers = self.path.powers(stone, self.y.shape[0])
        state = self.model.kernel(self.y, powers).step(key, state)
        log_ratio = self.path.log_edge(self.model, self.y, state, stone + 1)
        log_sum = jnp.logaddexp(log_sum, log_ratio)
        last = sample == self.samples - 1
        total = jnp.where(last, total + log_sum - jnp.log(self.samples), total)
        return state, jnp.where(last, -jnp.inf, log_sum), total

    def log_value(self, carry):
        """The sum over the stones."""
        return carry[2]


@dataclass(frozen=True)
class SteppingStone(bz.Estimator):
    """Stepping stones along the tempered path. No bound. Cost: stones * samples sweeps."""

    name: ClassVar[str] = "stepping-stone"
    knob: ClassVar[str] = "samples"
    combine: ClassVar[bz.Combine] = bz.Combine.MEAN_LOG

    samples: int = 50
    stones: int = 32

    def __post_init__(self):
        """Refuse what makes no path."""
        for name in ("samples", "stones"):
            if getattr(self, name) < 1:
                raise bz.InputError(f"{name} must be at least 1, got {getattr(self, name)}")

    def side(self, data):
        """The chains are not in equilibrium: no bound."""
        return bz.Side.NONE

    def run(self, model, data, trials, seed, session):
        """Independent chains, one per trial."""
        path, _ = bz.Tempered().at(self.stones + 1, model, len(data.y))
        program = SteppingStones(model, data.y, path, self.samples)
        steps = self.stones * self.samples
        return bz.run_chains(
            program, steps, chains=trials, seed=seed, stream=self.name, session=session
        )


if __name__ == "__main__":
    model = bz.LowRank(components=2)
    data = bz.simulate(model, rows=10, columns=4, seed=0)
    truth = bz.sandwich(model, data, gap=0.5)
    print(f"sandwich       {truth.lower:.2f} .. {truth.upper:.2f}, {truth.log_ml:.2f}")
    for samples in (2, 10, 50):
        answer = bz.estimate(model, data, SteppingStone(samples), trials=10)
        value = f"{answer.log_ml:.2f} +- {answer.standard_error:.2f}"
        print(f"{answer.estimator} {value}, side {answer.side.value}, {answer.knobs}")
