"""How far a sampler's output is from the posterior: bounds in nats, by bidirectional runs.

Let q_F be the law of a forward chain and q_B that of the reverse chain from an exact posterior
sample, by the exact time reversal. With l = log w, E_F[l] = log p(y) - KL(q_F || q_B) and E_B[l] =
log p(y) + KL(q_B || q_F), so

    J  =  E_B[l] - E_F[l]  =  KL(q_F || q_B) + KL(q_B || q_F),

and log p(y) is not needed. The last state of q_F is the sampler's output and that of q_B a
posterior sample: by the data-processing inequality J is at least the Jeffreys divergence between
output and posterior, and by Pinsker's the total variation is at most sqrt(J) / 2 (paper,
"Evaluating posterior inference"; Grosse, Ancha and Roy 2016, whose name for it is BREAD).

Two kinds of sampler fit.

- **A kernel** (Gibbs, HMC, NUTS with a fixed step): annealed from the prior through T
  distributions, a sweep at each. J bounds *that* sampler with *that* T. Plain chains at the
  posterior alone, whatever their length, get no credit: their weight is that of their first state,
  and J is the divergence of where they begin.
- **An approximation with a density** (ADVI, Laplace, a flow): one edge. E_q[log p(x, y) / q(x)] =
  log p(y) - KL(q || p) and the same at a posterior sample is log p(y) + KL(p || q): J is the
  Jeffreys divergence itself.

A data set has one exact sample, so what it contributes to E_B does not average out over chains. It
does over data sets, drawn from the model with the sample behind each: J is averaged over these, and
its interval is Student's t over them: *asymptotic*, an estimate of a bound, not a certificate.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.kernel import Kernel
from bracketz.core.model import Model, State
from bracketz.core.path import Path
from bracketz.core.precision import double_precision
from bracketz.core.results import Seconds, check_confidence
from bracketz.core.undirected import Undirected
from bracketz.core.validation import check_seed, require_at_least
from bracketz.core.weights import mean_interval
from bracketz.data.dataset import Data
from bracketz.data.identity import model_label
from bracketz.data.simulate import simulate
from bracketz.engine.session import Session
from bracketz.errors import InputError
from bracketz.inference.both_ways import BothWays
from bracketz.inference.distance import Quality, Reading
from bracketz.inference.ladder import Clock
from bracketz.inference.over_data_sets import over_data_sets, seed_of
from bracketz.inference.plan import Plan
from bracketz.models.moved import Moved
from bracketz.models.prepared import prepare
from bracketz.paths import Tempered

#: Keeps data sets, and runs on them, apart from every other run's randomness.
DATASETS = 0xB4EAD


class Approximation(ABC):
    """A density that stands in for the posterior of one data set: ADVI's, Laplace's, a flow's.

    Example:
        >>> import bracketz as bz, jax
        >>> class Standard(bz.Approximation):
        ...     def sample(self, key):
        ...         return jax.random.normal(key, (2,))
        ...
        ...     def log_density(self, state):
        ...         return jax.scipy.stats.norm.logpdf(state).sum()
        >>> Standard().sample(jax.random.key(0)).shape
        (2,)
    """

    @abstractmethod
    def sample(self, key) -> State:
        """A draw.

        Args:
            key: a JAX random key.

        Returns:
            A state of the model.
        """

    @abstractmethod
    def log_density(self, state: State) -> jax.Array:
        """log q(x), normalised, in the coordinates of the model's state.

        Args:
            state: a state of the model.

        Returns:
            A scalar.
        """


def quality(
    model: Model,
    rows: int | None = None,
    columns: int | None = None,
    *,
    distributions: Sequence[int] = (16, 64, 256),
    kernel: Callable[[Model, Any, Any], Kernel] | None = None,
    approximation: Callable[[Model, Any], Approximation] | None = None,
    datasets: int = 10,
    chains: int = 16,
    path: Path | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    session: Session | None = None,
) -> Quality:
    """How far a sampler's output is from the posterior, at most: the Jeffreys divergence, in nats.

    On data sets drawn from the model, averaged: forward runs of your sampler, and reverse runs from
    the sample behind each data set (``bracketz.inference.quality`` has the proof, and what it does
    not say: it is the *annealed* chain that is bounded).

    Args:
        model: any that simulates, in the parameterisation your sampler works in.
        rows, columns: size of the data; the model's own by default.
        distributions: lengths of the annealed chains; one reading each.
        kernel: yours: (model, y, powers) -> a ``Kernel`` on the model's states that leaves f(.; b)
            invariant and knows its exact reversal; its tuning must not follow from the states it
            moves. None: the model's own, or the one a pilot tunes.
        approximation: yours: (model, y) -> an ``Approximation`` of the posterior, by y alone. Not
            together with ``kernel``.
        datasets: how many to draw.
        chains: in each direction on each of them; draws of an approximation.
        path: of the annealed chains; ``Tempered()`` by default, or along a pilot's schedule.
        confidence: of the intervals.
        seed: everything random follows from it.
        session: time budget (no data set begins after it), checkpoint and progress.

    Returns:
        One reading per length.

    Raises:
        InputError: an undirected model, a kernel and an approximation, or a value out of range.

    Example:
        >>> import bracketz as bz
        >>> answer = bz.quality(bz.Clustering(components=2), 4, 2, datasets=3, chains=4)
        >>> [reading.distributions for reading in answer.readings]
        [16, 64, 256]
    """
    check_seed(seed)
    check_confidence(confidence)
    require_at_least(2, datasets=datasets, chains=chains)
    lengths = tuple(int(length) for length in distributions)
    if not lengths or min(lengths) < 2:
        raise InputError(f"`distributions` must be lengths of at least 2, got {distributions}")
    if isinstance(model, Undirected):
        raise InputError("an undirected model simulates no data; its sandwich has a Jeffreys bound")
    if kernel is not None and approximation is not None:
        raise InputError("give a `kernel` or an `approximation`, not both")
    session, clock = session or Session(), Clock()

    def gaps(data: Data, own: int) -> list[float]:
        if approximation is not None:
            return [_one_edge(model, data, approximation(model, data.y), chains, own)]
        return _annealed(model, data, kernel, lengths, chains, path, own, clock)

    def measure(number: int) -> list[float]:
        own = seed_of(seed, DATASETS, number)
        return gaps(simulate(model, rows, columns, own), own)

    table = over_data_sets(measure, datasets, session, lambda row: row[-1])  # (data sets, lengths)
    named: tuple[int | None, ...] = (None,) if approximation is not None else lengths
    return Quality(
        model=model_label(model),
        sampler=_called(kernel, approximation),
        readings=tuple(
            _reading(length, values, confidence)
            for length, values in zip(named, table.T, strict=True)
        ),
        datasets=len(table),
        chains=chains,
        seed=seed,
        converged=len(table) == datasets,
        reason=None
        if len(table) == datasets
        else f"time was up after {len(table)} of {datasets} data sets",
        seconds=Seconds(clock.run, clock.compile),
    )


def _called(kernel, approximation) -> str:
    given = kernel if approximation is None else approximation
    return "the model's own kernel" if given is None else getattr(given, "__name__", "yours")


def _annealed(model, data, kernel, lengths, chains, path, seed, clock) -> list[float]:
    """Mean gap of single chains, by length."""
    if kernel is None:
        # From the prior: a reference would be another sampler.
        ready = prepare(model, data.y, seed=seed, reference=False, chains=chains)
        runs_on, exact, schedule = ready.model, ready.adopt(data.exact), ready.schedule
    else:
        runs_on, exact, schedule = Moved(model, kernel), data.exact, None
    if path is None:
        path = Tempered() if schedule is None else Tempered(schedule)
    runs = BothWays(runs_on, data.y, path, 1, 1, chains, seed, Session(), exact=exact)
    return [runs.look(Plan(length, chains), 1, clock).single_chain_gap for length in lengths]


def _one_edge(model, data, q: Approximation, chains, seed) -> float:
    """log w at the exact sample, less its mean over draws from q."""
    with double_precision():
        ones = jnp.ones(model.num_rows(data.y))

        def log_weight(state):
            return model.log_annealed(state, data.y, ones) - q.log_density(state)

        # Data came from this seed by splitting: draws must not share its keys.
        key = jax.random.fold_in(jax.random.key(seed, impl="threefry2x32"), DATASETS)
        keys = jax.random.split(key, chains)
        forward = jax.vmap(lambda key: log_weight(q.sample(key)))(keys)
        return float(log_weight(data.exact) - jnp.mean(forward))


def _reading(length: int | None, values: np.ndarray, confidence: float) -> Reading:
    found, each = mean_interval(values, confidence), tuple(values.tolist())
    if not math.isfinite(found.mean):
        return Reading(length, math.inf, math.inf, math.nan, math.inf, confidence, each)
    return Reading(length, *found, confidence, each)
