"""The ledger: claims of a paper's Results and Discussion, each with the query that decides it.

A claim holds, fails, or cannot be decided from what an experiment ran (``holds`` is None). Nobody
marks anything by hand: ``decide`` runs every query on the measures of a store.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from bracketz.testbed.analysis import measures
from bracketz.testbed.analysis.measures import ACCURATE
from bracketz.testbed.store.frames import Frames


class NotRun(Exception):
    """The experiment lacks what a query asks for."""


@dataclass(frozen=True)
class Experiment:
    """An experiment as the queries see it: its pooled measures, by model and estimator."""

    truth: pd.DataFrame
    pool: pd.DataFrame
    trials: pd.DataFrame
    details: pd.DataFrame
    lines: pd.DataFrame = field(repr=False)  # measures.headline
    cross: pd.DataFrame = field(repr=False)  # measures.cross_table

    @classmethod
    def of(cls, frames: Frames, summary: pd.DataFrame) -> "Experiment":
        pool = measures.pooled(summary)
        truth = measures.truth(frames)
        trials = frames.trials[frames.trials.role == "curve"].merge(
            truth[truth.accepted][["problem", "data_seed", "log_ml"]].rename(
                columns={"log_ml": "truth"}
            ),
            on=["problem", "data_seed"],
        )
        details = frames.details[frames.details.role == "curve"]
        return cls(
            truth, pool, trials, details, measures.headline(pool), measures.cross_table(frames)
        )

    def curve(self, model: str, curve: str) -> pd.DataFrame:
        """The judged rungs of a curve, cheapest knob first."""
        rows = self.pool[(self.pool.problem == model) & (self.pool.curve == curve)].sort_values(
            "rung"
        )
        rows = rows[rows.rmse.notna()]
        if rows.empty:
            raise NotRun(f"{curve} on {model}")
        return rows

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
        if column == "rmse":
            return {c for c in curves if (self.curve(model, c).rmse < ACCURATE).any()}
        return {c for c in curves if (self.curve(model, c)[column].abs() < ACCURATE).any()}


#: (what we found, in words; whether the claim holds)
Decision = tuple[str, bool]


@dataclass(frozen=True)
class Claim:
    """One claim: where the paper makes it, what it says in our words, its figures, and the deciding
    query."""

    id: str
    place: str
    statement: str
    paper: str
    rule: str
    query: Callable[[Experiment], Decision]


@dataclass(frozen=True)
class Verdict:
    claim: Claim
    ours: str
    holds: bool | None

    @property
    def word(self) -> str:
        return {True: "holds", False: "does not hold", None: "not run"}[self.holds]

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
            "query": source(c),
        }


def source(claim: Claim) -> str:
    """The query as written."""
    return inspect.getsource(claim.query).rstrip()


@dataclass(frozen=True)
class Paper:
    """A paper whose experiments and claims are shipped (``bracketz.papers``)."""

    name: str
    presets: dict[str, Path]  # specs by name
    claims: Sequence[Claim]
    #: The cross-model table it prints: log evidence by label of the model that made the data and of
    #: the fit.
    printed_cross: dict[str, dict[str, float]] = field(default_factory=dict)


def decide(frames: Frames, summary: pd.DataFrame) -> list[Verdict]:
    """Every claim of the experiment's paper, decided; none where it belongs to no paper."""
    if frames.paper is None:
        return []
    experiment = Experiment.of(frames, summary)
    verdicts = []
    for claim in frames.paper.claims:
        try:
            ours, holds = claim.query(experiment)
            verdicts.append(Verdict(claim, ours, bool(holds)))
        except NotRun as missing:
            verdicts.append(Verdict(claim, f"not run: {missing}", None))
    return verdicts


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
