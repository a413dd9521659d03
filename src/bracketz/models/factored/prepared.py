"""A factored model made ready to run on data: kernels tuned, path chosen, all of it frozen."""

import dataclasses
import sys
import time
from collections.abc import Callable
from math import hypot
from typing import Any

import jax
import numpy as np

from bracketz.core.model import Model
from bracketz.core.precision import double_precision
from bracketz.errors import InputError
from bracketz.models.factored.model import Factored, Flattening
from bracketz.models.factored.pilot import DENSE, Survey, survey
from bracketz.models.factored.reference import Referenced, fit, refined
from bracketz.models.factored.tuned import Tuned
from bracketz.paths.schedules import Adapted

#: A reference is taken where its path is shorter than this times the prior's.
WORTH_IT = 0.8
#: A path whose length squared is below this is short, and its ladder begins with so many.
SHORT, SHORTEST = 1.0, 8
#: Pilots whose log evidences differ by more standard deviations than this disagree; chance does it
#: once in two thousand.
DISAGREE = 3.5
#: Keeps the pilot's randomness apart from every measured run's.
STREAM = 0x9170


def as_it_is(state):
    """States of a model that is left as it is are its own."""
    return state


@dataclasses.dataclass(frozen=True)
class Prepared:
    """What runs on data, and how it came about.

    Attributes:
        model: with kernels; its evidence is that of the model it was made from.
        adopt: a state of the model it was made from -> the same as a state of ``model``.
        restore: the other way round.
        begins_at: "prior" or "reference".
        schedule: inverse temperatures in equal parts of the path's length; None: nothing is known.
        lengths: of the paths looked at, by where they begin.
        because: why this path, in a clause.
        kernel: what a sweep is made of.
        acceptance: of the pilot's trajectories, by inverse temperature.
        mixes: False where the pilot's moves hardly forget where they began.
        evaluations: of the likelihood's gradient, in the pilot.
        seconds: the pilot took, compilation included.
        doubt: a sentence where the pilots from the prior and from the reference disagree about the
            log evidence; None where they do not.
        start_noise: what reverse chains that stay in one part of a mixture are off by together, as
            a standard deviation in nats: how well the mass of that part is known.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> bz.prepare(model, bz.simulate(model, rows=6, columns=2).y).model is model
        True
    """

    model: Model
    adopt: Callable[[Any], Any]
    begins_at: str = "prior"
    schedule: Adapted | None = None
    lengths: dict[str, float] = dataclasses.field(default_factory=dict)
    because: str = "the model has a kernel of its own"
    kernel: str | None = None
    acceptance: tuple[tuple[float, float], ...] = ()
    mixes: bool = True
    evaluations: int = 0
    seconds: float = 0.0
    doubt: str | None = None
    start_noise: float = 0.0
    restore: Callable[[Any], Any] = as_it_is

    @property
    def first_effort(self) -> int:
        """Distributions of a ladder's first rung: a path as short as a good reference's needs no
        more to show its spread, which is about the square of the length over the edges."""
        length = self.lengths.get(self.begins_at, np.inf)
        return SHORTEST if length**2 < SHORT else sys.maxsize

    def told(self) -> dict[str, Any] | None:
        """What is reported of it, as plain values; None where there was no pilot."""
        if self.kernel is None:
            return None
        names = "begins_at because lengths kernel mixes evaluations seconds doubt"
        said = {name: getattr(self, name) for name in names.split()}
        return said | {"acceptance": [list(pair) for pair in self.acceptance]}


def piloted(model: Factored, y, seed, reference, note=lambda sentence: None) -> Prepared:
    """What ``bracketz.prepare`` does for a model of a prior and a likelihood, whatever it is to be
    used for."""
    began = time.perf_counter()
    flat = Flattening(model)
    key = jax.random.fold_in(jax.random.key(seed, impl="threefry2x32"), STREAM)
    if flat.has_discrete and model.gibbs(y, jax.numpy.ones(model.num_rows(y))) is None:
        raise InputError(
            f"{model.label} has discrete parameters and no `gibbs` kernel that moves them"
        )
    if reference and (flat.has_discrete or not flat.size):
        raise InputError(f"{model.label} has discrete parameters, for which no reference is fitted")
    first = survey(model, y, jax.random.fold_in(key, 0), note)
    uneven = 0.0
    found = {"prior": (Tuned(model, first.tuning()), first)}
    # A model that knows its roots begins at its prior unless somebody asks for a reference: the few
    # particles of its pilot would not fit one.
    wanted = reference is not False and (reference or model.root_at(0.0) is None)
    if wanted and flat.size and not flat.has_discrete:
        begin = fit(first.sample, flat.size <= DENSE, first.independent)
        seen, uneven = refined(Referenced(model, begin), y, jax.random.fold_in(key, 2))
        second = survey(seen, y, jax.random.fold_in(key, 1), note)
        found["reference"] = (Tuned(seen, second.tuning()), second)
    lengths = {where: run.length for where, (_, run) in found.items()}
    if reference is None and model.pooled:
        where, because = "reference", "chains would share draws of the prior"
    elif reference is None:
        # A reference has to be worth it: it knows nothing of symmetries, the prior does.
        shorter = lengths.get("reference", np.inf) < WORTH_IT * lengths["prior"]
        where = "reference" if shorter else "prior"
        because = f"the path from the {where} is " + _compared(lengths, where)
    else:
        where = "reference" if reference else "prior"
        because = "it was asked for"
    tuned, run = found[where]
    return Prepared(
        tuned,
        _adopting(tuned),
        where,
        Adapted().frozen(run.schedule()),
        lengths,
        because,
        run.kernel,
        tuple((s.beta, s.acceptance) for s in run.stages[1:]),
        run.mixes,
        sum(run.evaluations for _, run in found.values()),
        time.perf_counter() - began,
        _doubt(*(run for _, run in found.values())),
        uneven if where == "reference" else 0.0,
        _restoring(tuned),
    )


def _doubt(first: Survey, second: Survey | None = None) -> str | None:
    """Whether prior and reference lead to the same log evidence. The first path never looks at the
    prior's constant, the second one does."""
    if second is None:
        return None
    apart, chance = second.log_evidence - first.log_evidence, hypot(first.spread, second.spread)
    if abs(apart) < DISAGREE * chance:
        return None
    return (
        f"beginning at the reference the pilot finds a log evidence {apart:+.1f} from what it finds"
        f" beginning at the prior, and chance makes {chance:.1f} of that: `log_prior` is not the"
        " normalised density of the prior's draws (a forgotten Jacobian, a range whose mass is not"
        " divided by), or the pilot does not mix; bracketz check tells them apart"
    )


def _compared(lengths: dict[str, float], where: str) -> str:
    others = [f"{length:.2g} from the {name}" for name, length in lengths.items() if name != where]
    said = f"{lengths[where]:.2g} long"
    return f"{said}, against {others[0]}" if others else said


def _adopting(tuned: Tuned) -> Callable:
    inner = tuned.model

    def adopt(state):
        with double_precision():
            if isinstance(inner, Referenced):
                return tuned.adopt(inner.adopt(state))
            return tuned.adopt(state)

    return adopt


def _restoring(tuned: Tuned) -> Callable:
    inner = tuned.model

    def restore(position):
        with double_precision():
            state = tuned.restore(position)
            return inner.restore(state) if isinstance(inner, Referenced) else state

    return restore
