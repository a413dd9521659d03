"""A NumPyro model function as a model with a log evidence.

    import numpyro, numpyro.distributions as dist

    def regression(X, y=None):
        weights = numpyro.sample("weights", dist.Normal(0, 1).expand([X.shape[1]]).to_event(1))
        noise = numpyro.sample("noise", dist.HalfNormal(1.0))
        with numpyro.plate("rows", len(X)):
            numpyro.sample("y", dist.Normal(X @ weights, noise), obs=y)

    model = bz.from_numpyro(regression, X)

Latent sites are the state, in unconstrained coordinates; sites fed by ``obs=`` are the data.
"""

import importlib
import importlib.metadata
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.adapters.translate import name_of, source_of
from bracketz.core.precision import double_precision
from bracketz.core.pytree import pytree_dataclass, static
from bracketz.engine.devices import use_all_cores
from bracketz.errors import InputError
from bracketz.models.factored import Factored

if TYPE_CHECKING:
    from bracketz.adapters.numpyro_program import ByIdentity, Program

#: The first release this is tested with.
OLDEST = (0, 21)


def from_numpyro(
    function: Callable,
    *args,
    observed: str | tuple[str, ...] | None = None,
    factors: Mapping[str, str] | None = None,
    enumerate: bool = False,
    kernel: Callable | None = None,
    **kwargs,
) -> "NumPyroModel":
    """The model a NumPyro function describes.

    Its latent sites are the state, each in unconstrained coordinates under its own name. The data
    are the sites the function observes: those with a value, where the data are passed here; else
    those that an argument left out (with the default None) feeds; or those named in ``observed``.
    Arrays among the arguments may change without a new compilation; other arguments are part of
    the program.

    Scales: ``handlers.scale`` on an observed site raises its likelihood to a power, which is no
    distribution of data any more, so it is refused unless declared in ``factors``; the model then
    has a lower bound, and no simulator. A scale or a mask on a latent site is refused, since the
    prior would not integrate to 1; a mask on an observed site leaves those data out.

    Args:
        function: the model function.
        *args: its arguments: covariates and sizes; also the data, or None in their place.
        observed: the site or sites that are data, where they cannot be found.
        factors: the role of every ``numpyro.factor`` (and scaled site): "likelihood" or "prior".
            A factor of the prior must be followed by the draws of the function.
        enumerate: sum out discrete sites, by funsor; the likelihood is then one number.
        kernel: (model, y, powers) -> a Kernel, for models the usual kernels cannot move; it may
            have discrete sites, kept in the state as they are.
        **kwargs: arguments by name.

    Returns:
        The model.

    Raises:
        InputError: the function is no prior times likelihood that can be drawn from, or NumPyro is
            missing; the sentence says which.

    Example:
        >>> import bracketz as bz, jax, numpyro, numpyro.distributions as dist
        >>> from bracketz.adapters.numpyro import from_numpyro
        >>> def mean(n, y=None):
        ...     m = numpyro.sample("m", dist.Normal(0, 1))
        ...     with numpyro.plate("rows", n):
        ...         numpyro.sample("y", dist.Normal(m, 1), obs=y)
        >>> model = from_numpyro(mean, 8)
        >>> model
        NumPyroModel(mean: state m, data y)
        >>> model.simulate(jax.random.key(0), {"m": 0.3}).shape
        (8,)
    """
    use_all_cores()
    require_numpyro()
    from bracketz.adapters.numpyro_program import ByIdentity
    from bracketz.adapters.numpyro_sites import bind, inspect_model

    bound = bind(function, args, kwargs)
    with double_precision():
        program, arrays, given = inspect_model(
            function, bound, observed, dict(factors or {}), enumerate, kernel is not None
        )
    return NumPyroModel(arrays, given, program, ByIdentity(kernel))


def require_numpyro() -> None:
    """Refuse to go on without a NumPyro this works with.

    Raises:
        InputError: it is missing or too old.
    """
    try:
        importlib.import_module("numpyro")
        version = importlib.metadata.version("numpyro")
    except ImportError as error:
        raise InputError(
            'from_numpyro needs NumPyro, which is not installed: pip install "bracketz[numpyro]"'
        ) from error
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        raise InputError(
            f"from_numpyro needs NumPyro 0.21 or newer, and {version} is installed: pip install"
            ' -U "bracketz[numpyro]"'
        )


@pytree_dataclass
class NumPyroModel(Factored):
    """A model made by ``from_numpyro``, which is how to make one.

    Args:
        arrays: the arrays among the function's arguments.
        given: the data the function was given, by site; None where there are none.
        program: the function and what is known of its sites.
        own_kernel: makes the kernel, if the usual ones are not wanted.

    Example:
        >>> import jax, numpyro, numpyro.distributions as dist
        >>> from bracketz.adapters.numpyro import from_numpyro
        >>> def scale(y=None):
        ...     s = numpyro.sample("s", dist.HalfNormal(1))
        ...     numpyro.sample("y", dist.Normal(0, s).expand([4]), obs=y)
        >>> model = from_numpyro(scale)
        >>> x = model.unconstrain({"s": 1.0})
        >>> float(x["s"]), float(model.constrain(x)["s"])
        (0.0, 1.0)
    """

    arrays: tuple
    given: dict[str, Any] | None
    program: "Program" = static()
    own_kernel: "ByIdentity" = static()

    def log_prior(self, x):
        return self.program.log_prior(self.arrays, x)

    def log_likelihood(self, x, y):
        return self.program.log_likelihood(self.arrays, x, self._by_site(y))

    def sample_prior(self, key, shape=None):
        return self.program.sample_prior(self.arrays, key)

    def simulate(self, key, x, shape=None):
        found = self.program.simulate(self.arrays, key, x)
        return next(iter(found.values())) if len(found) == 1 else found

    def constrain(self, x):
        return self.program.constrain(self.arrays, x)

    def unconstrain(self, values):
        if missing := [name for name in self.program.latents if name not in values]:
            raise InputError(f"values of {self.label} have no `{missing[0]}`")
        return self.program.unconstrain(self.arrays, values)

    def kernel(self, y, powers):
        if self.own_kernel.value is None:
            return super().kernel(y, powers)
        return self.own_kernel.value(self, y, powers)

    @property
    def label(self):
        return name_of(self.program.call.function)

    @property
    def has_own_kernel(self):
        return self.own_kernel.value is not None

    @property
    def source(self):
        call = self.program.call
        return f"{source_of(call.function)}\n{call.leaves}"

    @property
    def own_data(self):
        """The data the function was given; None if it was given none."""
        if self.given is None or len(self.given) != 1:
            return self.given
        return next(iter(self.given.values()))

    def __repr__(self) -> str:
        data = ", ".join(site.name for site in self.program.observed)
        return f"NumPyroModel({self.label}: state {', '.join(self.program.latents)}, data {data})"

    def _by_site(self, y) -> dict[str, jax.Array]:
        """The data at every observed site, of the shape the function draws."""
        sites = self.program.observed
        if y is None:
            raise InputError(f"{self.label} needs data, got None")
        if len(sites) == 1 and not isinstance(y, dict):
            y = {sites[0].name: y}
        if sites and (not isinstance(y, dict) or set(y) != {site.name for site in sites}):
            names = ", ".join(f"`{site.name}`" for site in sites)
            raise InputError(f"data of {self.label} are a dict with the arrays {names}")
        for site in sites:
            if np.shape(y[site.name]) != site.shape:
                raise InputError(
                    f"data at `{site.name}` of {self.label} have shape {np.shape(y[site.name])},"
                    f" and the function draws {site.shape}: its sizes come from its arguments and"
                    " its plates"
                )
        return {site.name: jnp.asarray(y[site.name]) for site in sites}
