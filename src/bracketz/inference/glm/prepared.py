"""Everything that is known of a regression before anything is drawn, and what drawing will take."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bracketz.errors import InputError
from bracketz.inference.glm.envelope import (
    Envelope,
    Rates,
    envelope,
    lower_bound,
    rates,
    upper_bound,
)
from bracketz.inference.glm.regression import Whitened, as_regression, whiten
from bracketz.inference.glm.tries import Tries, batch_size, run_batch, target, weight_error

#: Tries at the least: fewer are not faster.
FEWEST = 1 << 13


@dataclass(frozen=True)
class Prepared:
    """The deterministic bounds and what they rest on."""

    at: Whitened
    constants: Rates
    hull: Envelope
    low: float
    high: float  # of the envelope
    weight_error: float

    @property
    def top(self) -> float:
        """Above the log evidence: counts and classes have probabilities of at most 1."""
        return min(self.high, 0.0)

    @property
    def tries(self) -> float:
        """At least the expected number per exact draw."""
        return math.exp(min(self.high - self.low, 700.0))

    def afford(self, draws: int, max_tries: int) -> float:
        """How many tries that takes, at most, on average; refused where it is too many."""
        need = draws * self.tries
        if need > max_tries:
            fit = int(max_tries / self.tries)
            fewer = f"ask for at most {fit} `draws`, " if fit else ""
            raise InputError(
                f"{draws} exact draws may take {need:.3g} tries ({self.tries:.3g} each; radius"
                f" {self.constants.linear:.2f} in {len(self.at.mode)} dimensions), above"
                f" `max_tries`, {max_tries:,}: raise it, {fewer}take a smaller `prior_scale`, or"
                f" certify_glm with `draws` 0, which gives [{self.low:.2f}, {self.top:.2f}] without"
                " sampling"
            )
        return max(need, FEWEST)

    def batches(self, need: float, seed: int) -> Iterator[Tries]:
        """Batches of tries of one size, without end."""
        size = batch_size(*self.at.rows.shape, wanted=need)
        arrays, number = target(self.at, self.hull), 0
        while True:
            yield run_batch(self.at, arrays, seed, number, size, self.weight_error)
            number += 1


def prepare(X, y, *, family: str, prior_scale: Any, prior_covariance: Any, offset: Any) -> Prepared:
    """Mode, constants, envelope and both deterministic bounds."""
    regression = as_regression(
        X,
        y,
        family=family,
        prior_scale=prior_scale,
        prior_covariance=prior_covariance,
        offset=offset,
    )
    at = whiten(regression)
    constants = rates(at)
    hull = envelope(constants, len(at.mode))
    return Prepared(
        at, constants, hull, lower_bound(at), upper_bound(at, hull), weight_error(at, hull)
    )
