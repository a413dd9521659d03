"""PyMC models: densities through PyMC's own graphs in JAX, exact draws by its random variables."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.model import Shape, State
from bracketz.core.precision import double_precision
from bracketz.core.pytree import Array, pytree_dataclass, static
from bracketz.engine.devices import use_all_cores
from bracketz.errors import InputError
from bracketz.models.factored.model import Factored


@pytree_dataclass
class PyMCModel(Factored):
    """A model that ``from_pymc`` has made.

    A state is a dict of the model's free variables by their own names, each on PyMC's unconstrained
    scale (``constrain`` gives the parameters themselves). Data are the array of the one observed
    variable, or a dict by name where there are several.

    Attributes:
        observed: the data the PyMC model was given.
        data: values of ``pm.Data`` that are real numbers, by name. Whole numbers, and the lengths
            of dimensions, are part of the program.
        program: the PyMC model's functions.
        own_prior, own_simulator: functions that draw instead of PyMC, where they were given.

    Example:
        >>> import bracketz as bz
        >>> issubclass(bz.PyMCModel, bz.Factored)
        True
    """

    observed: Any
    data: dict[str, Array]
    program: Any = static()
    own_prior: Callable | None = static(default=None)
    own_simulator: Callable | None = static(default=None)

    @property
    def label(self) -> str:
        return self.program.label

    @property
    def source(self) -> str:
        return self.program.text

    @property
    def own_data(self) -> Any:
        """The data the PyMC model was given."""
        return self.observed

    def log_prior(self, x: State) -> jax.Array:
        """log p(x) by PyMC, with the Jacobians of its transforms; see ``Factored``."""
        terms = self.program.log_prior(*self._states(x), *self._data())
        return sum((jnp.sum(term) for term in terms), start=jnp.zeros(()))

    def log_likelihood(self, x: State, y) -> jax.Array:
        """log p(y_i | x) by PyMC, one per leading index of the observed variables if they all have
        the same number of them, else one for all; see ``Factored``."""
        terms = self.program.log_likelihood(*self._states(x), *self._ys(y), *self._data())
        if not self.program.by_row:
            return sum((jnp.sum(term) for term in terms), start=jnp.zeros(()))
        rows = [jnp.sum(term, axis=tuple(range(1, term.ndim))) for term in terms]
        return sum(rows[1:], start=rows[0])

    def sample_prior(self, key, shape: Shape | None = None) -> State:
        """An exact draw by PyMC's random variables (or the function given); see ``Factored``."""
        if self.own_prior is not None:
            return self.unconstrain(self.own_prior(key))
        drawn = self.program.prior(key, [], self._data())
        return self.unconstrain(dict(zip(self.program.names, drawn, strict=True)))

    def simulate(self, key, x: State, shape: Shape | None = None) -> Any:
        """An exact draw by PyMC's random variables (or the function given); see ``Factored``.

        Raises:
            InputError: PyMC cannot draw data.
        """
        values = self.constrain(x)
        if self.own_simulator is not None:
            return self.own_simulator(key, values)
        if self.program.simulator is None:
            raise InputError(
                f"this PyMC model has no simulator, because {self.program.no_simulator}: give"
                " `simulate` to from_pymc, or take the lower bound on observed data by"
                " bracketz.estimate"
            )
        drawn = self.program.simulator(key, list(values.values()), self._data())
        names = self.program.observed_names
        return drawn[0] if len(names) == 1 else dict(zip(names, drawn, strict=True))

    def constrain(self, x: State) -> dict[str, Any]:
        """The free variables as their author knows them, by PyMC's transforms."""
        values = self.program.constrain(*self._states(x), *self._data())
        return dict(zip(self.program.names, values, strict=True))

    def unconstrain(self, values: dict[str, Any]) -> State:
        """The inverse of ``constrain``."""
        arrays = [jnp.asarray(values[name], float) for name in self.program.names]
        states = self.program.unconstrain(*arrays, *self._data())
        return dict(zip(self.program.names, map(jnp.asarray, states), strict=True))

    def check_data(self, y) -> None:
        """Refuse data that are not of the shape and kind of the observed variables.

        Args:
            y: the data.

        Raises:
            InputError: they are not.
        """
        names = self.program.observed_names
        if len(names) > 1 and not (isinstance(y, dict) and set(y) == set(names)):
            raise InputError(f"data must be a dict of {', '.join(names)}, got {type(y).__name__}")
        arrays = [y] if len(names) == 1 else [y[name] for name in names]
        for name, array, seen in zip(names, arrays, self.program.observed, strict=True):
            array = np.asarray(array)
            if array.shape != seen.shape:
                raise InputError(
                    f"data of `{name}` must have shape {seen.shape}, got {array.shape}"
                )
            if not np.issubdtype(seen.dtype, np.floating) and np.any(array != np.round(array)):
                raise InputError(f"data of `{name}` must be whole numbers")

    def _states(self, x: State) -> list:
        return [jnp.asarray(x[name], float) for name in self.program.names]

    def _ys(self, y) -> list:
        names, seen = self.program.observed_names, self.program.observed
        arrays = [y] if len(names) == 1 else [y[name] for name in names]
        return [jnp.asarray(a, s.dtype) for a, s in zip(arrays, seen, strict=True)]

    def _data(self) -> list:
        return [self.data[name] for name in self.program.data_names]


def from_pymc(
    model: Any,
    *,
    potentials: Mapping[str, str] | None = None,
    sample_prior: Callable | None = None,
    simulate: Callable | None = None,
) -> PyMCModel:
    """A PyMC model as a prior and a likelihood.

    Everything happens in double precision, without changing PyTensor's or JAX's settings. Later
    changes of the PyMC model, ``pm.set_data`` included, have no effect on the result.

    Args:
        model: a ``pm.Model`` with free and observed variables. Free variables must be continuous
            with proper priors. ``pm.Censored`` likelihoods are as in PyMC: densities between the
            bounds, probabilities at them.
        potentials: "prior" or "likelihood" for every ``pm.Potential``, by name. One that is part of
            the prior must leave it normalised, and needs ``sample_prior``; one that is part of the
            likelihood needs ``simulate`` for a sandwich.
        sample_prior: in place of PyMC's own draws: a JAX function of a key that returns the free
            variables by name.
        simulate: in place of PyMC's own draws: a JAX function of a key and the free variables by
            name that returns the data.

    Returns:
        The model; its ``observed`` are the data the PyMC model was given.

    Raises:
        InputError: PyMC is not installed, or the model has no log evidence, no exact prior draws,
            or no JAX version; the sentence says which.

    Example:
        >>> import jax, numpy as np, pymc as pm
        >>> from bracketz.adapters.pymc import from_pymc
        >>> with pm.Model() as heights:
        ...     mean = pm.Normal("mean", 170, 20)
        ...     spread = pm.HalfNormal("spread", 10)
        ...     _ = pm.Normal("height", mean, spread, observed=np.array([171.0, 165.0, 180.0]))
        >>> model = from_pymc(heights)
        >>> with jax.enable_x64(True):
        ...     x = model.sample_prior(jax.random.key(0))
        ...     print(list(x), model.log_likelihood(x, model.observed).shape)
        ['mean', 'spread'] (3,)
    """
    use_all_cores()
    try:
        import pymc  # noqa: F401
    except ImportError as error:
        raise InputError('from_pymc needs PyMC: pip install "bracketz[pymc]"') from error
    from bracketz.adapters.pymc_program import PyMCProgram
    from bracketz.adapters.pymc_refusals import require_supported

    roles = dict(potentials or {})
    require_supported(model, roles)
    for name, role in roles.items():
        if role == "prior" and sample_prior is None:
            raise InputError(
                f"potential `{name}` is part of the prior, from which PyMC cannot draw then: give"
                " `sample_prior`, a function of a JAX key that returns the free variables by name"
            )
    with double_precision():
        program = PyMCProgram(model, roles, sample_prior)
    seen = program.observed
    return PyMCModel(
        observed=seen[0]
        if len(seen) == 1
        else dict(zip(program.observed_names, seen, strict=True)),
        data=dict(zip(program.data_names, program.data, strict=True)),
        program=program,
        own_prior=sample_prior,
        own_simulator=simulate,
    )
