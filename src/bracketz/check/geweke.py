"""Step 2 of the appendix: two ways of drawing (x, y) must give one distribution (Geweke 2004).

Forwards: x from the prior, y given x. Successively: from such a draw, sweep x given y, redraw y
given x, and so on. Thousands of short independent chains replace one long one: each chain counts
once, through its last state and through the average of its ranks, so that no autocorrelation has to
be guessed (the effective sample size is the number of chains for the first and is reported for the
second).

At other powers b the joint of (x, y) is f(x; b) normalised over both. Where log f is quadratic in
y, redrawing y is a Gaussian draw, and where its integral over y does not depend on x, x has its
prior: then forward draws exist too.
"""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.check.quadratic import QUADRATIC, integrate
from bracketz.check.report import Check, Finding, Kind, NotApplicable
from bracketz.check.statistics import bonferroni, normal_p, same_law_p
from bracketz.check.subject import (
    Subject,
    describe_powers,
    draw,
    flatten,
    jit_draws,
    jit_once,
    power_rows,
)
from bracketz.core.model import State
from bracketz.core.undirected import Undirected
from bracketz.models.hyper_reference import at_prior
from bracketz.plots.kit import probability_plots

#: Entries of y and of the state that get a statistic of their own.
MAX_ENTRIES = 12
#: Values closer than this are equal: rounding must not part them.
ROUNDING = 1e-9


class PP(NamedTuple):
    """For the P-P plot: both distribution functions of every statistic, at the same values."""

    names: tuple[str, ...]
    forward: np.ndarray  # (points, statistics)
    chains: np.ndarray  # (points, statistics)
    num_chains: int
    title: str

    @classmethod
    def of(cls, names, reference, ends, title, points: int = 200) -> "PP":
        """``reference`` is sorted along its first axis."""
        place = np.linspace(0, len(reference) - 1, points).astype(int)

        def below(sample):
            each = [
                np.searchsorted(sample[:, j], reference[place, j] + ROUNDING, "right") / len(sample)
                for j in range(len(names))
            ]
            return np.stack(each, axis=1)

        return cls(names, below(reference), below(np.sort(ends, axis=0)), len(ends), title)


def statistics(model, state, y, powers):
    """Many functions of (x, y): entries, squares, products, and the log-density itself."""
    x, data = flatten(state)[0], jnp.ravel(y)
    x, data = x[:MAX_ENTRIES], data[:MAX_ENTRIES]
    density = model.log_annealed(state, y, powers)
    values = [x, data, data**2, data * jnp.roll(data, 1), x**2]
    size = min(x.shape[0], data.shape[0])
    extra = jnp.stack(
        [
            jnp.mean(y),
            jnp.mean(y**2),
            jnp.max(y),
            density,
            density - model.log_annealed(state, y, 0 * powers),
        ]
    )
    return jnp.concatenate([*values, x[:size] * data[:size], extra])


def _names(model, shape) -> tuple[str, ...]:
    state = jax.eval_shape(lambda k: model.sample_prior(k, shape), jax.random.key(0))
    count_x = min(MAX_ENTRIES, sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(state)))
    count_y = min(MAX_ENTRIES, shape[0] * shape[1])
    pieces = [
        ("x", count_x),
        ("y", count_y),
        ("y^2", count_y),
        ("y y'", count_y),
        ("x^2", count_x),
        ("x y", min(count_x, count_y)),
    ]
    names = [f"{name}[{i}]" for name, count in pieces for i in range(count)]
    return (*names, "mean y", "mean y^2", "max y", "log f", "log likelihood")


class Redraw(NamedTuple):
    """y from its law given x under powers: mean and root of the precision."""

    mean: jax.Array
    root: jax.Array  # Cholesky factor of the precision
    log_mass: jax.Array
    misfit: jax.Array

    def __call__(self, key, shape):
        noise = jax.random.normal(key, self.mean.shape)
        return (
            self.mean + jax.scipy.linalg.solve_triangular(self.root, noise, lower=True, trans="T")
        ).reshape(shape)


def tempered_law(model, state, shape, powers) -> Redraw:
    """y given x where the joint of both is f(x; b): Gaussian when log f is quadratic in y."""
    x, other = (
        jnp.linspace(-1.0, 1.0, shape[0] * shape[1]),
        jnp.linspace(0.7, -0.4, shape[0] * shape[1]),
    )
    found = integrate(lambda v: model.log_annealed(state, v.reshape(shape), powers), x, other)
    prior = model.log_annealed(state, jnp.zeros(shape), 0 * powers)
    return Redraw(
        found.mode, jnp.linalg.cholesky(found.precision), found.log_value - prior, found.misfit
    )


class TwoWays:
    """Forward draws against successive-conditional chains; compiled once for all rows of powers.

    ``redraw(key, state, powers)`` draws y given x. The y of an undirected model are given: forward
    draws are its exact samples, and chains from them keep y.
    """

    def __init__(self, subject: Subject, redraw):
        self.subject = subject
        self.model, self.shape = subject.tiny.model, subject.tiny.shape
        self.redraw = redraw
        self.given = isinstance(self.model, Undirected)
        self._draws = jit_draws(jax.vmap(self._forward_statistics, (0, None)))
        self._walks = jit_draws(
            lambda keys, reference, powers: jax.lax.map(
                lambda k: self._chain(k, reference, powers), keys, batch_size=500
            )
        )

    def _forward(self, key, powers) -> tuple[State, jax.Array]:
        if self.given:
            state, _, y = draw(self.model, self.shape, key)
            return state, y
        key_state, key_data = jax.random.split(key)
        state = at_prior(self.model).sample_prior(key_state, self.shape)
        return state, self.redraw(key_data, state, powers)

    def _forward_statistics(self, key, powers):
        return statistics(self.model, *self._forward(key, powers), powers)

    def _chain(self, key, reference, powers):
        """(mean and variance of the ranks along the chain, statistics of its last state)."""
        key_start, key_walk = jax.random.split(key)

        def step(carry, index):
            state, y = carry
            key_sweep, key_data = jax.random.split(jax.random.fold_in(key_walk, index))
            state = self.model.kernel(y, powers).step(key_sweep, state)
            y = y if self.given else self.redraw(key_data, state, powers)
            values = statistics(self.model, state, y, powers)
            low = jax.vmap(lambda r, v: jnp.searchsorted(r, v - ROUNDING, side="left"))(
                reference, values
            )
            high = jax.vmap(lambda r, v: jnp.searchsorted(r, v + ROUNDING, side="right"))(
                reference, values
            )
            return (state, y), 0.5 * (low + high) / reference.shape[1]

        start = self._forward(key_start, powers)
        (state, y), ranks = jax.lax.scan(step, start, jnp.arange(self.subject.sizes.steps))
        return (
            jnp.mean(ranks, axis=0),
            jnp.var(ranks, axis=0),
            statistics(self.model, state, y, powers),
        )

    def __call__(self, name: str, powers) -> tuple[Finding, PP]:
        """What was seen, and the panel that shows it."""
        sizes = self.subject.sizes
        key_forward, key_chains = jax.random.split(self.subject.key(f"geweke {name}"))
        reference = np.asarray(self._draws(jax.random.split(key_forward, 4 * sizes.chains), powers))
        reference = np.sort(reference, axis=0)
        chain_keys = jax.random.split(key_chains, sizes.chains)
        mean_rank, within, ends = map(
            np.asarray, self._walks(chain_keys, jnp.asarray(reference.T), powers)
        )
        n, m = len(ends), len(reference)
        # A chain's average rank has mean 1/2. Its noise: between chains, and the reference sample's
        # own.
        between = mean_rank.var(axis=0, ddof=1)
        z = (mean_rank.mean(axis=0) - 0.5) / (np.sqrt(between / n + 1 / (12 * m)) + 1e-12)
        p_mean = normal_p(z)
        # Rounded: values equal in exact arithmetic must count as ties.
        columns = range(ends.shape[1])
        p_law = np.array(
            [same_law_p(np.round(ends[:, j], 8), np.round(reference[:, j], 8)) for j in columns]
        )
        names = _names(self.model, self.shape)
        j = int(np.argmin(np.minimum(p_mean, p_law)))
        effective = np.median((within.mean(axis=0) + between) / np.maximum(between, 1e-12)) * n
        finding = Finding(
            bonferroni(np.concatenate([p_mean, p_law])),
            f"{len(names)} statistics of {n} chains of {sizes.steps} sweeps ({name}; effective"
            f" sample size {effective:.0f}); the furthest is {names[j]}, z = {z[j]:+.1f}.",
        )
        return finding, PP.of(names, reference, ends, name)


def _drawn(finding: Finding, panels: list[PP]) -> Finding:
    return dataclasses.replace(finding, picture=functools.partial(probability_plots, panels))


def joint(subject: Subject) -> Finding:
    """The classic test: the full posterior, data redrawn by the model's own simulator."""
    model, shape = subject.tiny.model, subject.tiny.shape
    compare = TwoWays(subject, lambda key, state, powers: model.simulate(key, state, shape))
    finding, panel = compare("power 1", jnp.ones(shape[0]))
    return _drawn(finding, [panel])


def between(subject: Subject) -> Finding:
    """The same between prior and posterior: one common power, and a different one for each row."""
    model, shape = subject.tiny.model, subject.tiny.shape
    if isinstance(model, Undirected):
        raise NotApplicable("the model is undirected: its y are given, under any powers")
    if shape[0] * shape[1] > 64:
        raise NotApplicable(
            "data of more than 64 entries are too many to redraw under powers; give `rows` and"
            " `columns`"
        )
    compare = TwoWays(
        subject, lambda key, state, powers: tempered_law(model, state, shape, powers)(key, shape)
    )
    states = jax.vmap(lambda k: model.sample_prior(k, shape))(
        jax.random.split(subject.key("mass"), 5)
    )
    law = jit_once(jax.vmap(lambda s, b: tempered_law(model, s, shape, b), (0, None)))
    found: list[Finding] = []
    panels: list[PP] = []
    for row in power_rows(shape[0], positive=True)[1:]:
        powers = jnp.asarray(row)
        laws = law(states, powers)
        if float(laws.misfit.max()) > QUADRATIC:
            raise NotApplicable(
                "the likelihood is not Gaussian in the data: they cannot be redrawn under other"
                " powers"
            )
        if float(jnp.ptp(laws.log_mass)) > 1e-6:
            raise NotApplicable("under other powers the state's marginal is not its prior")
        finding, panel = compare(f"powers {describe_powers(row)}", powers)
        found.append(finding)
        panels.append(panel)
    first = min(found, key=lambda finding: finding.statistic)
    return _drawn(Finding(min(1.0, len(found) * first.statistic), first.detail), panels)


def exchange(subject: Subject) -> Finding:
    """In equilibrium, (x, x') under the kernel and (x', x) under its reversal have the same law.
    For models that expose nothing but ``step``: equilibrium comes from simulated data, and
    functions of both ends are compared."""
    model, shape = subject.tiny.model, subject.tiny.shape
    ones = jnp.ones(shape[0])
    count = 4 * subject.sizes.chains

    def pair(key, backward):
        key_draw, key_step = jax.random.split(key)
        state, _, y = draw(model, shape, key_draw)
        kernel = model.kernel(y, ones)
        new = (kernel.reversed() if backward else kernel).step(key_step, state)
        first, second = (new, state) if backward else (state, new)
        a, b = flatten(first)[0][:MAX_ENTRIES], flatten(second)[0][:MAX_ENTRIES]
        f, g = (model.log_annealed(s, y, ones) for s in (first, second))
        return jnp.concatenate(
            [a * jnp.roll(b, 1), a - b, jnp.stack([f - g, f * g, jnp.sum(a) * g])]
        )

    keys = [jax.random.split(k, count) for k in jax.random.split(subject.key("exchange"))]
    sample = jit_once(
        lambda ks, backward: jax.vmap(lambda k: pair(k, backward))(ks), static_argnums=1
    )
    ahead, back = (
        np.round(np.asarray(sample(k, b)), 9) for k, b in zip(keys, (False, True), strict=True)
    )
    p = [same_law_p(ahead[:, j], back[:, j]) for j in range(ahead.shape[1])]
    return Finding(
        bonferroni(p),
        f"{len(p)} functions of a sweep's two ends, forward and reversed, {count} pairs each.",
    )


CHECKS = (
    Check(
        "geweke.joint",
        Kind.STATISTICAL,
        "the kernel does not leave the posterior invariant, or the simulator and the kernel"
        " describe different models.",
        joint,
    ),
    Check(
        "geweke.powers",
        Kind.STATISTICAL,
        "the kernel is right at power 1 and wrong in between.",
        between,
        thorough=True,
    ),
    Check(
        "geweke.exchange",
        Kind.STATISTICAL,
        "reversed() is not the time reversal of the kernel.",
        exchange,
    ),
)
