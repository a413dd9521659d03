"""Paths: sequences of rows of powers b_0 = 0, ..., b_E = 1, and what crossing an edge does.

Edge t (1..E) leads from row t-1 to row t. Crossed forwards (``extend``) it yields an increment of
log w; crossed backwards (``retract``) it yields the same expression, to be subtracted.
The number of edges is a traced value, so one compilation serves every length.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

from bracketz.core.model import Model

if TYPE_CHECKING:
    from jaxtyping import Array, Float


class Path(ABC):
    """A way from the prior to the posterior: rows of powers, and the two ways across an edge.

    A user chooses a path (``Tempered()``, ``Prefix()``); a run lays it (``at``) for an effort, a
    model and a number of rows, and only then does it have edges. Subclasses are frozen dataclasses
    made by ``pytree_dataclass``, with a field ``num_edges`` that is None until the path is laid.

    Example:
        >>> import bracketz as bz
        >>> path, sweeps = bz.Tempered().at(effort=100, model=bz.Clustering(), num_rows=50)
        >>> path.num_edges, sweeps
        (99, 1)
    """

    #: The shorthand on the command line.
    name: ClassVar[str]
    #: What effort counts.
    unit: ClassVar[str]
    #: Where the sandwich's ladder begins, and where it ends at the latest.
    first_effort: ClassVar[int]
    last_effort: ClassVar[int]
    #: What else helps when the ladder has ended.
    beyond: ClassVar[str] = "raise `max_effort`"
    #: More effort means more and shorter edges along one curve, so that a gap can be split and
    #: predicted.
    refines: ClassVar[bool] = False

    num_edges: Any

    @abstractmethod
    def at(self, effort: int, model: Model, num_rows: int, sweeps: int = 1) -> tuple[Self, int]:
        """The path laid for these data.

        Args:
            effort: how much of ``unit`` to spend.
            model: whose data they are.
            num_rows: data points.
            sweeps: kernel sweeps per edge, where effort does not count these.

        Returns:
            (the path with its edges, kernel sweeps per edge).

        Raises:
            InputError: no such path exists.
        """

    @property
    def pilot(self) -> int | None:
        """Effort of the pilot this path must be tuned by before it can be laid; None: it is
        ready."""
        return None

    @property
    def schedule_name(self) -> str | None:
        """What its schedule is called, where it has one."""
        return None

    @abstractmethod
    def powers(self, t, num_rows: int) -> "Float[Array, ' num_rows']":
        """Row b_t; t = 0..num_edges."""

    def log_edge(self, model: Model, y, state, t):
        """log f(x; b_t) - log f(x; b_{t-1}): the only home of the weight increment."""
        n = model.num_rows(y)
        return model.log_increment(state, y, self.powers(t, n), self.powers(t - 1, n))

    def exact_reversal(self, model: Model) -> bool:
        """Whether ``retract`` is the exact time reversal of ``extend`` on this model.

        That is f_{t-1}(x) E(x -> x') e^w = f_t(x') R(x' -> x) for every edge and pair of states, E
        and R being the two ways across. Single chains up and down are then two readings of one
        pair of path measures: log q_B - log q_F = log w - log p(y), on which Bennett's estimate
        and the Jeffreys bound rest. The bounds themselves need less: each direction by itself.

        Args:
            model: whose data they are.

        Returns:
            True: so it is for every path here, and wherever ``extend`` and ``retract`` are not
            overridden. A path of your own for which it does not hold says False.
        """
        return True

    def extend(self, key, model: Model, y, state, t):
        """Cross edge t forwards: (state, log-weight increment).

        Args:
            key: a JAX random key.
            model: whose data they are.
            y: the data, (N, D).
            state: the state before the edge.
            t: the edge, 1..num_edges; traced.

        Returns:
            (the state after it, the increment of log w).
        """
        return state, self.log_edge(model, y, state, t)

    def retract(self, key, model: Model, y, state, t):
        """Cross edge t backwards: (state, the increment to subtract).

        Args:
            key: a JAX random key.
            model: whose data they are.
            y: the data, (N, D).
            state: the state after the edge.
            t: the edge, 1..num_edges; traced.

        Returns:
            (the state before it, the increment to subtract from log w).
        """
        return state, self.log_edge(model, y, state, t)
