"""Which chain makes the Chib-Murray-Salakhutdinov estimator a thousand nats low on low rank?

    python papers/grosse2015/cms_operators.py [--keep cms.jsonl] [--seeds 5] [--csv FILE] [--show]

The paper reports "over 1000 nats" without saying which operator, which x* or how many transitions.
Here both are varied, on data of ``full.toml`` and of ``clear.toml``:

- operators: the factors as blocks (U then V, as the paper describes it, or V then U), and one entry
  of U and V after another, in either order;
- x*: the exact sample, the mode of p(U, V | y) (found by optimisation), and the state of a chain of
  block Gibbs that began at the prior and made a number of sweeps.

What to expect. With r the reversed operator, T(x* | x) / p(x* | y) = r(x | x*) / p(x | y), so the
estimate's log error is minus the log of an average over the chain of r(x_s | x*) / p(x_s | y). The
first state is a draw from r(. | x*): its term is the density of that draw among what one move can
reach, over its density in the whole posterior, and an average of S terms is at least a term / S.
So the error is about log S plus the posterior's entropy beyond that of one move, if x* and its
neighbours are typical; and plus log p(typical | y) - log p(x_1 | y), without a limit, if they
are not. By hand for one typical x*: entries have some 3 nats of freedom along the 25 directions
that U A, A^-1 V leave nearly free, which is tens of nats and not a thousand.
"""

import argparse
import csv
import dataclasses
import json
import sys
import tomllib
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import bracketz as bz
from bracketz.core.kernel import ScoredKernel
from bracketz.core.pytree import pytree_dataclass, static
from bracketz.models.low_rank.gibbs import LowRankGibbs
from bracketz.models.low_rank.state import Factors, LowRankState
from bracketz.models.low_rank.transition_density import FactorGibbs, LowRankChain
from bracketz.papers import spec_file

SAMPLES, TRIALS = 1000, 10
PRESETS = ("full", "clear")
#: Sweeps from the prior that lead to x*.
SWEEPS = (0, 1, 3, 10, 30, 100, 1000)


class Sites(NamedTuple):
    """Rows x_i ~ exp(<s_i, x> - x^T P x / 2) visited entry by entry, all rows side by side."""

    precision: jax.Array  # P, (K, K)
    shift: jax.Array  # (R, K)

    def visit(self, old, new, noise, order):
        """(rows, log density): ``new`` holds what each entry becomes, or, where it is None, draws
        from ``noise``."""
        rows, score = old, jnp.zeros(())
        for k in order:
            scale = self.precision[k, k]
            others = rows @ self.precision[k] - scale * rows[:, k]
            centre = (self.shift[:, k] - others) / scale
            value = centre + noise[:, k] / jnp.sqrt(scale) if new is None else new[:, k]
            score += jnp.sum(
                0.5 * jnp.log(scale / (2 * jnp.pi)) - 0.5 * scale * (value - centre) ** 2
            )
            rows = rows.at[:, k].set(value)
        return rows, score


@dataclasses.dataclass(frozen=True, eq=False)
class EntryGibbs(ScoredKernel):
    """Entry by entry: u_i1, ..., u_iK of all rows i, then v_1j, ..., v_Kj of all columns j; or,
    with ``right_first``, V before U. Reversed: the same entries in the opposite order."""

    gibbs: LowRankGibbs
    right_first: bool = False
    backward: bool = False

    def _scan(self, state, new, key):
        k = self.gibbs.model.components
        order = tuple(reversed(range(k))) if self.backward else tuple(range(k))
        left, right = state
        score = jnp.zeros(())
        for part, right_now in enumerate(
            (True, False) if self.right_first != self.backward else (False, True)
        ):
            rows = right.T if right_now else left
            noise = jax.random.normal(jax.random.fold_in(key, part), rows.shape)
            if right_now:
                wanted = None if new is None else new.right.T
                found, more = self._columns(left).visit(rows, wanted, noise, order)
                right = found.T
            else:
                wanted = None if new is None else new.left
                left, more = self._rows(right).visit(rows, wanted, noise, order)
            score += more
        return Factors(left, right), score

    def _rows(self, right) -> Sites:
        c = self.gibbs.c[0]
        eye = jnp.eye(self.gibbs.model.components)
        precision = eye / self.gibbs.model.left_variance + c * right @ right.T
        return Sites(precision, c * (self.gibbs.y @ right.T))

    def _columns(self, left) -> Sites:
        c = self.gibbs.c[0]
        eye = jnp.eye(self.gibbs.model.components)
        precision = eye / self.gibbs.model.right_variance + c * left.T @ left
        return Sites(precision, c * (self.gibbs.y.T @ left))

    def step(self, key, state):
        return self._scan(state, None, key)[0]

    def log_prob(self, new_state, state):
        return self._scan(state, new_state, jax.random.key(0))[1]

    def reversed(self):
        return dataclasses.replace(self, backward=not self.backward)


OPERATORS = ("block U, V", "block V, U", "entries U, V", "entries V, U")


@pytree_dataclass
class Chain(LowRankChain):
    """A chain of the posterior with one of the operators, and x* as it was given."""

    left: Any = None  # of x*
    operator: str = static(default=OPERATORS[0])

    @property
    def kernel(self):
        gibbs = self.model._gibbs(self.y, jnp.ones(self.y.shape[0]))
        kind, _, order = self.operator.partition(" ")
        right_first = order == "V, U"
        if kind == "entries":
            return EntryGibbs(gibbs, right_first)
        return FactorGibbs(gibbs, backward=right_first)

    def begin(self, key, state):
        return Factors(jnp.asarray(self.left), state.right)


@pytree_dataclass
class LowRankVia(bz.LowRank):
    """Low rank whose Chib-style estimators use another operator."""

    left: Any = None
    operator: str = static(default=OPERATORS[0])

    def scored_chain(self, y):
        return Chain(self, y, self.left, self.operator)


def swept(model: bz.LowRank, y, sweeps: int, seed: int) -> Factors:
    """The state of block Gibbs after some sweeps from the prior."""
    gibbs = model._gibbs(jnp.asarray(y), jnp.ones(len(y)))
    kernel = FactorGibbs(gibbs)
    # Data came from this seed by splitting: the chain must not share its keys.
    key_left, key_right, key_run = jax.random.split(jax.random.fold_in(jax.random.key(seed), 1), 3)
    k = model.components
    start = Factors(
        jnp.sqrt(model.left_variance) * jax.random.normal(key_left, (len(y), k)),
        jnp.sqrt(model.right_variance) * jax.random.normal(key_right, (k, y.shape[1])),
    )
    return jax.lax.fori_loop(
        0, sweeps, lambda i, x: kernel.step(jax.random.fold_in(key_run, i), x), start
    )


def mode(model: bz.LowRank, y, start: Factors, rounds: int = 2000) -> Factors:
    """Where p(U, V | y) is highest: each factor in turn put at its conditional mean."""
    gibbs = model._gibbs(jnp.asarray(y), jnp.ones(len(y)))

    def ascend(_, x):
        left = gibbs.left_conditional(x.right).from_noise(jnp.zeros((model.components, len(y))))
        right = gibbs.right_conditional(left).from_noise(jnp.zeros(x.right.shape))
        return Factors(left, right)

    return jax.lax.fori_loop(0, rounds, ascend, start)


def points(model: bz.LowRank, data, seed: int) -> dict[str, Factors]:
    """Each x* by name."""
    y = jnp.asarray(data.y)
    exact = LowRankState(jnp.asarray(data.exact.right))
    kernel = FactorGibbs(model._gibbs(y, jnp.ones(len(y))))
    left = kernel.draw_left(jax.random.fold_in(jax.random.key(seed), 2), exact.right)
    sample = Factors(left, exact.right)
    return {
        "exact sample": sample,
        "mode": mode(model, y, sample),
        **{f"{n} sweeps from the prior": swept(model, y, n, seed) for n in SWEEPS},
    }


def low_rank_of(preset: str) -> dict[str, Any]:
    """Hyperparameters of the low-rank model in a preset."""
    spec = tomllib.loads(spec_file("grosse2015", preset).read_text(encoding="utf-8"))
    (found,) = (entry for entry in spec["models"] if entry["model"] == "low-rank")
    return found["hyperparameters"]


def measured(preset: str, seed: int, done: set[tuple]) -> list[dict[str, Any]]:
    """A row per operator and x* on one data set."""
    settings = low_rank_of(preset)
    model = bz.LowRank(**settings)
    data = bz.simulate(model, 50, 25, seed=seed)
    names = [*points_named()]
    left = [(o, p) for o in OPERATORS for p in names if (preset, seed, o, p) not in done]
    if not left:
        return []
    truth = bz.sandwich(model, data, gap=1.0, seed=seed).log_ml
    found = points(model, data, seed)
    rows = []
    for operator, name in left:
        star = found[name]
        via = LowRankVia(**settings, left=star.left, operator=operator)
        answer = bz.estimate(
            via,
            dataclasses.replace(data, exact=LowRankState(star.right)),
            bz.CMS(samples=SAMPLES, burn_in=2, point="exact"),
            trials=TRIALS,
            seed=seed,
        )
        row = {"preset": preset, "seed": seed, "operator": operator, "point": name}
        rows.append(row | {"error": mean(answer.log_ml_trials) - truth})
    return rows


def points_named() -> tuple[str, ...]:
    return ("exact sample", "mode", *(f"{n} sweeps from the prior" for n in SWEEPS))


def table(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean error over data sets, operators across."""
    out = []
    for preset in PRESETS:
        for name in points_named():
            mine = [r for r in rows if r["preset"] == preset and r["point"] == name]
            if mine:
                errors = {
                    o: mean(r["error"] for r in mine if r["operator"] == o) for o in OPERATORS
                }
                out.append({"preset": preset, "point": name} | errors)
    return out


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keep", type=Path, default=Path("cms.jsonl"), help="of all runs")
    parser.add_argument("--seeds", type=int, default=5, help="data sets of each preset")
    parser.add_argument("--csv", type=Path, help="file for the table")
    parser.add_argument("--show", action="store_true", help="show what is kept, run nothing")
    options = parser.parse_args()
    lines = options.keep.read_text(encoding="utf-8").splitlines() if options.keep.exists() else []
    rows = [json.loads(line) for line in lines]
    done = {(r["preset"], r["seed"], r["operator"], r["point"]) for r in rows}
    for preset in () if options.show else PRESETS:
        for seed in range(options.seeds):
            fresh = measured(preset, seed, done)
            rows += fresh
            with options.keep.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in fresh)
            print(f"{preset}, data seed {seed}: done", file=sys.stderr, flush=True)
    shown = table(rows)
    if options.csv is not None and shown:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(shown[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(
                {k: round(v, 1) if isinstance(v, float) else v for k, v in r.items()} for r in shown
            )
    print(f"mean error in nats, {SAMPLES} samples, {TRIALS} trials per data set")
    for r in shown:
        errors = "".join(f"{r[o]:12.1f}" for o in OPERATORS)
        print(f"{r['preset']:<7}{r['point']:<28}{errors}")
    print(" " * 35 + "".join(f"{o:>12}" for o in OPERATORS))
    return 0


if __name__ == "__main__":
    from bracketz.core.precision import double_precision

    with double_precision():
        sys.exit(main())
