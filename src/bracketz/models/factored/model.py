"""A model as a prior and a likelihood; everything else follows.

With l_i(x) = log p(y_i | x) the density at a row of powers is log f(x; b) = log p(x) + sum_i b_i
l_i(x), and the increment of an edge needs the likelihood once:

    log f(x; b') - log f(x; b) = sum_i (b'_i - b_i) l_i(x),

where a term with b'_i = b_i is 0 whatever l_i is (it may be -inf).

States are unconstrained: any pytree of real arrays in which every value is allowed. A positive
parameter is kept as its logarithm, and the log-determinant of that change of variables belongs to
``log_prior``, never to the likelihood: the prior must integrate to 1 over the unconstrained space.
"""

import inspect
from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from bracketz.core.kernel import Kernel
from bracketz.core.model import Model, Shape, State
from bracketz.core.precision import double_precision
from bracketz.errors import InputError


class Factored(Model):
    """A prior and a likelihood, in unconstrained coordinates.

    Subclass it (as a ``pytree_dataclass`` with the covariates as traced fields) and write
    ``log_prior``, ``log_likelihood``, ``sample_prior`` and ``simulate``; or let ``from_functions``,
    ``from_numpyro``, ``from_pymc`` or ``from_stan`` do it.

    Data ``y`` may be any pytree of arrays. The likelihood is one number per data point, (N,), or
    one for all of them, which rules out the prefix path alone. Kernels need not be written:
    ``sandwich`` and ``estimate`` tune them in a pilot and freeze them
    (``bracketz.models.factored.prepared``). A state with discrete arrays needs ``gibbs``.

    Example:
        >>> import bracketz as bz, jax, jax.numpy as jnp
        >>> @bz.pytree_dataclass
        ... class Mean(bz.Factored):
        ...     def log_prior(self, x):
        ...         return jax.scipy.stats.norm.logpdf(x["mean"])
        ...
        ...     def log_likelihood(self, x, y):
        ...         return jax.scipy.stats.norm.logpdf(y, x["mean"])
        ...
        ...     def sample_prior(self, key, shape=None):
        ...         return {"mean": jax.random.normal(key)}
        ...
        ...     def simulate(self, key, x, shape=None):
        ...         return x["mean"] + jax.random.normal(key, (8,))
        >>> bz.simulate(Mean(), seed=1).y.shape
        (8,)
    """

    @abstractmethod
    def log_prior(self, x: State) -> jax.Array:
        """log p(x) in unconstrained coordinates, Jacobians and all constants included.

        Args:
            x: the state.

        Returns:
            A scalar.
        """

    @abstractmethod
    def log_likelihood(self, x: State, y) -> jax.Array:
        """log p(y_i | x) of every data point, all constants included; -inf is a legal value.

        Args:
            x: the state.
            y: the data.

        Returns:
            One number per data point, (N,); or a scalar, where they cannot be told apart.
        """

    @abstractmethod
    def sample_prior(self, key, shape: Shape | None = None) -> State:
        """An exact draw from p(x).

        Args:
            key: a JAX random key.
            shape: of no use here: the model knows the size of its data.

        Returns:
            The state x.
        """

    def simulate(self, key, x: State, shape: Shape | None = None) -> Any:
        """An exact draw of y from p(y | x).

        Args:
            key: a JAX random key.
            x: the state.
            shape: of no use here.

        Returns:
            The data.

        Raises:
            InputError: the model has no simulator; it can be estimated, and not sandwiched.
        """
        raise InputError(
            f"{self.label} has no simulator, so there are no data with an exact sample and no"
            " sandwich; give it one, or take bracketz.estimate for a lower bound on observed data"
        )

    @property
    def pooled(self) -> bool:
        """Whether ``sample_prior`` picks from a pool of draws, so that two calls may give the same.
        Runs then begin at a fitted reference, which has a sampler of its own: weights of chains
        that share a start are not independent, and no certificate holds for them."""
        return False

    def sample_pilot(self, key) -> State:
        """A prior draw for the pilot. What is fitted by it must not know the exact sample behind
        simulated data, so a pool keeps draws for this that ``sample_prior`` never gives.

        Args:
            key: a JAX random key.

        Returns:
            The state x.
        """
        return self.sample_prior(key)

    def constrain(self, x: State) -> Any:
        """The parameters as their author knows them, by name; the state itself by default.

        Args:
            x: the state.

        Returns:
            Values by name.
        """
        return x

    def unconstrain(self, values: Any) -> State:
        """The state of given parameters: the inverse of ``constrain``.

        Args:
            values: by name.

        Returns:
            The state.
        """
        return values

    def gibbs(self, y, powers) -> Kernel | None:
        """A kernel of your own that a sweep ends with, on the state; none by default.

        It must leave f(.; b) invariant for every row of powers, as ``Model.kernel`` must. Discrete
        arrays of a state are moved by it alone.

        Args:
            y: the data.
            powers: the row b.

        Returns:
            The kernel, or None.
        """
        return None

    def root_at(self, beta: float) -> Any:
        """A root of the covariance to expect at an inverse temperature, where the model knows one:
        of (prior precision + beta * expected curvature of the likelihood)^-1, as a rule.

        Kernels are scaled by it; any value is valid, a good one is fast. It must not depend on the
        exact sample behind simulated data.

        Args:
            beta: the inverse temperature.

        Returns:
            One number per real entry of the state, or a square matrix; None (the default): a
            pilot's population says.
        """
        return None

    @property
    def label(self) -> str:
        """What the model is called."""
        return type(self).__name__

    @property
    def source(self) -> str:
        """The text that stands for its code in files: a sample is exact only for the code that
        made it."""
        try:
            return inspect.getsource(type(self))
        except (OSError, TypeError):
            return type(self).__qualname__

    @property
    def own_data(self) -> Any:
        """The observations it was made with; None where there are none."""
        return None

    @property
    def twin_told(self):
        return (
            "simulated at states of the fit; on average over twins these are nearly samples of the"
            " twins' posteriors where the prior is flat, and not exact ones"
        )

    def twin(self, key, state, y):
        return state, self.simulate(key, state)

    def summary(self, states):
        named = jax.vmap(self.constrain)(states)
        return named if isinstance(named, dict) else {"x": named}

    # What follows from them.

    def num_rows(self, y) -> int:
        terms = self.likelihood_shape(y)
        return terms.shape[0] if terms.ndim else 1

    def likelihood_shape(self, y) -> Any:
        """Shape and type of the likelihood."""
        with double_precision():
            return jax.eval_shape(type(self).log_likelihood, self, self.state_shapes, y)

    @property
    def state_shapes(self) -> State:
        """The state's structure, with shapes and types for arrays."""
        key = jax.random.key(0, impl="threefry2x32")
        with double_precision():
            return jax.eval_shape(_drawn_state, self, key)

    @property
    def data_shapes(self) -> Any:
        """The same for the data, as ``simulate`` gives them."""
        key = jax.random.key(0, impl="threefry2x32")
        with double_precision():
            return jax.eval_shape(_drawn_data, self, key)

    def data_shape(self, y):
        return np.shape(y) if hasattr(y, "shape") else (self.num_rows(y),)

    def log_annealed(self, state, y, powers):
        return self.log_prior(state) + weighted(powers, self.log_likelihood(state, y))

    def log_increment(self, state, y, after, before):
        return weighted(after - before, self.log_likelihood(state, y))

    def log_joint(self, state, y):
        """log p(x) p(y | x)."""
        return self.log_prior(state) + jnp.sum(self.log_likelihood(state, y))

    def doubtful(self, y, states):
        return False  # nothing is cached

    def kernel(self, y, powers) -> Kernel:
        """Not before a pilot has tuned one (``bracketz.prepare``), unless you write your own."""
        raise InputError(
            f"the kernels of {self.label} are tuned by a pilot first: take"
            " bracketz.prepare(model, y).model, or write a `kernel` of your own"
        )

    @property
    def has_own_kernel(self) -> bool:
        """Whether somebody wrote a kernel, so that there is nothing to tune."""
        return type(self).kernel is not Factored.kernel

    def observations(self, y) -> Any:
        """Data as this model wants them: arrays of real numbers, of the shapes it simulates.

        Args:
            y: what the user has.

        Returns:
            The same as arrays.

        Raises:
            InputError: other names, other shapes, or not numbers.
        """
        with double_precision():
            try:
                wanted = self.data_shapes
            except InputError:
                wanted = None  # no simulator, so nobody knows
            return _fitting(y, wanted, self.label)


# Functions of the module, not of a call: what JAX has traced of them once it finds again.


def _drawn_state(model: Factored, key):
    return model.sample_prior(key)


def _drawn_data(model: Factored, key):
    return model.simulate(key, model.sample_prior(key))


def _fitting(y, wanted, label: str):
    treedef: Any
    paths, treedef = jax.tree_util.tree_flatten_with_path(wanted)
    if isinstance(y, dict) and isinstance(wanted, dict) and set(y) != set(wanted):
        raise InputError(f"{label} has observations {sorted(wanted)}, and the data are {sorted(y)}")
    given = jax.tree.leaves(y) if wanted is None else _leaves(y, treedef, label)
    arrays = []
    for k, value in enumerate(given):
        array = np.asarray(value)
        name = "the data"
        if wanted is not None and len(paths) > 1:
            name = f"'{jax.tree_util.keystr(paths[k][0], simple=True)}'"
        if array.dtype.kind not in "fiub":
            raise InputError(f"{name} must hold real numbers, got type {array.dtype}")
        if wanted is not None:
            like = paths[k][1]
            if _long(array.shape) == _long(like.shape):
                array = array.reshape(like.shape)  # a column for a vector
            if array.shape != like.shape:
                raise InputError(
                    f"{name} of {label} must have shape {like.shape}, got {array.shape}"
                )
        bad = ~np.isfinite(array)
        if bad.any():
            where = np.argwhere(bad)[0] if array.ndim else np.array([0])
            row = f" at row {where[0] + 1}" if array.ndim else ""
            raise InputError(
                f"{name} holds {array[tuple(where)] if array.ndim else array}{row}; remove or fill"
                " in such values first"
            )
        if wanted is not None:
            if np.issubdtype(like.dtype, np.integer):
                _require_whole(array, name, label)
            array = array.astype(like.dtype)
        elif array.dtype.kind == "f":
            array = array.astype(float)
        arrays.append(array)
    return jax.tree.unflatten(jax.tree.structure(y) if wanted is None else treedef, arrays)


def _require_whole(array: np.ndarray, name: str, label: str) -> None:
    """Counts and bits: a cast would cut a fraction off without a word."""
    bad = np.asarray(array != np.floor(array))
    if bad.any():
        raise InputError(f"{name} of {label} must hold whole numbers, and holds {array[bad][0]}")


def _long(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Without its axes of length 1."""
    return tuple(length for length in shape if length != 1)


def _leaves(y, treedef: Any, label: str) -> list:
    try:
        return treedef.flatten_up_to(y)
    except ValueError:
        raise InputError(
            f"the data of {label} must have the structure {treedef}, got {type(y).__name__}"
        ) from None


def require_rows(model: Model, y) -> None:
    """Refuse the prefix path where the likelihood is one number for all rows."""
    if isinstance(model, Factored) and not model.likelihood_shape(y).ndim:
        raise InputError(
            f"the likelihood of {model.label} is one number for all data, so that points cannot"
            " enter one at a time; take the tempered path (ais)"
        )


def one_of(draws: Any, key, half: int) -> Any:
    """One of a pool of draws (arrays with a leading axis) at random: of its first half, which makes
    data, or of its second, which is the pilot's."""
    count = len(jax.tree.leaves(draws)[0])
    first, end = ((0, count // 2), (count // 2, count))[half]
    chosen = jax.random.randint(key, (), first, end)
    return jax.tree.map(lambda pool: jnp.asarray(pool)[chosen], draws)


def weighted(powers, terms):
    """sum_i b_i l_i, where a power of 0 leaves a term out whatever it is."""
    return jnp.sum(jnp.where(powers != 0, powers * terms, 0.0))


class Flattening:
    """States as (vector of all real entries, the discrete arrays), and back."""

    def __init__(self, model: Factored):
        leaves, self.treedef = jax.tree.flatten(model.state_shapes)
        self.real = [jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in leaves]
        empty = [jnp.zeros(leaf.shape, leaf.dtype) for leaf in leaves]
        vector, self._back = ravel_pytree(self._of(empty, True))
        self.size = vector.shape[0]

    def _of(self, leaves, real: bool) -> list:
        return [leaf for leaf, is_real in zip(leaves, self.real, strict=True) if is_real == real]

    @property
    def has_discrete(self) -> bool:
        """Whether some arrays are not real."""
        return not all(self.real)

    def split(self, state):
        """(vector, discrete arrays)."""
        leaves = jax.tree.leaves(state)
        return ravel_pytree(self._of(leaves, True))[0], tuple(self._of(leaves, False))

    def join(self, vector, discrete=()):
        """The state."""
        reals, others = iter(self._back(vector)), iter(discrete)
        leaves = [next(reals) if is_real else next(others) for is_real in self.real]
        return jax.tree.unflatten(self.treedef, leaves)

    def names(self, model: Factored) -> list[str]:
        """What each entry of the vector is called."""
        out = []
        for path, leaf in jax.tree_util.tree_flatten_with_path(model.state_shapes)[0]:
            if jnp.issubdtype(leaf.dtype, jnp.floating):
                name = jax.tree_util.keystr(path, simple=True, separator=".")
                places = np.ndindex(leaf.shape)
                out += [name + (f"[{', '.join(map(str, at))}]" if at else "") for at in places]
        return out
