"""Kernels, tuned or the user's own: each leaves its annealed density invariant.

Draws whose law is known are moved by a few sweeps, and bounded functions of them must keep their
means: ranks of every parameter among other prior draws and their distance from the middle. Each
draw is compared with itself, which takes most of the noise away.

Power 0: prior draws. Power 1: x and data simulated from it, the kernel at those data (Geweke's
idea). Between: prior draws weighted by the likelihood to that power, on one data set, since
E_prior[p(y | x)^b (h(Kx) - h(x))] = 0 for a kernel K that keeps p(x) p(y | x)^b.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.check.factored.bench import Bench, States
from bracketz.check.pairs import both_directions, crooks_p
from bracketz.check.report import Check, Discrepancy, Finding, Kind, NotApplicable, worst
from bracketz.check.statistics import bonferroni, mean_zero_p, same_law_p
from bracketz.check.subject import Instance, describe_powers
from bracketz.errors import NumericalError
from bracketz.paths import Tempered

#: Sweeps between a draw and its comparison.
SWEEPS = 3
#: The power between, or less: so much that the weights leave this share of the draws.
BETWEEN, SHARE = 0.37, 0.15
#: Steps of a run from prior to posterior, and the variance of orders that is needed.
EDGES, LEAST = 32, 15.0
#: Parameters compared; of more as many, evenly spread.
MOST_ENTRIES = 40


class _Ranks:
    """Bounded functions of states: ranks among prior draws, and their distance from the middle."""

    def __init__(self, bench: Bench):
        self.bench = bench
        reference = bench.states("ranks", 2000)
        d = bench.flat.size
        self.entries = np.unique(np.linspace(0, d - 1, min(d, MOST_ENTRIES)).astype(int))
        self.sorted = np.sort(reference.vectors, axis=0)
        self.discrete = [np.asarray(a).reshape(len(a), -1)[:, :8] for a in reference.discrete]

    def names(self) -> list[str]:
        """Which parameter each function is of."""
        reals = [self.bench.names[e] for e in self.entries]
        others = [f"discrete[{k}]" for k, a in enumerate(self.discrete) for _ in range(a.shape[1])]
        return [*reals, *reals, *others]

    def __call__(self, states: States) -> np.ndarray:
        ranks = [
            np.searchsorted(self.sorted[:, e], states.vectors[:, e]) / len(self.sorted)
            for e in self.entries
        ]
        u = np.stack(ranks, axis=1) if ranks else np.zeros((len(states.vectors), 0))
        parts = [np.asarray(a).reshape(len(a), -1)[:, :8] for a in states.discrete]
        spread = [np.maximum(np.ptp(a, axis=0), 1) for a in self.discrete]
        scaled = [p / s for p, s in zip(parts, spread, strict=True)]
        return np.concatenate([u, (u - 0.5) ** 2, *scaled], axis=1)


def _compare(bench: Bench, before: States, after: States, weights, powers, extra=None) -> Finding:
    for name, column in zip(bench.names, after.vectors.T, strict=True):
        if not np.isfinite(column).all():
            return Finding(0.0, f"the kernel moves `{name}` to values that are not finite.")
    ranks = _Ranks(bench)
    surplus = weights[:, None] * (ranks(after) - ranks(before))
    names = ranks.names()
    if extra is not None:
        surplus = np.concatenate([surplus, extra], axis=1)
        names = [*names, *["log_likelihood"] * extra.shape[1]]
    p = np.asarray(mean_zero_p(surplus))
    j = int(np.argmin(p))
    moved = float(np.mean(np.any(before.vectors != after.vectors, axis=1)))
    overall = bonferroni(p)
    where = f"at powers {describe_powers(powers)}"
    if overall < 0.01:
        share = 100 * float(surplus[:, j].mean() / weights.mean())
        what = "rank" if j < len(ranks.entries) else "spread"
        said = (
            f"`{names[j]}` {where}: {SWEEPS} sweeps move its {what} by {share:+.2g} % of its range"
        )
        return Finding(overall, f"the kernel does not keep the law of {said}.")
    return Finding(
        overall,
        f"{len(p)} statistics of {len(before.vectors)} draws {where}, of which {moved:.0%} moved.",
    )


def at_prior(bench: Bench) -> Finding:
    """At powers 0 prior draws stay prior draws, whatever the data."""
    count = bench.sizes.draws
    before = bench.states("kernel at 0", count)
    data = np.repeat(bench.observed[1][None], count, 0)
    powers = np.zeros(bench.rows)
    after = bench.moved(bench.key("moves at 0"), before, data, powers, SWEEPS)
    return _compare(bench, before, after, np.ones(count), powers)


def at_posterior(bench: Bench) -> Finding:
    """At powers 1 the joint law of x and data simulated from it stays."""
    count = bench.sizes.draws
    before = bench.states("kernel at 1", count)
    data = bench.data("kernel data", before)
    powers = np.ones(bench.rows)
    after = bench.moved(bench.key("moves at 1"), before, data, powers, SWEEPS)
    if not np.isfinite(after.vectors).all():
        return _compare(bench, before, after, np.ones(count), powers)
    first, second = bench.terms(before, data).sum(1), bench.terms(after, data).sum(1)
    every = np.sort(bench.terms(*_again(bench)).sum(1))
    ranks = [np.searchsorted(every, f) / len(every) for f in (first, second)]
    extra = np.stack([ranks[1] - ranks[0], (ranks[1] - 0.5) ** 2 - (ranks[0] - 0.5) ** 2], axis=1)
    return _compare(bench, before, after, np.ones(count), powers, extra)


def _again(bench: Bench) -> tuple[States, np.ndarray]:
    states = bench.states("kernel reference", 2000)
    return states, bench.data("kernel reference data", states)


def between(bench: Bench) -> Finding:
    """At a common power between, and at one for half of the rows and 0 for the others."""
    count, n = bench.sizes.draws, bench.rows
    data = bench.observed[1]
    patterns: list[np.ndarray] = [np.ones(n)]
    if n > 1:
        patterns.append((np.arange(n) < (n + 1) // 2) * 1.0)
    found = []
    for k, pattern in enumerate(patterns):
        pilot = bench.states("kernel weights", 2000)
        power = _affordable(bench.terms(pilot, np.repeat(data[None], 2000, 0)), pattern)
        powers = power * pattern
        before = bench.states(f"kernel between {k}", count)
        many = np.repeat(data[None], count, 0)
        log_w = _weighted(bench.terms(before, many), powers)
        weights = np.exp(log_w - log_w.max())
        if weights.sum() ** 2 / np.sum(weights**2) < 200:
            continue
        after = bench.moved(bench.key(f"moves between {k}"), before, many, powers, SWEEPS)
        found.append(_compare(bench, before, after, weights / weights.mean(), powers))
    if not found:
        raise NotApplicable("prior draws are too far from every annealed density to stand for one")
    first = min(found, key=lambda f: f.statistic)
    return Finding(min(1.0, len(found) * first.statistic), first.detail)


def _weighted(terms: np.ndarray, powers: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.where(powers != 0, powers * terms, 0.0).sum(1)


def _affordable(terms: np.ndarray, pattern: np.ndarray) -> float:
    """The largest power up to ``BETWEEN`` whose weights leave ``SHARE`` of the draws."""
    power = BETWEEN
    while power > 1e-6:
        log_w = _weighted(terms, power * pattern)
        w = np.exp(log_w - log_w.max())
        if w.sum() ** 2 / np.sum(w * w) > SHARE * len(w):
            break
        power *= 0.7
    return power


def reversal(bench: Bench) -> Finding:
    """In equilibrium, (x, x') under the kernel and (x', x) under its reversal have one law."""
    count = bench.sizes.draws
    powers = np.ones(bench.rows)
    ends = []
    for backward in (False, True):
        name = "reversed" if backward else "ahead"
        start = bench.states(f"kernel {name}", count)
        data = bench.data(f"kernel {name} data", start)
        end = bench.moved(bench.key(f"moves {name}"), start, data, powers, 1, backward)
        first, second = (end, start) if backward else (start, end)
        f, g = (bench.terms(s, data).sum(1) + bench.log_prior(s) for s in (first, second))
        a, b = (s.vectors[:, :12] for s in (first, second))
        with np.errstate(invalid="ignore"):
            rest = np.stack([f - g, a.sum(1) * (f - g)], axis=1)
        ends.append(np.round(np.concatenate([a - b, a * np.roll(b, 1, axis=1), rest], axis=1), 9))
    names = [*bench.names[:12], *bench.names[:12], "log density", "log density"]
    p = [same_law_p(ends[0][:, j], ends[1][:, j]) for j in range(len(names))]
    j = int(np.argmin(p))
    return Finding(
        bonferroni(p),
        f"{len(p)} functions of a sweep's two ends, forward and reversed, {count} pairs each; the"
        f" furthest is of `{names[j]}`.",
    )


def frozen(bench: Bench) -> Finding:
    """Nothing is learnt from the states that are moved: a second pilot on equal data gives the
    same tables, and a step with one key gives one result before and after others."""
    state, y = bench.observed
    cases = []
    first = bench.prepared
    if not bench.user.has_own_kernel:
        again = bench.prepare()
        pairs = zip(*map(jax.tree.leaves, (first.model, again.model)), strict=True)
        apart = max(float(np.max(np.abs(np.asarray(a) - np.asarray(b)))) for a, b in pairs)
        cases.append(Discrepancy(apart, f"two pilots on equal data differ by {apart:.2g}."))
    model: Any = jax.tree.map(jnp.asarray, first.model)
    data, powers = bench.as_data(jnp.asarray(y)), jnp.full(bench.rows, 0.5)
    others = bench.states("frozen", 8)

    def step(k: int, seed: int):
        one = (state if k < 0 else others.take([k])).vectors[0]
        discrete = (state if k < 0 else others.take([max(k, 0)])).discrete
        start = bench.flat.join(jnp.asarray(one), tuple(jnp.asarray(a[0]) for a in discrete))
        start = start if bench.user.has_own_kernel else model.adopt(start)
        moved = model.kernel(data, powers).step(
            jax.random.fold_in(bench.key("frozen"), seed), start
        )
        return np.concatenate([np.ravel(np.asarray(a, float)) for a in jax.tree.leaves(moved)])

    before = step(-1, 0)
    for k in range(2 if not bench.user.has_own_kernel else 8):
        step(k, k + 1)
    apart = float(np.max(np.abs(step(-1, 0) - before), initial=0.0))
    if np.isnan(apart):
        raise NumericalError("a step of the kernel gives values that are not numbers.")
    said = f"one step with one key differs by {apart:.2g} before and after others."
    cases.append(Discrepancy(apart, said))
    return worst(cases, "", 0.0)


def crooks(bench: Bench) -> Finding:
    """Forward and reverse runs on simulated data sets: given both values d apart, the reverse one
    is the larger with probability 1 / (1 + e^-d)."""
    bench.require_simulator()
    instance = Instance("as given", bench.prepared.model, bench.shape)
    sets = bench.sizes.data_sets
    path = Tempered().through(EDGES)
    runs = both_directions(instance, path, sets, bench.key("crooks"), chains=1)
    if not (np.isfinite(runs.forward).any() and np.isfinite(runs.reverse).all()):
        return Finding(0.0, "runs on simulated data do not end at finite numbers.")
    good = np.isfinite(runs.forward).all(1)
    runs = runs._replace(forward=runs.forward[good], reverse=runs.reverse[good])
    apart = runs.reverse[:, 0] - runs.forward[:, 0]
    seen = float(np.sum(0.25 / np.cosh(0.5 * np.clip(apart, -500, 500)) ** 2))
    gap = float(np.median(apart))
    p = crooks_p(runs)
    if p > 0.01 and seen < LEAST:
        raise NotApplicable(
            f"runs of {EDGES} steps in the two directions are {gap:.2g} nats apart in the median,"
            " too far for an order that proves anything"
        )
    return Finding(
        p,
        f"{sets} data sets, {EDGES} steps from prior to posterior each; the two directions are"
        f" {gap:.2g} nats apart in the median.",
    )


CHECKS = (
    Check(
        "kernels.prior",
        Kind.STATISTICAL,
        "the kernel ignores the powers, or its accept step leaves out a part of the prior (a"
        " Jacobian, a proposal's density).",
        at_prior,
    ),
    Check(
        "kernels.posterior",
        Kind.STATISTICAL,
        "the kernel does not leave the posterior invariant: its accept step or its conditionals"
        " belong to another density than `log_prior` and `log_likelihood`.",
        at_posterior,
    ),
    Check(
        "kernels.between",
        Kind.STATISTICAL,
        "the kernel is right at power 1 and wrong in between, or for rows with different powers.",
        between,
    ),
    Check(
        "kernels.reversal",
        Kind.STATISTICAL,
        "reversed() is not the time reversal of the kernel.",
        reversal,
    ),
    Check(
        "kernels.frozen",
        Kind.EXACT,
        "the kernel adapts to the states it moves, or the pilot depends on more than the data.",
        frozen,
    ),
    Check(
        "evidence.crooks",
        Kind.STATISTICAL,
        "the kernels, the weights and the simulator do not belong to one model.",
        crooks,
        thorough=True,
    ),
)
