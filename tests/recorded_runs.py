"""Everything around the engine with no engine: runs are written down, and weights made up.

What is decided, passed on and reported can be looked at without compiling anything.
"""

import importlib
from typing import Any, NamedTuple
from zlib import crc32

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.engine import run as engine
from bracketz.engine.recorder import Recorded
from bracketz.engine.run import Outcome

#: Log evidence of whatever is asked, and the spread of made-up log-weights around it.
TRUTH, SPREAD = -10.0, 0.3


class Run(NamedTuple):
    """One call of the engine."""

    program: Any  # without what records
    steps: int
    chains: int
    seed: int
    stream: str
    outcome: Outcome

    @property
    def keys(self) -> list[bytes]:
        """One per chain: all a chain draws follows from it."""
        stream = np.uint32(crc32(self.stream.encode()))
        ids = np.arange(self.chains, dtype=np.uint32)
        keys = engine.chain_keys(np.int64(self.seed), stream, ids)
        return [key.tobytes() for key in np.asarray(jax.random.key_data(keys))]


class Runs:
    """What was run, in order, and other keys that were used."""

    def __init__(self, monkeypatch):
        self.made: list[Run] = []
        self.seeds: list[tuple[str, tuple[int, ...]]] = []  # of NumPy's generators
        self._rng = np.random.default_rng
        self.spread: float = SPREAD
        monkeypatch.setattr(engine, "_run", self._run)
        for name in ("sandwich", "procedure"):
            module = importlib.import_module(f"bracketz.inference.{name}")
            monkeypatch.setattr(module, "compile_together", lambda programs, chains: 0.0)
        monkeypatch.setattr(np.random, "default_rng", self._default_rng)

    def _default_rng(self, seed=None):
        if isinstance(seed, list):
            self.seeds.append(("numpy", tuple(seed)))
        return self._rng(seed)

    def _run(self, program, num_steps, chains, seed, stream, session):
        number = len(self.made)
        like = jax.eval_shape(lambda: program.start_of(jax.random.key(0), jnp.uint32(0)))
        names = 1000 * number + np.arange(chains)  # tells whose state a state is

        def made_up(a):
            own = np.reshape(
                names if a.dtype.kind in "iu" else 1 + 1e-6 * names, (-1, *[1] * a.ndim)
            )
            return np.broadcast_to(own, (chains, *a.shape)).astype(a.dtype)

        carry = jax.tree.map(made_up, like)
        rng = self._rng([seed, crc32(stream.encode())])
        noise = rng.normal(size=chains)
        if isinstance(program, Recorded):
            carry = carry._replace(increments=rng.normal(size=carry.increments.shape))
        values = TRUTH + self.spread * noise - program.sign * 0.5 * self.spread**2
        outcome = Outcome(values, carry, True, 0.01, 0.0)
        inner = program.program if isinstance(program, Recorded) else program
        self.made.append(Run(inner, num_steps, chains, seed, stream, outcome))
        return outcome

    @property
    def streams(self) -> list[str]:
        return [run.stream for run in self.made]

    def named(self, beginning: str) -> list[Run]:
        """Runs whose stream begins like this."""
        return [run for run in self.made if run.stream.startswith(beginning)]

    def table(self) -> list[tuple[str, object]]:
        """(purpose, key) of every chain of every run, and of every generator of NumPy's."""
        chains = [
            (f"{run.stream}, chain {k}", key) for run in self.made for k, key in enumerate(run.keys)
        ]
        return chains + list(self.seeds)
