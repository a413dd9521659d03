"""Compare models on observed data: lower bounds on their evidence, and how far to trust them.

Observed data have no exact posterior sample, so nothing here bounds log p(y) from above. What can
be had is

- for each model AIS with more and more distributions until the lower bound stops rising;
- on request, a validation by simulation after Grosse, Ancha and Roy (2016): take hyperparameters
  from the end of a real chain, simulate data of the same shape from the model with them, and run
  the same settings in both directions there. Their gap is how far those settings were from the
  truth on data that resemble the real ones. As a margin for the real result it is a heuristic, for
  two reasons: the simulated data are not the real ones, and the simulated sample is an exact
  posterior sample only up to its hyperparameters, which came from the real data and not from their
  prior.
"""

import hashlib
import json
from collections.abc import Sequence

import jax
import numpy as np

from bracketz.core.model import Model
from bracketz.core.precision import double_precision
from bracketz.core.results import Combine, LowerCertificate, Seconds
from bracketz.core.validation import check_seed
from bracketz.core.weights import normalised
from bracketz.data.dataset import Data, as_data
from bracketz.data.identity import identity, model_label
from bracketz.engine.anneal import Forward, Reverse
from bracketz.engine.recorder import Recorded, Recording
from bracketz.engine.run import Outcome, Program, run_chains
from bracketz.engine.session import Session
from bracketz.errors import InputError
from bracketz.inference.comparison import Candidate, Comparison, Simulated, candidate_label
from bracketz.models.factored import Prepared
from bracketz.models.hierarchical import InferredState
from bracketz.models.hyper_reference import inferred
from bracketz.models.missing_data import Incomplete
from bracketz.models.prepared import prepare
from bracketz.paths import Tempered

FIRST_RUNG = 256
LAST_RUNG = 1 << 14
#: Doublings in a row that must bring nothing: one alone may be bad luck of the chains.
PATIENCE = 2
#: Of each candidate's certified lower bound.
CONFIDENCE = 0.95


def compare(
    data,
    models: Sequence[Model],
    *,
    tolerance: float = 0.5,
    chains: int = 20,
    first: int = FIRST_RUNG,
    max_effort: int = LAST_RUNG,
    validate: int = 0,
    reference: bool | None = None,
    seed: int = 0,
    log_jacobian: float = 0.0,
    session: Session | None = None,
) -> Comparison:
    """Lower bounds on log p(y) of every model, best first.

    The number of distributions doubles from ``first`` until two in a row have not raised the bound
    by ``tolerance`` nats, or ``max_effort`` is reached. Every candidate has random streams of its
    own; equal models share them and have the same answer. Candidates of one name and size are
    told apart by the fields in which they differ, which follow the name in brackets.

    Args:
        data: observations, an array (N, D) or ``Data``; NaN entries are left out exactly.
        models: what to compare; ``InferredClustering`` and its like have their hyperparameters
            inferred.
        tolerance: nats; see above.
        chains: of AIS, per model.
        first, max_effort: distributions to begin with, and at the most.
        validate: how many data sets to simulate from each fitted model, to measure the error there.
        reference: of models with inferred hyperparameters: begin at a fitted reference (True), at
            the prior (False), or wherever the path is better (None); see ``prepare``.
        seed: everything random follows from it.
        log_jacobian: added to every bound (``standardized`` gives it).
        session: time budget, checkpoint and progress.

    Returns:
        A bound per model, best first, with a verdict.

    Raises:
        InputError: no model, a model that cannot describe the data, or a value out of range.

    Example:
        >>> import bracketz as bz
        >>> y = bz.simulate(bz.Clustering(components=2), 6, 2).y
        >>> bz.compare(y, [bz.InferredClustering(2)], chains=2, first=8, max_effort=8).verdict
        'one model: nothing to compare it with.'
    """
    check_seed(seed)
    if not models:
        raise InputError("compare needs at least one model")
    if chains < 2:
        raise InputError(f"chains must be at least 2 for an error bar, got {chains}")
    if not tolerance > 0:
        raise InputError(f"tolerance must be positive, got {tolerance}")
    if validate < 0:
        raise InputError(f"the number of simulated data sets must not be negative, got {validate}")
    if not 2 <= first <= max_effort:
        raise InputError(
            f"distributions must go from at least 2 to `max_effort`, got {first} to {max_effort}"
        )
    y = np.asarray(data.y if isinstance(data, Data) else data, dtype=float)
    unseen = np.isnan(y)
    if unseen.any():
        models = [Incomplete(model, ~unseen) for model in models]
        y = np.where(unseen, 0.0, y)
    y, *_ = [as_data(y, model).y for model in models]  # every model may refuse
    session = session or Session()
    fits = [
        _Contender(model, name, y, chains, reference, seed, session)
        for model, name in zip(models, _names(models), strict=True)
    ]
    candidates = [
        fit.candidate(tolerance, first, max_effort, validate, log_jacobian) for fit in fits
    ]
    return Comparison(
        tuple(sorted(candidates, key=lambda c: -c.lower)),
        chains,
        tolerance,
        seed,
        Seconds(sum(f.run_seconds for f in fits), sum(f.compile_seconds for f in fits)),
        log_jacobian,
        int(unseen.sum()),
    )


def _inner(model: Model) -> Model:
    return model.model if isinstance(model, Incomplete) else model


def _names(models: Sequence[Model]) -> list[str]:
    """What each candidate is called; names and numbers of components tell different models apart.

    The name of the model, without "inferred-" unless that is the difference. Where several of one
    name and size remain, the fields in which they differ follow in brackets: "clustering
    (mixture_concentration 0.1)". Names also keep the random streams and the checkpointed chains of
    candidates apart, so only equal models share one, and they have the same answer.
    """
    kinds = [(model_label(_inner(m)), getattr(m, "components", None)) for m in models]
    fields = [identity(_inner(m))["hyperparameters"] for m in models]

    def same(a, b):
        return type(_inner(models[a])) is type(_inner(models[b])) and fields[a] == fields[b]

    names: list[str] = []
    for j, (label, size) in enumerate(kinds):
        short = label.removeprefix("inferred-")
        namesakes = {
            kind for kind in kinds if (kind[0].removeprefix("inferred-"), kind[1]) == (short, size)
        }
        name = short if len(namesakes) == 1 else label
        group = [f for f, kind in zip(fields, kinds, strict=True) if kind == (label, size)]
        differing = [k for k in fields[j] if any(f.get(k) != fields[j][k] for f in group)]
        if differing:
            name += f" ({', '.join(f'{k} {_brief(fields[j][k])}' for k in differing)})"
        if any(names[i] == name and kinds[i][1] == size and not same(i, j) for i in range(j)):
            name += f" [{j + 1}]"  # two classes of one name, with equal fields
        names.append(name)
    return names


def _brief(value) -> str:
    """A field's value in few characters, different for different values."""
    text = json.dumps(value, sort_keys=True, default=str)
    return text if len(text) <= 40 else hashlib.sha256(text.encode()).hexdigest()[:8]


class _Contender:
    """One model on the data: its runs, and what they cost."""

    def __init__(
        self,
        model: Model,
        name: str,
        y: np.ndarray,
        chains: int,
        reference: bool | None,
        seed: int,
        session: Session,
    ):
        self.y, self.chains, self.seed, self.session = y, chains, seed, session
        self.given, self.reference = model, reference
        self.inferred = inferred(model)
        self.name = name
        self.components: int | None = getattr(model, "components", None)
        self.label = candidate_label(self.name, self.components)
        self.run_seconds = self.compile_seconds = 0.0

    def _run(self, program, num_edges: int, stream: str) -> Outcome:
        outcome = run_chains(
            program,
            num_edges,
            chains=self.chains,
            seed=self.seed,
            stream=f"{self.label}: {stream}",
            session=self.session,
        )
        self.run_seconds += outcome.run_seconds
        self.compile_seconds += outcome.compile_seconds
        return outcome

    def prepared(self, y) -> Prepared:
        """The model made ready for data; a pilot sees them and the seed, and nothing else."""
        if self.inferred is None:
            return Prepared(self.given.suited_to(y), lambda state: state)
        with self.session.working(f"{self.label}: pilot"):
            return prepare(
                self.given, y, seed=self.seed, reference=self.reference, chains=self.chains
            )

    def forward(
        self, prepared: Prepared, y, effort: int, stream: str
    ) -> tuple[float, float, Outcome]:
        path = _path(prepared).through(effort)
        chain = Forward(prepared.model, y, path)
        # Recorded as the pilot's, which is compiled already.
        program: Program = chain if prepared.schedule is None else Recorded(chain)
        outcome = self._run(program, path.num_edges, f"{stream} {effort}")
        return *Combine.ARITHMETIC(outcome.log_values), outcome

    def candidate(self, tolerance, first, max_effort, validate, log_jacobian) -> Candidate:
        prepared = self.prepared(self.y)
        rungs: list[tuple[int, float]] = []
        effort, settled = first, False
        while True:
            lower, error, outcome = self.forward(prepared, self.y, effort, "lower")
            rungs.append((effort, lower + log_jacobian))
            settled = _settled([value for _, value in rungs], tolerance)
            if settled or 2 * effort > max_effort:
                break
            effort *= 2
        self.session.progress.note(
            f"{self.label}: log evidence >= {rungs[-1][1]:.2f}, {effort:,} distributions"
            + ("" if settled else ", not settled")
            + (", from a reference" if prepared.begins_at == "reference" else "")
        )
        # Shares 1/(j (j+1)) over rungs j = 1, 2, ... sum to 1: valid wherever the ladder stops.
        looks = len(rungs)
        certified = LowerCertificate.from_weights(
            outcome.log_values, CONFIDENCE, 1 / (looks * (looks + 1))
        )
        states, weights = _posterior(outcome)
        means = {}
        if self.inferred is not None:
            means = {
                n: np.tensordot(weights, a, 1).tolist()
                for n, a in self.inferred.named(states.hyper).items()
            }
        return Candidate(
            model=self.name,
            components=self.components,
            lower=rungs[-1][1],
            standard_error=error,
            distributions=effort,
            rungs=tuple(rungs),
            settled=settled,
            hyperparameters=means,
            begins_at=prepared.begins_at,
            certificate=LowerCertificate(CONFIDENCE, certified.low + log_jacobian),
            simulated=tuple(
                self.simulated(states, weights, effort, number) for number in range(1, validate + 1)
            ),
        )

    def simulated(self, states, weights, effort: int, number: int) -> Simulated:
        """Data like the real ones, sandwiched with the same settings."""
        with double_precision():
            key = jax.random.fold_in(jax.random.key(self.seed, impl="threefry2x32"), number)
            key_chain, key_latent, key_data = jax.random.split(key, 3)
            if self.inferred is not None:
                index = int(jax.random.choice(key_chain, len(weights), p=weights))
                hyper = jax.tree.map(lambda a: a[index], states.hyper)
                fixed = self.inferred.at(hyper)
                latent = fixed.sample_prior(key_latent, self.y.shape)
                exact, y = (
                    InferredState(latent, hyper),
                    fixed.simulate(key_data, latent, self.y.shape),
                )
            else:
                model = self.given.suited_to(self.y)
                exact = model.sample_prior(key_latent, self.y.shape)
                y = model.simulate(key_data, exact, self.y.shape)
            exact, y = jax.tree.map(np.asarray, (exact, y))
        prepared = self.prepared(y)  # its reference is found anew, as on the real data
        lower, _, _ = self.forward(prepared, y, effort, f"simulated {number}, lower")
        path = _path(prepared).through(effort)
        back = self._run(
            Reverse(prepared.model, y, path, prepared.adopt(exact)),
            path.num_edges,
            f"simulated {number}, upper {effort}",
        )
        return Simulated(lower, Combine.HARMONIC(back.log_values)[0])


def _path(prepared: Prepared) -> Tempered:
    return Tempered() if prepared.schedule is None else Tempered(prepared.schedule)


def _settled(bounds: list[float], tolerance: float) -> bool:
    earlier, late = bounds[:-PATIENCE], bounds[-PATIENCE:]
    return bool(earlier) and max(late) < max(earlier) + tolerance


def _posterior(outcome: Outcome):
    """(states, normalised weights) at the end of forward chains of one particle each."""
    carry = outcome.carry.particles if isinstance(outcome.carry, Recording) else outcome.carry
    states = jax.tree.map(lambda a: a[:, 0], carry.states)
    return states, normalised(outcome.log_values)


def standardized(y: np.ndarray) -> tuple[np.ndarray, float]:
    """Columns with mean 0 and standard deviation 1, and what that adds to the log evidence.

    With y' = (y - m) / s a density gains the factor 1/s per entry: log p(y) = log p(y') - sum of
    log s over entries. Missing entries (NaN) count for nothing.

    Args:
        y: the data, (N, D).

    Returns:
        (the columns standardised, the ``log_jacobian`` that ``compare`` adds to every bound, so
        that it bounds the evidence of the columns as they were).

    Raises:
        InputError: a column is constant.

    Example:
        >>> import bracketz as bz, numpy as np
        >>> y, log_jacobian = bz.standardized(np.array([[1.0], [3.0]]))
        >>> y.tolist(), log_jacobian
        ([[-1.0], [1.0]], -0.0)
    """
    # Squares of what is below 1 do not overflow; a power of 2 changes no bit.
    unit = np.ldexp(1.0, np.frexp(np.nanmax(np.abs(y)))[1] - 1)
    y = np.asarray(y) / unit
    mean, scale = np.nanmean(y, axis=0), np.nanstd(y, axis=0)
    if not np.all(scale > 0):
        column = int(np.argmin(scale)) + 1
        raise InputError(f"column {column} is constant and cannot be standardised; remove it")
    entries = np.sum(~np.isnan(y), axis=0)
    return (y - mean) / scale, -float(entries @ np.log(unit * scale))
