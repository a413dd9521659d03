"""How an answer moves with the prior: the standard caution with Bayes factors, as a curve."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bracketz.core.model import Model
from bracketz.core.results import finite_json, html_table
from bracketz.engine.session import Session
from bracketz.errors import InputError
from bracketz.inference.compare import compared
from bracketz.inference.comparison import Comparison
from bracketz.inference.procedure import Settings


@dataclass(frozen=True)
class Sweep:
    """A comparison at each of several values of one setting.

    Attributes:
        parameter: what was varied.
        values: its values, rising.
        comparisons: one per value.

    Example:
        >>> import bracketz as bz
        >>> y = bz.simulate(bz.Clustering(components=2), 6, 2).y
        >>> def models(scale):
        ...     return {"two": bz.Clustering(2, scale), "one": bz.Clustering(1, scale)}
        >>> answer = bz.sweep(models, "center_variance", [0.5, 2.0], y, twins=0)
        >>> answer.names
        ('two', 'one')
    """

    parameter: str
    values: tuple[float, ...]
    comparisons: tuple[Comparison, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the models, in the order they were given in."""
        order = {c.name: c.place for c in self.comparisons[0].candidates}
        return tuple(sorted(order, key=order.__getitem__))

    def curve(self, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log evidence of a model, and both ends of its interval, at every value.

        Args:
            name: of the model.

        Returns:
            (estimates, low ends, high ends); a high end is infinite where there is none.
        """
        found = [next(c for c in one.candidates if c.name == name) for one in self.comparisons]
        ends = [c.range for c in found]
        return (
            np.array([c.log_ml for c in found]),
            np.array([r.low for r in ends]),
            np.array([r.high for r in ends]),
        )

    @property
    def verdict(self) -> str:
        """Whether the prior decides."""
        best = [one.best.name for one in self.comparisons]
        if len(self.names) == 1:
            middle, _, _ = self.curve(self.names[0])
            return f"the log evidence moves by {np.ptp(middle):.1f} nats over this range."
        if len(set(best)) == 1:
            always = all(one.decided for one in self.comparisons)
            how = "decided at each of them" if always else "not decided at each of them"
            return f"{best[0]} has the highest log evidence at every value, {how}."
        change = next(k for k in range(1, len(best)) if best[k] != best[k - 1])
        return (
            f"the prior decides: {best[change - 1]} has the highest log evidence at"
            f" {self.parameter} = {self.values[change - 1]:g} and {best[change]} at"
            f" {self.values[change]:g}."
        )

    def to_json(self) -> dict:
        """As plain values."""
        models = []
        for name in self.names:
            middle, low, high = (a.tolist() for a in self.curve(name))
            models.append({"name": name, "log_ml": middle, "low": low, "high": high})
        out = {"parameter": self.parameter, "values": list(self.values), "models": models}
        return finite_json(out | {"verdict": self.verdict})

    def plot(self, ax=None):
        """Log evidence against the setting; see ``bracketz.plots.sweep``.

        Args:
            ax: Matplotlib axes to draw on; a new figure by default.

        Returns:
            The figure.
        """
        from bracketz.plots.sweep import sweep as draw

        return draw(self, ax=ax)

    def _repr_html_(self) -> str:
        rows = [
            (f"{value:g}", f"{one.best.name}, {one.best.log_ml:.1f}")
            for value, one in zip(self.values, self.comparisons, strict=True)
        ]
        return html_table(f"best model by {self.parameter}", [*rows, ("verdict", self.verdict)])


def sweep(
    models: Callable[[float], Mapping[str, Model] | Sequence[Model] | Model],
    parameter: str,
    values: Sequence[float],
    data=None,
    *,
    log_jacobian: float = 0.0,
    session: Session | None = None,
    **settings,
) -> Sweep:
    """``compare`` at several values of one setting of the prior.

    Args:
        models: a value -> the models there, by name; or one model.
        parameter: what the value is called.
        values: to try, at least two.
        data: as of ``compare``.
        log_jacobian, session: as of ``compare``.
        **settings: the others of ``compare``.

    Returns:
        Curves, and whether the prior decides.

    Raises:
        InputError: fewer than two values, or what ``compare`` refuses.

    Example:
        >>> import bracketz as bz
        >>> y = bz.simulate(bz.Clustering(components=2), 6, 2).y
        >>> answer = bz.sweep(lambda v: bz.Clustering(2, v), "center_variance", [0.5, 2], y)
        >>> len(answer.comparisons)
        2
    """
    ordered = tuple(sorted({float(value) for value in values}))
    if len(ordered) < 2:
        raise InputError(f"a sweep needs at least two different values, got {list(values)}")
    chosen, session, found = Settings(**settings), session or Session(), []
    for value in ordered:
        made = models(value)
        named = {"model": made} if isinstance(made, Model) else made
        if not isinstance(named, Mapping):
            raise InputError("a sweep's models must have names: give a dict")
        prefix = f"{parameter} {value:g}, "
        found.append(compared(named, data, chosen, log_jacobian, session, prefix))
    return Sweep(parameter, ordered, tuple(found))
