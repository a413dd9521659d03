"""The pilot: what a path from the prior to the posterior looks like, and kernels that suit it.

A population goes from the prior to the posterior by adaptive tempering: the next inverse
temperature leaves half the effective sample size, the population is resampled, and a few HMC
trajectories move it, the step size following its acceptance to 0.8. What is kept of each stage:

    beta_k      the inverse temperature,
    R_k         a root of the population's covariance there,
    e_k, L_k    step size and leapfrog steps (a trajectory is about a quarter period, pi / 2),
    lambda_k    the length of the path up to here: sum of (beta_k - beta_{k-1}) SD(log likelihood).

E edges laid in equal parts of that length leave a single-chain gap of about lambda^2 / E if the
kernels mix perfectly (``engine.schedule``), so two paths are compared by lambda^2.

All of it depends on y and on the pilot's own random numbers. It is frozen before a measured run
begins, never sees an exact sample, and is never used as an estimate.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.weights import resample_indices
from bracketz.errors import InputError
from bracketz.models.factored.model import Factored, Flattening
from bracketz.models.factored.reference import covariance
from bracketz.models.factored.tuned import WALK_BESIDE, Position, Tuned, Tuning

#: Acceptance the step size is tuned to.
ACCEPTANCE = 0.8
#: Trajectories of a stage; how often the last stage has as many; and by how much that makes its
#: sample worth more than its population (a mixture of it needs so many to be told from one part).
MOVES, LAST, WORTH = 3, 3, 2
#: A quarter period: what a trajectory covers, in units of the root.
QUARTER = 1.57
MOST_STEPS = 16
#: Entries of the frozen table; one more stage than that, and neighbours are merged.
TABLE = 64
MOST_STAGES = 400
#: Roots are matrices up to this dimension, else standard deviations.
DENSE = 150
#: Acceptance below which a particle counts as stuck, and the share of them that calls for a walk.
STUCK, STUCK_SHARE = 0.1, 0.03
#: Correlation of the log-likelihood over a stage's moves beyond which nothing mixes.
UNMIXED = 0.9


class Stage(NamedTuple):
    """What is kept of one."""

    beta: float
    root: np.ndarray
    step_size: float
    steps: int
    length: float  # of the path up to here
    acceptance: float
    stuck: float  # share of particles whose trajectories are hardly ever accepted
    memory: float  # correlation of the log-likelihood before and after the moves


class Survey(NamedTuple):
    """A pilot's result: its stages, and its population at the end."""

    stages: tuple[Stage, ...]
    sample: np.ndarray  # (n, d), from several moves
    evaluations: int  # of the likelihood and its gradient
    independent: int  # draws that the sample is worth
    log_evidence: float  # by the tempering weights: rough, to compare pilots by
    spread: float  # of it, as chance alone would have it

    @property
    def length(self) -> float:
        """Of the whole path."""
        return self.stages[-1].length

    @property
    def kernel(self) -> str:
        """What a sweep should be made of."""
        late = self.stages[1:]
        if np.mean([s.acceptance for s in late]) < 0.3:
            return "walk"
        return "hmc+walk" if max(s.stuck for s in late) > STUCK_SHARE else "hmc"

    @property
    def mixes(self) -> bool:
        """Whether moves forget where they began, at every stage but a few."""
        return float(np.median([s.memory for s in self.stages[1:]])) < UNMIXED

    def tuning(self) -> Tuning:
        """Frozen: as many entries as fit the table, the last one repeated."""
        keep = np.unique(np.linspace(0, len(self.stages) - 1, TABLE).round().astype(int))
        rows = [self.stages[k] for k in keep]
        rows += [rows[-1]] * (TABLE - len(rows))
        return Tuning(
            np.array([s.beta for s in rows]),
            np.stack([s.root for s in rows]),
            np.array([s.step_size for s in rows]),
            np.array([s.steps for s in rows]),
            self.kernel,
        )

    def schedule(self, knots: int = 129) -> np.ndarray:
        """Inverse temperatures in equal parts of the path's length."""
        betas = np.array([s.beta for s in self.stages])
        lengths = np.array([s.length for s in self.stages])
        # No stage is crossed at more than 20 times the average speed, whatever the pilot saw.
        parts = np.maximum(np.diff(lengths), 0.05 * lengths[-1] / max(len(betas) - 1, 1))
        if not parts.any():
            return np.linspace(0.0, 1.0, knots)
        position = np.concatenate([[0.0], np.cumsum(parts)]) / parts.sum()
        table = np.interp(np.linspace(0.0, 1.0, knots), position, betas)
        table[0], table[-1] = 0.0, 1.0
        return table


class _Population(NamedTuple):
    states: Position  # leading axis particles
    terms: Any  # (P,): sum of the log-likelihood's terms


@functools.partial(jax.jit, static_argnames="count")
def _begin(model: Factored, y, key, count: int):
    flat = Flattening(model)

    def one(key):
        state = model.sample_pilot(key)
        terms = model.log_likelihood(state, y)
        return Position(*flat.split(state)), jnp.sum(terms), model.log_prior(state)

    states, terms, prior = jax.vmap(one)(jax.random.split(key, count))
    return _Population(states, terms), prior


@jax.jit
def _temper(population: _Population, beta, key):
    """(the next inverse temperature, the population resampled to it, the length of the step, the
    log of the mean weight and the variance of that)."""
    terms = population.terms
    finite = jnp.isfinite(terms)
    target = 0.5 * jnp.sum(finite)
    shifted = jnp.where(finite, terms - jnp.max(terms), -jnp.inf)

    def size(step):
        log_w = jnp.where(finite, step * shifted, -jnp.inf)
        return jnp.exp(2 * jax.nn.logsumexp(log_w) - jax.nn.logsumexp(2 * log_w))

    def halve(_, bracket):
        low, high = bracket
        middle = jnp.where(low > 0, jnp.sqrt(low * high), high * 1e-3)
        enough = size(middle) >= target
        return jnp.where(enough, middle, low), jnp.where(enough, high, middle)

    rest = 1.0 - beta
    low, _ = jax.lax.fori_loop(0, 50, halve, (0.0, rest))
    step = jnp.where(size(rest) >= target, rest, jnp.maximum(low, 1e-12 * rest))
    # In the middle of the step: under the prior itself the tails may have no variance.
    half = jax.nn.softmax(jnp.where(finite, 0.5 * step * shifted, -jnp.inf))
    safe = jnp.where(finite, shifted, 0.0)
    mean = jnp.sum(half * safe)
    deviation = jnp.sqrt(jnp.sum(half * (safe - mean) ** 2))
    log_w = jnp.where(finite, step * shifted, -jnp.inf)
    index = resample_indices("systematic", key, log_w)
    chosen = jax.tree.map(lambda a: a[index], population)
    beta = jnp.where(step == rest, 1.0, beta + step)
    gain = step * jnp.max(terms) + jax.nn.logsumexp(log_w) - jnp.log(terms.shape[0])
    return beta, _Population(*chosen), step * deviation, gain, 1 / size(step) - 1 / terms.shape[0]


@jax.jit
def _move(model: Factored, y, population, beta, root, step_size, key):
    """Trajectories, their step size following its acceptance.

    Gives the population, the step size, and after each move the acceptance of each particle and
    where it is.
    """
    flat = Flattening(model)
    powers = jnp.full(model.num_rows(y), beta)

    def trajectory(key, state, size):
        tuning = Tuning(jnp.ones(1), root[None], size[None], steps_of(size)[None], "hmc+walk")
        first, *others = Tuned(model, tuning).parts(y, powers)
        state, report = first.step_and_report(key, state)
        for kernel in others:
            state = kernel.step(jax.random.fold_in(key, 2), state)
        return state, report.get("acceptance", 1.0)

    def move(carry, key):
        states, size = carry
        keys = jax.random.split(key, population.terms.shape[0])
        states, accepted = jax.vmap(trajectory, (0, 0, None))(keys, states, size)
        size = size * jnp.exp(jnp.clip(3 * (jnp.mean(accepted) - ACCEPTANCE), -1.5, 0.5))
        return (states, jnp.minimum(size, QUARTER)), (accepted, states.vector)

    (states, size), (accepted, vectors) = jax.lax.scan(
        move, (population.states, step_size), jax.random.split(key, MOVES)
    )
    terms = jax.vmap(lambda s: jnp.sum(model.log_likelihood(flat.join(*s), y)))(states)
    return _Population(states, terms), size, accepted, vectors


def steps_of(size):
    """Leapfrog steps of a trajectory, about a quarter period of them."""
    return jnp.clip(jnp.round(QUARTER / size), 1, MOST_STEPS).astype(int)


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    good = np.isfinite(a) & np.isfinite(b)
    a, b = a[good] - a[good].mean(), b[good] - b[good].mean()
    scale = np.sqrt(np.sum(a * a) * np.sum(b * b))
    return float(np.sum(a * b) / scale) if scale > 0 else 0.0


def particles(size: int) -> int:
    """How many the pilot takes in this dimension."""
    return int(np.clip(8 * size, 256, 1024))


#: Particles of a model that knows its roots (``Factored.root_at``): they tune a step size and find
#: a path's length.
FEW = 128


def survey(model: Factored, y, key, note=lambda sentence: None) -> Survey:
    """Run the pilot.

    Args:
        model: prior and likelihood.
        y: the data.
        key: the pilot's own randomness.
        note: told a sentence after each stage.

    Returns:
        Stages and the last population.

    Raises:
        InputError: the prior or the likelihood is no number at a prior draw, or the likelihood is 0
            at all of them.
    """
    flat = Flattening(model)
    known = model.root_at(0.0) is not None
    count = FEW if known else particles(flat.size)
    key, key_begin = jax.random.split(key)
    population, prior = _begin(model, y, key_begin, count)
    _refuse(model, population, np.asarray(prior))
    dense = flat.size <= DENSE

    def root_of(population, beta):
        own = model.root_at(beta)
        return _root(population, dense, model.label) if own is None else np.asarray(own)

    # With a type of its own, as the moves give it back: else the first move compiles apart.
    beta, length, size = 0.0, 0.0, jnp.asarray(0.5, float)
    stages = [Stage(0.0, root_of(population, 0.0), 0.5, 3, 0.0, 1.0, 0.0, 0.0)]
    evaluations, log_evidence, variance = count, 0.0, 0.0
    while beta < 1:
        if len(stages) > MOST_STAGES:
            raise InputError(
                f"the pilot of {model.label} needs more than {MOST_STAGES} stages: the posterior is"
                " too far from the prior for tempering; take a prior nearer to the data, or rescale"
            )
        key, key_temper, key_move = jax.random.split(key, 3)
        following, population, part, gain, doubt = _temper(population, beta, key_temper)
        following, length = float(following), length + float(part)
        log_evidence, variance = log_evidence + float(gain), variance + float(doubt)
        root = root_of(population, following)
        before, beta = population.terms, following
        kept = []
        for key_turn in jax.random.split(key_move, LAST if beta == 1.0 else 1):
            population, size, accepted, vectors = _move(
                model, y, population, beta, root, size, key_turn
            )
            kept.append(np.asarray(vectors))
            steps = int(steps_of(size))
            evaluations += count * MOVES * (steps + 1 + WALK_BESIDE)
        memory = _correlation(np.asarray(before), np.asarray(population.terms))
        each = np.asarray(accepted)[-2:].mean(0)
        stages.append(
            Stage(
                beta,
                root,
                float(size),
                steps,
                length,
                float(each.mean()),
                float(np.mean(each < STUCK)),
                memory,
            )
        )
        note(f"pilot: inverse temperature {beta:.3g}, acceptance {each.mean():.2f}")
    sample = np.concatenate(kept)[2:]  # the first trajectories still remember the resampling
    sample = sample.reshape(-1, flat.size)
    spread = float(np.sqrt(variance))
    return Survey(tuple(stages), sample, evaluations, WORTH * count, log_evidence, spread)


def _root(population: _Population, dense: bool, label: str) -> np.ndarray:
    sample = np.asarray(population.states.vector)
    if not dense:
        return np.maximum(sample.std(0, ddof=1), 1e-300)
    try:
        return np.linalg.cholesky(covariance(sample))
    except np.linalg.LinAlgError:
        raise InputError(
            f"the pilot of {label} collapsed into a point or a line: the likelihood has no upper"
            " bound (noise that can go to 0, with data that fit exactly) or scales that differ too"
            " much; keep the noise away from 0 in the prior, or rescale"
        ) from None


def _refuse(model: Factored, population: _Population, prior: np.ndarray) -> None:
    """Densities that are no numbers, at draws of the prior itself."""
    terms = np.asarray(population.terms)
    for what, values in (("log_prior", prior), ("log_likelihood", terms)):
        bad = np.isnan(values) | (values == np.inf)
        if what == "log_prior":
            bad |= values == -np.inf
        if bad.any():
            k = int(np.argmax(bad))
            one = jax.tree.map(lambda a, k=k: a[k], population.states)
            said = _said(model, Flattening(model).join(*one))
            apart = "; `sample_prior` and `log_prior` do not belong together"
            raise InputError(
                f"`{what}` of {model.label} is {values[k]} at a draw of its own prior, {said}"
                + (apart if values[k] == -np.inf else "")
            )
    if not np.isfinite(terms).any():
        raise InputError(
            f"the likelihood of {model.label} is 0 at all of {len(terms):,} prior draws: data and"
            " model do not fit, or the prior misses where the likelihood is positive"
        )


def _said(model: Factored, state) -> str:
    """Parameter values in words."""
    out = []
    for path, leaf in jax.tree_util.tree_flatten_with_path(model.constrain(state))[0]:
        name = jax.tree_util.keystr(path, simple=True, separator=".") or "x"
        value = np.array2string(np.asarray(leaf), precision=4, threshold=6, separator=", ")
        out.append(f"{name} = {value}".replace("\n", ""))
    return ", ".join(out)
