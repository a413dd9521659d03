"""Observed data: a certified lower bound, an upper bound with its condition, and twins."""

from typing import Any

import jax
import numpy as np

from bracketz.core.model import Model
from bracketz.core.precision import double_precision
from bracketz.core.results import LowerCertificate, Seconds
from bracketz.core.undirected import Undirected
from bracketz.core.weights import normalised
from bracketz.data.dataset import as_data
from bracketz.data.identity import model_label
from bracketz.engine.session import Session
from bracketz.errors import InputError
from bracketz.inference.interval import CONDITION, Coupled, Evidence
from bracketz.inference.ladder import Clock
from bracketz.inference.procedure import Measured, Procedure, Settings
from bracketz.inference.twins import try_twins
from bracketz.models.factored import Prepared


def evidence(
    model: Model,
    data=None,
    *,
    gap: float = 1.0,
    twins: int = 0,
    starts: int = 16,
    chains: int = 64,
    confidence: float = 0.95,
    seed: int = 0,
    reference: bool | None = None,
    first: int | None = None,
    max_effort: int | None = None,
    session: Session | None = None,
) -> Evidence:
    """The log evidence of observed data from both sides, each with what it rests on.

    The lower bound is certified on any data. The upper bound comes from reverse runs that begin at
    states of coupled chains (``bracketz.inference.coupling``), and is conditional on the forward
    runs having found every region of the posterior that matters. Where these chains do not meet
    there is none, and ``reason`` says what it would take. Twins show how the same procedure does
    on data like these.

    Args:
        model: any.
        data: the observations; None: those the model was made with. An exact sample that simulated
            data bring along is not looked at.
        gap: between the bounds, to aim at (nats).
        twins: data sets to simulate at the fitted parameters and put through the same procedure.
        starts: coupled chains; each takes some proposals, each a forward run.
        chains: reverse runs, in equal parts from the ends of the coupled chains.
        confidence: of the certificate and of the interval.
        seed: everything random follows from it.
        reference: begin at a fitted reference (True), at the prior (False), or wherever the path is
            shorter (None); see ``prepare``.
        first: distributions of the ladder's first rung; 32 by default.
        max_effort: distributions at the most.
        session: time budget (soft: the measurement is made to fit), checkpoint and progress.

    Returns:
        Both sides, the point estimate, meeting times and twins.

    Raises:
        InputError: a value out of range, or data the model cannot describe.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> answer = bz.evidence(model, bz.simulate(model, rows=6, columns=2).y, gap=2.0)
        >>> answer.interval.low < answer.log_ml < answer.interval.high
        True
    """
    return observed(
        model,
        as_data(data, model).y,
        Settings(gap, twins, starts, chains, confidence, seed, reference, first, max_effort),
        session or Session(),
    )


def observed(model: Model, y, settings: Settings, session: Session, prefix: str = "") -> Evidence:
    """``evidence`` of data as the model wants them; ``prefix`` begins the names of all streams."""
    if isinstance(model, Undirected) and model.no_exact_sample(y.shape) is None:
        raise InputError(
            f"{model_label(model)} gives exact samples of itself: take bracketz sandwich, whose"
            " bounds are certified on both sides"
        )
    clock, first = Clock(), settings.first
    procedure = Procedure(model, settings, session, prefix)
    ready, runs = procedure.begin(y, settings.seed)
    top = settings.max_effort or max(runs.path.last_effort, first or 0)
    low = first or min(runs.path.first_effort, top, ready.first_effort)
    runs.path.at(low, runs.model, runs.model.num_rows(y), 1)  # refuse before the work
    session.must_finish = True
    design = procedure.decide(runs, low, top, clock)
    session.must_finish = True
    found = procedure.measure(runs, design, clock)
    twins = try_twins(procedure, y, ready, found, design, clock) if settings.twins else None
    session.must_finish = False
    reason = procedure.reason(found, design)
    m = found.meetings
    there = found.upper is not None
    return Evidence(
        model=model_label(model),
        lower=found.lower,
        lower_error=found.lower_error,
        upper=found.upper,
        upper_error=found.upper_error,
        log_ml=found.point.log_ml,
        standard_error=found.point.standard_error,
        kind="conditional" if there else "certified",
        condition=CONDITION if there else None,
        certificate=LowerCertificate.from_weights(found.forward, settings.confidence),
        interval=found.interval,
        meetings=Coupled(m.pairs, m.met, m.mean, m.max, m.lag, m.length),
        total_variation=m.total_variation,
        starts=m.pairs,
        twins=twins,
        reference="fitted" if ready.begins_at == "reference" else "prior",
        distributions=runs.laid(design.effort)[0].num_edges + 1,
        chains=len(found.forward),
        reverse_chains=len(found.reverse),
        seed=settings.seed,
        converged=reason is None,
        reason=reason,
        target=settings.gap,
        preparation=ready.told(),
        posterior=_means(model, ready, found),
        log_weights=tuple(found.forward.tolist()),
        reverse_log_weights=tuple(found.reverse.tolist()),
        seconds=Seconds(clock.run, clock.compile),
    )


def _means(model: Model, ready: Prepared, found: Measured) -> dict[str, Any]:
    """Of what the model has a name for, by the weights of the forward runs."""
    with double_precision():
        named = model.summary(jax.vmap(ready.restore)(found.states))
    weights = normalised(found.forward)
    return {name: np.tensordot(weights, np.asarray(a), 1).tolist() for name, a in named.items()}
