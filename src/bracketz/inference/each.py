"""Many data sets of one model, each bracketed by itself: the held-out images of a decoder.

**Forwards.** K runs from the prior for each of n data sets; w_ik averages to p(y_i): the log
of the mean over k is a stochastic lower bound, lower_i. **Backwards.** From a posterior state of
each data set, K' runs; the mean of 1 / w averages to 1 / p(y_i), and upper_i = -log of it.

**Simulated data**: the state that made y_i is an exact posterior sample, and upper_i is certified.
**Observed data**: the K forward runs of a data set are the proposals of an independence sampler
(``bracketz.inference.coupling``), whose last state begins the reverse runs. It is within e_i of the
posterior in total variation, by an estimate from the same weights: upper_i is *conditional*.

**The mean over data sets** has a certificate that many data sets make narrow. The n averages are
independent given y, so their product has mean prod_i p(y_i), and by Markov's inequality

    Pr(mean_i lower_i > mean_i log p(y_i) + log(1 / a) / n) <= a;

likewise above, with the product of the averages of 1 / w. A failure probability d is halved between
the sides for simulated data. For observed ones the joint law of the starts is within sum_i e_i of
the posterior's; that may take half of d, the lower side has a fifth, the upper side the rest
(``bracketz.inference.procedure``). Where sum_i e_i is more, there is no upper bound.

Kernels and schedule are tuned by pilots on the first few data sets, which see y and no exact
sample, and frozen (``bracketz.models.factored.many``). Cost: n (K + K') chains of as many sweeps as
there are edges, all in one compiled program for each direction.
"""

import math
import time
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.model import Model
from bracketz.core.precision import double_precision
from bracketz.core.pytree import pytree_dataclass, static
from bracketz.core.results import Seconds, check_confidence
from bracketz.core.validation import check_seed, require_at_least
from bracketz.core.weights import log_mean
from bracketz.data.dataset import Data
from bracketz.data.identity import model_label
from bracketz.engine.anneal import Forward, FromStates, Particles
from bracketz.engine.devices import use_all_cores
from bracketz.engine.run import Outcome, run_chains
from bracketz.engine.session import Session
from bracketz.errors import InputError
from bracketz.inference.brackets import Brackets
from bracketz.inference.coupling import couple
from bracketz.inference.procedure import BELOW, MOST_FAR, UNIFORMS
from bracketz.models.factored import Factored
from bracketz.models.factored.many import OneOfMany, Seat, Shared, shared
from bracketz.paths import Tempered

#: Data sets with a pilot of their own.
PILOTS = 8
#: Keep the pilots' randomness, and that of data simulated here, apart from every run's.
PILOT_STREAM, DATA_STREAM = 0xEAC4, 0xEAC5
#: Distributions, at the least: reverse chains take a few edges to forget their start.
FEWEST = 16
CONDITION = (
    "conditional on the forward runs of each data set having found what matters of its posterior"
)


def simulate_each(model: Factored, count: int, seed: int = 0) -> Data:
    """Draw many data sets from a model of a prior and a likelihood, each with its exact sample.

    Args:
        model: of one data set.
        count: how many.
        seed: everything random follows from it.

    Returns:
        y and the exact samples, with a leading axis of data sets.

    Example:
        >>> import bracketz as bz
        >>> bz.simulate_each(bz.Decoder(), 3, seed=1).y.shape
        (3, 6)
    """
    _require_factored(model)
    check_seed(seed)
    require_at_least(1, count=count)
    use_all_cores()
    with double_precision():
        key = jax.random.fold_in(jax.random.key(seed, impl="threefry2x32"), DATA_STREAM)
        y, exact = _drawn(model, jax.random.split(key, count))
        return Data(*jax.tree.map(np.asarray, (y, exact)))


@jax.jit
def _drawn(model: Factored, keys):
    def one(key):
        key_state, key_data = jax.random.split(key)
        x = model.sample_prior(key_state)
        return model.simulate(key_data, x), x

    return jax.vmap(one)(keys)


@pytree_dataclass
class ForwardEach(Forward):
    """Forward runs, of which ``each`` in a row have one data set."""

    particles: int = static(default=1)
    each: Any = 1

    def start_of(self, key, chain):
        count = jax.tree.leaves(self.y)[0].shape[0]
        own = jnp.minimum(chain // self.each, count - 1).astype(int)
        begun = self.start(key)
        seats = Seat(begun.states.position, jnp.full(self.particles, own))
        return Particles(seats, begun.log_weights)


def bracket_each(
    model: Factored,
    data,
    *,
    gap: float = 0.1,
    distributions: int | None = None,
    chains: int = 16,
    reverse_chains: int = 4,
    confidence: float = 0.95,
    seed: int = 0,
    session: Session | None = None,
) -> Brackets:
    """Bracket log p(y_i) of each of many data sets under one model, all of them at once.

    Args:
        model: of one data set: a prior and a likelihood, such as ``Decoder``.
        data: from ``simulate_each``, with an exact sample for each: upper bounds are certified. Or
            observed data, an array with a leading axis: upper bounds are conditional.
        gap: mean single-chain gap to aim at (nats), where ``distributions`` is not given: the
            square of the pilots' path length over it.
        distributions: from the prior to the posterior.
        chains: forward runs of each data set, whose weights are averaged; of observed data they are
            the proposals, too.
        reverse_chains: of each data set.
        confidence: of the interval for the mean.
        seed: everything random follows from it.
        session: time budget, checkpoint and progress; none of them by default.

    Returns:
        Both bounds of each, and an interval for their mean.

    Raises:
        InputError: a model that is none of a prior and a likelihood, data that do not fit it, or a
            value out of range.

    Example:
        >>> import bracketz as bz, numpy as np
        >>> images = np.random.default_rng(0).integers(2, size=(3, 6))
        >>> bz.bracket_each(bz.Decoder(), images, distributions=16).kind
        'conditional'
    """
    _require_factored(model)
    check_seed(seed)
    check_confidence(confidence)
    require_at_least(2, chains=chains)
    require_at_least(1, reverse_chains=reverse_chains)
    if not gap > 0:
        raise InputError(f"gap must be positive, got {gap}")
    if distributions is not None:
        require_at_least(2, distributions=distributions)
    data, session = data if isinstance(data, Data) else Data(data), session or Session()
    use_all_cores()
    with double_precision():
        y = _fitting(model, data.y)
        ready, pilot_seconds = _piloted(model, y, seed, session)
        if distributions is None:
            distributions = max(FEWEST, math.ceil(ready.length**2 / gap) + 1)
        runs = _Runs(ready.model, y, Tempered(ready.schedule).through(distributions), seed, session)
        up = runs.forward(chains)
        forward = up.log_values.reshape(-1, chains)
        lower = np.array([log_mean(row) for row in forward])
        exact, far = data.exact, 0.0
        fail, kind = 1 - confidence, "certified" if data.simulated else "conditional"
        shares = (0.5, 0.5) if data.simulated else (BELOW, 1 - BELOW - MOST_FAR)
        if data.simulated:
            starts = ready.model.adopt(exact)
        else:
            starts, far = _ends(up, forward, seed)
        reverse = upper = down = None
        if far <= MOST_FAR * fail:
            down = runs.reverse(starts, reverse_chains)
            reverse = down.log_values.reshape(-1, reverse_chains)
            upper = np.array([-log_mean(-row) for row in reverse])
    count = len(lower)
    done = [up] if down is None else [up, down]
    return Brackets(
        model=model_label(model),
        lower=lower,
        upper=upper,
        kind=kind,
        condition=None if data.simulated else CONDITION,
        mean_low=float(np.mean(lower)) + math.log(shares[0] * fail) / count,
        mean_high=None
        if upper is None
        else float(np.mean(upper) - math.log(shares[1] * fail) / count),
        confidence=confidence,
        total_variation=far,
        forward=forward,
        reverse=reverse,
        distributions=distributions,
        length=ready.length,
        seed=seed,
        seconds=Seconds(sum(o.run_seconds for o in done), sum(o.compile_seconds for o in done)),
        pilot_seconds=pilot_seconds,
    )


@dataclass(frozen=True)
class _Runs:
    """What does not change between the two directions."""

    model: OneOfMany
    y: Any
    path: Tempered
    seed: int
    session: Session

    def forward(self, chains: int) -> Outcome:
        """``chains`` runs of each data set, one after another."""
        program = ForwardEach(self.model, self.y, self.path, each=np.int64(chains))
        return self._run(program, "lower of each", chains)

    def reverse(self, starts: Seat, chains: int) -> Outcome:
        """The same from a state of each."""
        starts = jax.tree.map(np.asarray, starts)
        program = FromStates(self.model, self.y, self.path, starts, each=np.int64(chains))
        return self._run(program, "upper of each", chains)

    def _run(self, program, stream: str, chains: int) -> Outcome:
        count = jax.tree.leaves(self.y)[0].shape[0]
        found = run_chains(
            program,
            self.path.num_edges,
            chains=count * chains,
            seed=self.seed,
            stream=stream,
            session=self.session,
        )
        if not found.finished:
            raise InputError("the runs did not finish within `max_seconds`; allow more time")
        return found


def _ends(up: Outcome, forward: np.ndarray, seed: int) -> tuple[Seat, float]:
    """Where an independence sampler stands after the runs of each data set, and the sum of how far
    it may be from the posterior."""
    chains = forward.shape[1]
    rng = np.random.default_rng([seed, UNIFORMS])
    found = [couple(row, chains, rng) for row in forward]
    ends = np.array([k * chains + int(one.ends[0]) for k, one in enumerate(found)])
    states = jax.tree.map(lambda a: np.asarray(a)[ends, 0], up.carry.states)
    return states, float(sum(one.total_variation for one in found))


def _piloted(model: Factored, y, seed: int, session: Session) -> tuple[Shared, float]:
    began = time.perf_counter()
    count = jax.tree.leaves(y)[0].shape[0]
    key = jax.random.fold_in(jax.random.key(seed, impl="threefry2x32"), PILOT_STREAM)
    with session.working("pilot"):
        ready = shared(model, y, min(PILOTS, count), key, session.progress.note)
    return ready, time.perf_counter() - began


def _fitting(model: Factored, y) -> Any:
    """Data sets as the model wants them, each looked at by itself."""
    arrays = jax.tree.leaves(y)
    if not arrays or any(np.ndim(a) < 1 for a in arrays) or not all(len(a) for a in arrays):
        raise InputError("`data` must hold several data sets along a leading axis")
    count = len(arrays[0])

    def observed(k: int):
        return model.observations(jax.tree.map(lambda a: np.asarray(a)[k], y))

    first = observed(0)  # all have its shape
    fitted = jax.tree.map(
        lambda like, a: np.asarray(a).reshape(count, *like.shape).astype(like.dtype), first, y
    )
    # Where a cast changed a value, the model says what is wrong with it.
    changed = np.zeros(count, bool)
    for array, cast in zip(arrays, jax.tree.leaves(fitted), strict=True):
        changed |= (np.asarray(array).reshape(cast.shape) != cast).reshape(count, -1).any(1)
    for place in np.flatnonzero(changed):
        observed(int(place))
    for k in range(count):
        model.check_data(jax.tree.map(lambda a, k=k: a[k], fitted))
    return fitted


def _require_factored(model: Model) -> None:
    if not isinstance(model, Factored) or model.has_own_kernel:
        raise InputError(
            f"many data sets at once need a model of a prior and a likelihood whose kernels a pilot"
            f" tunes, such as bracketz.Decoder; {type(model).__name__} is none"
        )
