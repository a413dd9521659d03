"""An upper bound from posterior draws somebody else made, with its condition stated.

Reverse weights from a state x ~ p(x | y) average to 1 / p(y). Draws of another sampler follow
p(x | y) only as far as that sampler has converged, so what they give is an upper bound *if* they
are posterior draws, and nothing otherwise: a sampler that missed a mode gives a bound that is too
low. It is never a certificate.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.model import Model
from bracketz.core.precision import double_precision
from bracketz.core.results import Combine, Seconds, finite_json, html_table
from bracketz.core.validation import check_seed, require_at_least
from bracketz.data.dataset import as_data
from bracketz.data.identity import model_label
from bracketz.engine.anneal import FromStates
from bracketz.engine.run import run_chains
from bracketz.engine.session import Session
from bracketz.errors import InputError
from bracketz.models.factored import Factored
from bracketz.models.prepared import prepare
from bracketz.paths import Tempered
from bracketz.wording import plus_minus

#: Keeps the choice of draws apart from every run's randomness.
DRAWS = 0xD4A5
#: Of every such bound.
CONDITION = "conditional on the given states being draws from the posterior"


@dataclass(frozen=True)
class ConditionalUpper:
    """An upper bound that holds if the states it began at are posterior draws.

    Attributes:
        model: name of the model.
        upper: the bound on the log evidence, from all chains.
        upper_error: its standard error, under the same condition.
        kind: "conditional", always.
        condition: what it depends on, in words.
        draws: how many states were given; chains begin at one each, at random.
        distributions, chains, seed: of the run.
        log_weights: one per chain.
        seconds: run and compile time.

    Example:
        >>> import bracketz as bz
        >>> bz.ConditionalUpper.kind
        'conditional'
    """

    model: str
    upper: float
    upper_error: float
    draws: int
    distributions: int
    chains: int
    seed: int
    log_weights: tuple[float, ...]
    seconds: Seconds
    kind: str = "conditional"
    condition: str = CONDITION

    def to_json(self) -> dict:
        """As plain values."""
        return finite_json(dataclasses.asdict(self))

    def rows(self) -> list[tuple[str, str]]:
        """What a person wants to read of it, as (name, value)."""
        return [
            ("conditional upper bound", f"{self.upper:.2f} {plus_minus(self.upper_error)}"),
            ("condition", self.condition),
            ("draws", f"{self.draws:,}"),
            ("distributions", f"{self.distributions:,} x {self.chains} chains, reverse"),
        ]

    def _repr_html_(self) -> str:
        return html_table(f"log evidence, {self.model}", self.rows())


def conditional_upper(
    model: Model,
    data,
    posterior: Any,
    *,
    distributions: int = 200,
    chains: int = 100,
    seed: int = 0,
    session: Session | None = None,
) -> ConditionalUpper:
    """An upper bound on the log evidence of observed data, from posterior draws you already have.

    Reverse runs begin at draws chosen at random. The bound is conditional on these being draws from
    the posterior; a certified upper bound needs simulated data (``sandwich``).

    Args:
        model: the model.
        data: the observations; None: those the model was made with.
        posterior: arrays by parameter name with a leading axis of draws (values as their author
            knows them), or ArviZ data with a posterior group.
        distributions: from the posterior back to where the path begins.
        chains: reverse runs.
        seed: everything random follows from it.
        session: time budget, checkpoint and progress; none of them by default.

    Returns:
        The bound, with its condition.

    Raises:
        InputError: a parameter is missing, arrays differ in length, or a value is out of range.

    Example:
        >>> import bracketz as bz, numpy as np, jax
        >>> from jax.scipy.stats import norm
        >>> model = bz.from_functions(
        ...     lambda x, y: norm.logpdf(y, x["m"]),
        ...     log_prior=lambda x: norm.logpdf(x["m"]),
        ...     sample_prior=lambda key: {"m": jax.random.normal(key)},
        ... )
        >>> draws = {"m": np.random.default_rng(0).normal(0.5, 0.5**0.5, size=1000)}
        >>> bz.conditional_upper(model, np.ones(1), draws, chains=10, distributions=8).kind
        'conditional'
    """
    data = as_data(data, model)
    check_seed(seed)
    require_at_least(2, distributions=distributions, chains=chains)
    session = session or Session()
    with double_precision():
        states, count = _states(model, posterior)
        with session.working("pilot"):
            prepared = prepare(model, data.y, seed=seed, note=session.progress.note)
        chosen = np.random.default_rng([seed, DRAWS]).integers(count, size=chains)
        adopted = jax.vmap(prepared.adopt)(jax.tree.map(lambda a: a[chosen], states))
        path = Tempered() if prepared.schedule is None else Tempered(prepared.schedule)
        path = path.through(distributions)
        program = FromStates(prepared.model, data.y, path, adopted)
        outcome = run_chains(
            program,
            path.num_edges,
            chains=chains,
            seed=seed,
            stream="conditional upper",
            session=session,
        )
    if not outcome.finished:
        raise InputError("the reverse runs did not finish within `max_seconds`; allow more time")
    upper, error = Combine.HARMONIC(outcome.log_values)
    return ConditionalUpper(
        model_label(model),
        upper,
        error,
        count,
        distributions,
        chains,
        seed,
        tuple(outcome.log_values.tolist()),
        Seconds(outcome.run_seconds, outcome.compile_seconds),
    )


def _states(model: Model, posterior: Any) -> tuple[Any, int]:
    """The draws as states with a leading axis, and how many there are."""
    group = getattr(posterior, "posterior", None)
    if group is not None:  # ArviZ: chains and draws as one axis
        posterior = {
            str(name): np.asarray(group[name]).reshape(-1, *np.shape(group[name])[2:])
            for name in group.data_vars
        }
    lengths = {np.shape(leaf)[0] if np.ndim(leaf) else 0 for leaf in jax.tree.leaves(posterior)}
    if len(lengths) != 1 or 0 in lengths:
        raise InputError("`posterior` must hold arrays with one leading axis of draws in common")
    arrays = jax.tree.map(lambda leaf: np.asarray(leaf, dtype=float), posterior)
    if isinstance(model, Factored):
        if isinstance(arrays, dict):
            like = model.constrain(jax.tree.map(lambda s: jnp.zeros(s.shape), model.state_shapes))
            if isinstance(like, dict):
                if missing := [name for name in like if name not in arrays]:
                    raise InputError(f"`posterior` has no draws of `{missing[0]}`")
                arrays = {name: arrays[name] for name in like}
        arrays = jax.vmap(model.unconstrain)(arrays)
    return arrays, lengths.pop()
