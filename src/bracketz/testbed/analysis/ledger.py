"""The ledger: claims of a paper's Results and Discussion, each with the query that decides it.

A claim holds, does not hold, or cannot be decided from what an experiment ran (``holds`` is None:
not run, or not decided because what it rests on has not converged). Nobody marks anything by hand:
``decide`` runs every query on the measures of a store. Whether a verdict is more than chance is
asked of redrawn experiments (``analysis.firmness``: data sets, trials, and the trials behind the
ground truth): one that these do not agree on is "within noise".

Two kinds of claims are told apart from the rest. Those about the seconds of a paper's authors (
``Claim.about_seconds``) are about their machine and code. Those whose figures settings were fitted
to (``Claim.fitted``) are no predictions.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bracketz.testbed.analysis import firmness, measures
from bracketz.testbed.analysis.measures import ACCURATE
from bracketz.testbed.store.frames import Frames


class NotRun(Exception):
    """The experiment lacks what a query asks for."""


class NotDecided(Exception):
    """What a query asks for was run and has not converged."""


@dataclass(frozen=True)
class Experiment:
    """An experiment as the queries see it: its pooled measures, by model and estimator.

    ``undone``: (model, curve or role) of which not all tasks are done; nothing is said of those.
    """

    truth: pd.DataFrame
    pool: pd.DataFrame
    trials: pd.DataFrame
    details: pd.DataFrame
    lines: pd.DataFrame = field(repr=False)  # measures.headline
    cross: pd.DataFrame = field(repr=False)  # measures.cross_table
    undone: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, frames: Frames, summary: pd.DataFrame) -> "Experiment":
        pool = measures.pooled(summary)
        truth = measures.truth(frames)
        trials = frames.trials[frames.trials.role == "curve"].merge(
            truth[truth.accepted.astype(bool)][["problem", "data_seed", "log_ml"]].rename(
                columns={"log_ml": "truth"}
            ),
            on=["problem", "data_seed"],
        )
        details = frames.details[frames.details.role == "curve"]
        left = frames.tasks[frames.tasks.status != "done"]
        undone = {(t.problem, t.curve if t.role == "curve" else t.role) for t in left.itertuples()}
        return cls(
            truth, pool, trials, details, measures.headline(pool), measures.cross_table(frames),
            frozenset(undone),
        )  # fmt: skip

    def require(self, model: str, *wanted: str) -> None:
        """Refuse what is not done to its end: curves, or a role."""
        for what in wanted:
            if (model, what) in self.undone:
                raise NotRun(f"all of {what} on {model}")

    def curve(self, model: str, curve: str) -> pd.DataFrame:
        """The judged rungs of a curve, cheapest knob first; all that were asked for."""
        self.require(model, "truth", curve)
        rows = self.pool[(self.pool.problem == model) & (self.pool.curve == curve)].sort_values(
            "rung"
        )
        judged = rows[rows.rmse.notna()]
        if rows.empty:
            raise NotRun(f"{curve} on {model}")
        if judged.empty:
            raise NotDecided(f"no ground truth of {model} was accepted")
        return judged

    def longest(self, model: str, curve: str) -> pd.Series:
        """The top rung of a curve that is judged."""
        return self.curve(model, curve).iloc[-1]

    def first_accurate(self, model: str, curve: str) -> pd.Series | None:
        """The quickest rung with RMSE below 10 nats, or None."""
        rows = self.curve(model, curve)
        rows = rows[rows.rmse < ACCURATE].sort_values("seconds")
        return None if rows.empty else rows.iloc[0]

    def accurate(self, model: str, curves: tuple[str, ...], column: str = "rmse") -> set[str]:
        """Which of the curves ever get below 10 nats."""
        return {c for c in curves if (self.curve(model, c)[column] < ACCURATE).any()}


#: A verdict stands where this share of redrawn experiments agrees with it.
FIRM = 0.9

#: (what we found, in words; whether the claim holds)
Decision = tuple[str, bool]


@dataclass(frozen=True)
class Claim:
    """One claim: where the paper makes it, what it says in our words, its figures, and the deciding
    query.

    ``about_seconds``: it is about its authors' machine. ``fitted``: which settings were chosen to
    come near its figures; empty where none were.
    """

    id: str
    place: str
    statement: str
    paper: str
    rule: str
    query: Callable[[Experiment], Decision]
    about_seconds: bool = False
    fitted: str = ""


@dataclass(frozen=True)
class Explanation:
    """Why a claim comes out as it does: in words, and the numbers these rest on.

    ``source`` says which command made the numbers. ``table`` is shown beneath, under its columns.
    """

    text: str
    source: str = ""
    table: pd.DataFrame | None = field(default=None, compare=False)

    def to_json(self) -> dict[str, Any]:
        table = None if self.table is None else self.table.to_dict("records")
        return {"text": self.text, "source": self.source, "table": table}


#: What a verdict may be, in the order in which reports count.
STATES = ("holds", "does not hold", "within noise", "not decided", "not run")


@dataclass(frozen=True)
class Verdict:
    """What became of a claim.

    ``share``: of redrawn experiments in which it holds; None where none were drawn. ``undecided``:
    of those in which nothing could be said. ``open``: which of "not run" and "not decided" it is
    where ``holds`` is None.
    """

    claim: Claim
    ours: str
    holds: bool | None
    share: float | None = None
    undecided: float = 0.0
    open: str = "not run"
    explanation: Explanation | None = None

    @property
    def state(self) -> str:
        """One of ``STATES``: "holds" or "does not hold" where redrawn experiments agree."""
        if self.holds is None:
            return self.open
        if self.share is not None:
            agree = self.share if self.holds else 1 - self.share - self.undecided
            if agree < FIRM:
                return "within noise"
        return "holds" if self.holds else "does not hold"

    def to_json(self) -> dict[str, Any]:
        c = self.claim
        return {
            "id": c.id,
            "place": c.place,
            "claim": c.statement,
            "paper": c.paper,
            "rule": c.rule,
            "ours": self.ours,
            "holds": self.holds,
            "state": self.state,
            "share": self.share,
            "undecided": self.undecided,
            "about_seconds": c.about_seconds,
            "fitted": c.fitted,
            "explanation": None if self.explanation is None else self.explanation.to_json(),
            "query": source(c),
        }


def counted(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """How many verdicts of each state, all states named."""
    states = [verdict.state for verdict in verdicts]
    return {state: states.count(state) for state in STATES}


def source(claim: Claim) -> str:
    """The query as written."""
    return inspect.getsource(claim.query).rstrip()


def story(verdicts: Sequence[Verdict], truth: pd.DataFrame) -> str:
    """What a ledger comes to, in two or three sentences."""
    accepted = truth[truth.accepted.astype(bool)]
    first = f"The log evidence is known on {len(accepted)} of {len(truth)} data sets"
    if len(accepted):
        first += f", where both bounds agree within {accepted.gap.abs().max():.2f} nats"
    mine = [v for v in verdicts if not v.claim.about_seconds]
    theirs = [v for v in verdicts if v.claim.about_seconds]
    tally = counted(mine)
    rest = ", ".join(f"{tally[s]} {s}" for s in STATES[2:] if tally[s])
    second = (
        f"Of {len(mine)} claims {tally['holds']} hold and {tally['does not hold']} do not"
        + (f" ({rest})" if rest else "")
        + (
            f"; {counted(theirs)['holds']} of {len(theirs)} more are reached in their seconds"
            if theirs
            else ""
        )
    )
    failing = [v for v in mine if v.state == "does not hold"]
    if not failing:
        return f"{first}. {second}."
    explained = sum(v.explanation is not None for v in failing)
    third = (
        f"{explained} of the {len(failing)} that do not hold have an experiment beside them that"
        " says why"
    )
    return f"{first}. {second}. {third}."


@dataclass(frozen=True)
class Paper:
    """A paper whose experiments and claims are shipped (``bracketz.papers``)."""

    name: str
    presets: dict[str, Path]  # specs by name
    claims: Sequence[Claim]
    #: The cross-model table it prints: log evidence by label of the model that made the data and of
    #: the fit.
    printed_cross: dict[str, dict[str, float]] = field(default_factory=dict)
    #: Why claims come out as they do, by their ids; looked up when a ledger is made.
    explanations: Callable[[], Mapping[str, Explanation]] = dict
    #: Presets whose settings were not fitted to anything: there the marks of claims do not apply.
    unfitted: frozenset[str] = frozenset()


def decide(
    frames: Frames, summary: pd.DataFrame, resamples: int = 0, seed: int = 0
) -> list[Verdict]:
    """Every claim of the experiment's paper, decided; none where it belongs to no paper.

    With ``resamples`` each verdict also has the share of so many redrawn experiments in which its
    claim holds.
    """
    if frames.paper is None:
        return []
    here = Experiment.of(frames, summary)
    told, claims = frames.paper.explanations(), frames.paper.claims
    if frames.experiment["name"].removeprefix(f"{frames.paper.name}-") in frames.paper.unfitted:
        claims = [replace(claim, fitted="") for claim in claims]
    found = [replace(_decided(claim, here), explanation=told.get(claim.id)) for claim in claims]
    if not resamples:
        return found
    rng = np.random.default_rng(seed)
    held: list[list[bool | None]] = [[] for _ in found]
    for _ in range(resamples):
        again = firmness.redrawn(frames, rng)
        experiment = Experiment.of(again, measures.summary(again))
        for claim, kept in zip(claims, held, strict=True):
            kept.append(_decided(claim, experiment).holds)
    return [
        replace(
            verdict,
            share=kept.count(True) / resamples,
            undecided=kept.count(None) / resamples,
        )
        if verdict.holds is not None
        else verdict
        for verdict, kept in zip(found, held, strict=True)
    ]


def _decided(claim: Claim, experiment: Experiment) -> Verdict:
    try:
        ours, holds = claim.query(experiment)
    except NotRun as missing:
        return Verdict(claim, f"not run: {missing}", None)
    except NotDecided as reason:
        return Verdict(claim, f"not decided: {reason}", None, open="not decided")
    return Verdict(claim, ours, bool(holds))


def seconds(value: float) -> str:
    """A time as in a sentence."""
    if not math.isfinite(value):
        return "never"
    if value < 1:
        return f"{1000 * value:.2g} ms" if value < 0.1 else f"{1000 * value:.0f} ms"
    return (
        f"{value:.2g} s"
        if value < 10
        else f"{value:.0f} s"
        if value < 90
        else f"{value / 60:.1f} min"
    )
