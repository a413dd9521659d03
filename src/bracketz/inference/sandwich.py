"""Bidirectional Monte Carlo on simulated data: a ladder decides, one measurement answers."""

import math
from contextlib import nullcontext

import numpy as np

from bracketz.core.model import Model
from bracketz.core.path import Path
from bracketz.core.results import Certificate, Seconds, check_confidence
from bracketz.core.undirected import Undirected
from bracketz.core.validation import check_seed, require_at_least, require_efforts
from bracketz.core.weights import PointEstimate, bennett
from bracketz.data.dataset import as_data
from bracketz.data.identity import model_label
from bracketz.data.simulate import stand_ins
from bracketz.engine.run import compile_together
from bracketz.engine.session import Session
from bracketz.errors import InputError, NumericalError
from bracketz.inference.answer import Cost, Look, PilotReport, Prediction, Rung, Sandwich
from bracketz.inference.both_ways import BothWays
from bracketz.inference.ladder import Clock
from bracketz.inference.plan import (
    CROSSED,
    PREDICTABLE,
    Plan,
    Seen,
    converged,
    plan,
    spread,
)
from bracketz.models.factored import require_rows
from bracketz.models.prepared import has_pilot, prepare
from bracketz.paths import Tempered

#: An inversion of the bounds that chance brings about with a probability below this is no chance.
IMPOSSIBLE = 1e-9


def sandwich(
    model: Model,
    data,
    *,
    gap: float = 1.0,
    chains: int = 25,
    seed: int = 0,
    confidence: float = 0.9,
    path: Path | None = None,
    reference: bool | None = None,
    sweeps: int = 1,
    particles: int = 1,
    first: int | None = None,
    max_effort: int | None = None,
    looks: int = 1,
    session: Session | None = None,
) -> Sandwich:
    """Bracket log p(y) of simulated data, with a gap of at most ``gap`` if the prediction is right.

    A short ladder of forward runs decides how many distributions and chains that takes
    (``bracketz.inference.plan``), and one run in both directions measures, with fresh randomness.
    So nothing is chosen by looking at the bounds that are reported: they are the bounds of the
    theory, and the certificate pays for one look. If the gap misses ``gap`` it is reported as it
    is. ``looks`` > 1 allows as many measurements, each with twice the effort of the one before
    (whatever that one showed), until one converges; each spends its share of the failure
    probability. ``first`` = ``max_effort`` leaves nothing to decide: measured there, with
    ``chains`` chains.

    The session's time limit is soft: the measurement is made as small as the time left asks for,
    and finished.

    Args:
        model: the model that made the data.
        data: from ``simulate`` (or ``load``): the bounds need the exact sample behind it. Of an
            undirected model its numbers y, an array: the exact sample is drawn here.
        gap: the gap to reach (nats).
        chains: in each direction, at the least; a multiple where that is cheaper.
        seed: everything random follows from it.
        confidence: of the certificate.
        path: ``Tempered()`` (the default), ``Tempered(schedule=Adapted(pilot=256))``, ``Prefix()``,
            or your own. A model that is prepared by a pilot brings a schedule of its own.
        reference: of a model of a prior and a likelihood, or with inferred hyperparameters: begin
            at a fitted reference (True), at the prior (False), or wherever the path is better
            (None); see ``prepare``.
        sweeps: kernel sweeps per distribution, where effort does not count these.
        particles: per chain, resampled by effective sample size.
        first: effort of the ladder's first rung; the path's own by default.
        max_effort: do not go beyond this effort; the path's own limit by default.
        looks: measurements at the most.
        session: time budget, checkpoint and progress; none of them by default.

    Returns:
        Both bounds, the point estimate, the certificate and how they came about.

    Raises:
        InputError: observed data, or a value out of range.
        NumericalError: the arithmetic broke: the bounds are inverted beyond what chance allows.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> bz.sandwich(model, bz.simulate(model, rows=6, columns=2), gap=4.0, chains=4).converged
        True
    """
    data = as_data(data, model)
    check_seed(seed)
    if not data.simulated and not isinstance(model, Undirected):
        raise InputError(
            "a sandwich needs an exact posterior sample, which observed data do not have; use"
            " data from bracketz simulate, or bracketz evidence, which takes observed data"
        )
    if not gap > 0:
        raise InputError(f"gap must be positive, got {gap}")
    given, path = path, Tempered() if path is None else path
    if not isinstance(path, Path):
        raise InputError(f"path must be one such as bracketz.Tempered(), got {path!r}")
    if not path.refines:
        require_rows(model, data.y)
        reference = False if reference is None else reference
    if chains < 2:
        raise InputError(f"chains must be at least 2 for an error bar, got {chains}")
    require_at_least(1, sweeps=sweeps, particles=particles, looks=looks)
    require_efforts(first, max_effort)
    top = max_effort or max(path.last_effort, first or 0)
    effort = first or min(path.first_effort, top)
    path.at(effort, model, model.num_rows(data.y), sweeps)  # refuse before the work
    check_confidence(confidence)
    session, lowest, exact = session or Session(), effort, data.exact
    if isinstance(model, Undirected):
        exact = stand_ins(model, data.y, chains)  # each look draws its own
    with session.working("pilot") if has_pilot(model, reference) else nullcontext():
        prepared = prepare(
            model,
            data.y,
            seed=seed,
            reference=reference,
            chains=chains,
            note=session.progress.note,
        )
    if has_pilot(model, reference):
        session.progress.note(f"begins at the {prepared.begins_at}: {prepared.because}")
    if prepared.schedule is not None and given is None:
        path = Tempered(prepared.schedule)
        if first is None:
            lowest = min(effort, prepared.first_effort)
    runs = BothWays(
        prepared.model,
        data.y,
        path,
        sweeps,
        particles,
        chains,
        seed,
        session,
        exact=prepared.adopt(exact),
        start_noise=prepared.start_noise,
    )
    clock, piloted, deciding = Clock(), None, 0

    session.must_finish = True
    if path.pilot is not None:
        runs, found = runs.tuned()
        clock.run, clock.compile = found.run_seconds, found.compile_seconds
        piloted = PilotReport(found.distributions, found.run_seconds)
        deciding += runs.sweeps_of(found.distributions, chains)
    else:
        clock.compile = compile_together(runs.programs(effort)[1:], chains=chains)
    rungs: list[Rung] = []
    if effort == top:
        chosen = Plan(effort, chains)
    else:
        rungs = runs.climb(lowest, top, gap, clock)
        deciding += sum(runs.sweeps_of(rung.effort, len(rung.forward)) for rung in rungs)
        # Easy problems: half the usual first rung's effort, which is cheaper than to find out more.
        # Not less, however short the path: reverse chains take a few edges to forget their start.
        least = max(2, effort // 2) if path.refines else effort
        chosen = plan([r.seen for r in rungs], gap, chains, path.refines, least, top)
        chosen = runs.in_time(chosen, least, clock)
        session.progress.note(
            f"decided: {chosen.effort:,} {path.unit} x {chosen.chains:,} chains, both ways"
        )

    session.must_finish = True  # the measurement was made to fit
    done: list[Look] = []
    while True:
        look = runs.look(chosen, len(done) + 1, clock)
        done.append(look)
        if look.lower - look.upper > 2 * math.log(2 / IMPOSSIBLE):
            raise NumericalError(_inverted(look))
        met = converged(look.gap, look.noise, gap)
        session.progress.note(
            f"{look.effort:>8,} {path.unit}, both ways: lower {look.lower:.2f}, upper"
            f" {look.upper:.2f}, gap {look.gap:.2f}"
        )
        if met or len(done) == looks:
            break
        if 4 * chosen.effort * chosen.chains * clock.per_step > session.remaining():
            session.progress.note("no time is left for another look")
            break
        # Twice as much, whatever the bounds were: what followed from them would depend on the
        # exact sample.
        chosen = Plan(min(2 * chosen.effort, top), chosen.chains)
    session.must_finish = False

    reversible = particles == 1 and path.exact_reversal(runs.model)
    forward, reverse, own = np.array(look.forward), np.array(look.reverse), runs.own_starts
    point = bennett(forward, reverse, not own) if reversible else _midpoint(look)
    predicted = _predict(runs, look, gap, clock) if runs.records else None
    reason = None if met else _reason(look, gap)
    return Sandwich(
        model=model_label(model),
        lower=look.lower,
        upper=look.upper,
        lower_error=look.lower_error,
        upper_error=look.upper_error,
        log_ml=point.log_ml,
        standard_error=point.standard_error,
        log_ml_by="bennett" if reversible else "midpoint",
        certificate=Certificate.from_weights(forward, reverse, confidence, 1 / looks, own),
        fixed=Certificate.from_weights(forward, reverse, confidence, own_starts=own),
        jeffreys_bound=look.single_chain_gap if reversible else None,
        distributions=look.distributions,
        chains=look.chains,
        seed=seed,
        converged=met,
        reason=reason,
        target=gap,
        path=path.name,
        unit=path.unit,
        schedule=path.schedule_name,
        split=look.split,
        predicted=predicted,
        pilot=piloted,
        preparation=prepared.told(),
        reports=look.reports,
        rungs=tuple(rungs),
        looks=tuple(done),
        cost=Cost(deciding, sum(2 * runs.sweeps_of(k.effort, k.chains) for k in done)),
        seconds=Seconds(clock.run, clock.compile),
    )


def _predict(runs: BothWays, look: Look, gap: float, clock: Clock) -> Prediction | None:
    """What should meet the target, by the wider of both directions' spreads and the gap."""
    found = [spread(np.array(look.forward)), spread(np.array(look.reverse)), look.single_chain_gap]
    if not max(found) <= 2 * PREDICTABLE:
        return None  # nothing to predict by
    seen = Seen(look.effort, max(found), 2 * look.chains)
    wanted = plan([seen], gap, runs.chains, True, 2, 1 << 40)
    seconds = 2 * wanted.effort * wanted.chains * clock.per_step
    return Prediction(gap, wanted.effort, wanted.chains, seconds)


def _midpoint(look: Look) -> PointEstimate:
    """Between the bounds, give or take half their distance and their noise."""
    error = math.hypot(0.5 * look.gap, 0.5 * look.noise)
    return PointEstimate(0.5 * (look.lower + look.upper), error)


def _reason(look: Look, gap: float) -> str:
    """Why a measurement does not count as converged."""
    if look.gap > gap:
        return f"the gap is {look.gap:.2f} and the goal {gap:g}"
    if look.gap < -CROSSED * gap:
        return (
            f"the bounds have crossed by {-look.gap:.2f}, more noise than the goal {gap:g} allows"
        )
    return (
        f"the gap of {look.gap:.2f} is within the goal {gap:g}, but it is only known to"
        f" ± {look.noise:.2g}: it may be luck"
    )


def _inverted(look: Look) -> str:
    return (
        f"the lower bound {look.lower:.2f} exceeds the upper bound {look.upper:.2f} by"
        f" {look.lower - look.upper:.0f} nats, which chance brings about with a probability below"
        f" {IMPOSSIBLE:g}: the arithmetic or a kernel is broken. See what bracketz check says of"
        " the model; at extreme hyperparameters rescale the data"
    )
