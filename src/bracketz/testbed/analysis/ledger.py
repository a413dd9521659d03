"""The ledger: claims of a paper's Results and Discussion, each with the query that decides it.

A claim holds, fails, or cannot be decided from what an experiment ran (``holds`` is None). Nobody
marks anything by hand: ``decide`` runs every query on the measures of a store. Whether a verdict is
more than chance is asked of redrawn experiments (``analysis.firmness``): one that these do not
agree on is "within noise".
"""

import inspect
import math
from collections.abc import Callable, Sequence
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


#: A verdict stands where this share of redrawn experiments agrees with it.
FIRM = 0.9

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
    """``share``: of redrawn experiments in which the claim holds; None where none were drawn."""

    claim: Claim
    ours: str
    holds: bool | None
    share: float | None = None

    @property
    def state(self) -> str:
        """ "holds" or "does not hold" where redrawn experiments agree; else "within noise", or
        "not run"."""
        if self.holds is None:
            return "not run"
        if self.share is not None and (self.share if self.holds else 1 - self.share) < FIRM:
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
    found = [_decided(claim, here) for claim in frames.paper.claims]
    if not resamples:
        return found
    rng = np.random.default_rng(seed)
    held: list[list[bool]] = [[] for _ in found]
    for _ in range(resamples):
        again = firmness.redrawn(frames, rng)
        experiment = Experiment.of(again, measures.summary(again))
        for claim, kept in zip(frames.paper.claims, held, strict=True):
            holds = _decided(claim, experiment).holds
            if holds is not None:
                kept.append(holds)
    return [
        replace(verdict, share=sum(kept) / len(kept) if kept else None)
        for verdict, kept in zip(found, held, strict=True)
    ]


def _decided(claim: Claim, experiment: Experiment) -> Verdict:
    try:
        ours, holds = claim.query(experiment)
    except NotRun as missing:
        return Verdict(claim, f"not run: {missing}", None)
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
