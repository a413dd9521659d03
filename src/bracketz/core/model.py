"""What a model is: four methods.

Every intermediate distribution of every estimator here is

    f(x; b) = p(x) * prod_i p(y_i | x)^(b_i),     b in [0, 1]^N

for a row of powers b. What else an estimator may want is a capability (``core.capabilities``).

States are NamedTuples of arrays (their field names are the names in a saved simulation). Data ``y``
is an (N, D) array, one row per data point. ``shape`` is (N, D).
"""

import dataclasses
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp

from bracketz.core.kernel import Kernel

if TYPE_CHECKING:
    from jaxtyping import Array, Float

State = Any  # a NamedTuple of arrays
Parameters = Any  # a NamedTuple of arrays
Shape = tuple[int, ...]  # (N, D), as an array's ``shape`` gives it


class Model(ABC):
    """The four methods. Subclasses are frozen dataclasses made by ``bracketz.pytree_dataclass``.

    Every distribution any estimator visits is f(x; b) = p(x) prod_i p(y_i | x)^(b_i) for a row of
    powers b. Arguments of one name mean one thing, here and in the capabilities: ``key`` is a JAX
    random key, ``state`` a NamedTuple of arrays, ``y`` the data (N, D), ``powers`` the row b (N,),
    and ``shape`` is (N, D). The four may be called inside compiled code.

    Example:
        >>> import bracketz as bz, jax, jax.numpy as jnp
        >>> model = bz.Clustering(components=2)
        >>> state = model.sample_prior(jax.random.key(0), (6, 2))
        >>> y = model.simulate(jax.random.key(1), state, (6, 2))
        >>> model.kernel(y, jnp.ones(6)).step(jax.random.key(2), state).assignments.shape
        (6,)
    """

    #: Every subclass is a dataclass; said here so that its fields can be asked for.
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    #: Sweeps at full powers that a reverse chain makes before it leaves: it stays an exact
    #: posterior sample, and chains that share one no longer begin at one place.
    settling: ClassVar[int] = 0
    #: Values worth trying for fields that change how chains move and not the evidence, by name,
    #: when settings are tuned.
    tunable: ClassVar[dict[str, tuple[Any, ...]]] = {}
    #: Size of the data where none is asked for.
    default_shape: ClassVar[Shape] = (50, 25)

    @abstractmethod
    def sample_prior(self, key, shape: Shape) -> State:
        """An exact draw from p(x).

        Args:
            key: a JAX random key.
            shape: (N, D) of the data.

        Returns:
            The state x.
        """

    @abstractmethod
    def simulate(self, key, state: State, shape: Shape) -> "Float[Array, 'rows columns']":
        """An exact draw of y from p(y | x).

        Args:
            key: a JAX random key.
            state: x.
            shape: (N, D) of the data.

        Returns:
            The data, (N, D).
        """

    @abstractmethod
    def log_annealed(
        self, state: State, y: "Float[Array, 'rows columns']", powers: "Float[Array, ' rows']"
    ) -> "Float[Array, '']":
        """log f(x; b), all constants included: log p(x) at b = 0, the log joint at b = 1.

        It may be -inf where p(y_i | x) = 0 for a row with b_i > 0. Rows with b_i = 0 do not count
        (0 * -inf is no number: write ``jnp.where(powers > 0, powers * rows, 0.0)``).

        Args:
            state: x.
            y: the data, (N, D).
            powers: the row b, (N,), each between 0 and 1.

        Returns:
            A scalar.
        """

    @abstractmethod
    def kernel(self, y: "Float[Array, 'rows columns']", powers: "Float[Array, ' rows']") -> Kernel:
        """A kernel that leaves f(.; b) invariant, for any row of powers.

        Args:
            y: the data, (N, D).
            powers: the row b, (N,), each between 0 and 1.

        Returns:
            The kernel, with its exact reversal.
        """

    def num_rows(self, y) -> int:
        """How many data points there are: the length of a row of powers.

        Args:
            y: the data.

        Returns:
            A number; by default the length of the leading axis.
        """
        return y.shape[0]

    def data_shape(self, y) -> Shape:
        """What ``sample_prior`` and ``simulate`` are told of the data's size.

        Args:
            y: the data.

        Returns:
            By default the shape of the array.
        """
        return y.shape

    def log_increment(self, state: State, y, after, before) -> "Float[Array, '']":
        """log f(x; after) - log f(x; before); by default from two densities.

        Args:
            state: x.
            y: the data.
            after, before: rows of powers, (N,).

        Returns:
            A scalar.
        """
        rows = jnp.stack([after, before])
        densities = jax.vmap(lambda powers: self.log_annealed(state, y, powers))(rows)
        return densities[0] - densities[1]

    def check_shape(self, shape: Shape) -> None:
        """Refuse data this model cannot describe.

        Args:
            shape: (N, D) of the data.

        Raises:
            InputError: it cannot; by default nothing is refused.
        """

    @property
    def twin_told(self) -> str:
        """What of a twin is taken from the fit, and what that leaves of its exactness."""
        return "drawn from the model itself, nothing taken from the fit: their samples are exact"

    def twin(self, key, state: State, y) -> tuple[State, Any]:
        """Data like the observed ones, with the sample that made them: what
        ``bracketz.evidence`` tries its own procedure on.

        Args:
            key: a JAX random key.
            state: a posterior state, or nearly one.
            y: the data observed.

        Returns:
            (the sample, the data). By default both come from the prior; a model with
            hyperparameters or parameters of its own keeps those of ``state``.
        """
        key_state, key_data = jax.random.split(key)
        shape = self.data_shape(y)
        exact = self.sample_prior(key_state, shape)
        return exact, self.simulate(key_data, exact, shape)

    def summary(self, states: State) -> dict[str, Any]:
        """Parameters of interest by name, whose posterior means are reported with an evidence.

        Args:
            states: x, with a leading axis of draws.

        Returns:
            Arrays by name, with that axis; none by default.
        """
        return {}

    def suited_to(self, y) -> "Model":
        """This model in the arithmetic these data need; itself by default.

        Shipped models compute in another, slower way where the noise is far below the data.

        Args:
            y: the data, (N, D).

        Returns:
            The same model, as runs compute with it.
        """
        return self

    def doubtful(self, y, states: State) -> bool:
        """Whether rounding may matter, so that a run compares its kernel's caches with a rebuild.

        Args:
            y: the data, (N, D).
            states: where chains ended, leading axis chains.

        Returns:
            True unless the model knows better.
        """
        return True

    def check_state(self, state: State) -> None:
        """Refuse a state that cannot be, such as an exact sample from a file that was edited.

        Args:
            state: of arrays.

        Raises:
            InputError: it cannot be; by default nothing is refused.
        """

    def check_data(self, y) -> None:
        """Refuse values this model cannot compute with.

        Args:
            y: the data, (N, D), finite.

        Raises:
            InputError: it cannot; by default nothing is refused.
        """
