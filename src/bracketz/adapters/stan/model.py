"""A Stan program with its data as a model: ``from_stan``."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.adapters.stan import callback
from bracketz.adapters.stan.build import describe
from bracketz.adapters.stan.callback import call, real, seeds, whole
from bracketz.adapters.stan.library import StanError, flatten
from bracketz.adapters.stan.split import Split, as_declared
from bracketz.core.pytree import Array, pytree_dataclass, static
from bracketz.engine.devices import use_all_cores
from bracketz.errors import InputError, unknown
from bracketz.models.factored.model import Factored, one_of, weighted

#: Fewer prior draws than this do not stand for a prior.
FEWEST_DRAWS = 1000


@pytree_dataclass
class StanModel(Factored):
    """A Stan program with its data; made by ``from_stan``.

    A state is the program's vector of unconstrained parameters. Densities and gradients are
    Stan's own, on the CPU, a whole batch per call; there are no second derivatives, and none in y.

    Attributes:
        split: the program, told apart into prior and likelihood.
        draws: (draws, width) unconstrained draws from the prior, or None if the program draws them.

    Example:
        >>> import bracketz as bz
        >>> issubclass(bz.StanModel, bz.Factored)
        True
    """

    split: Split = static()
    draws: Array | None = None

    @property
    def label(self):
        return "Stan program"

    @property
    def source(self):
        given = {k: v for k, v in self.split.data.items() if k not in self.split.observed}
        return self.split.text + "".join(f"{k} {v.tolist()}" for k, v in sorted(given.items()))

    @property
    def own_data(self) -> Any:
        """The observed data: an array, or a dictionary if several names are observed."""
        found = {name: self.split.data[name] for name in self.split.observed}
        return found if len(found) > 1 else next(iter(found.values()))

    def log_prior(self, x):
        return callback.log_prior(self.split, x)

    def log_likelihood(self, x, y):
        return callback.terms(self.split, x, self._observed(y))[1]

    def log_annealed(self, state, y, powers):
        # One visit to Stan for both, where log_prior and log_likelihood would make two.
        prior, likelihood = callback.terms(self.split, state, self._observed(y))
        return prior + weighted(powers, likelihood)

    def log_joint(self, state, y):
        prior, likelihood = callback.terms(self.split, state, self._observed(y))
        return prior + likelihood

    def sample_prior(self, key, shape=None):
        if self.draws is not None:
            return one_of(self.draws, key, half=0)
        out = jax.ShapeDtypeStruct((self.split.joint.width,), real())
        return call(self.split.draw_prior, out, seeds(key, 0))

    def sample_pilot(self, key):
        return self.sample_prior(key) if self.draws is None else one_of(self.draws, key, half=1)

    @property
    def pooled(self):
        return self.draws is not None

    def simulate(self, key, x, shape=None):
        if not self.split.simulated:
            return super().simulate(key, x, shape)
        data = [self.split.data[name] for name in self.split.observed]
        types = [real() if v.dtype == np.float64 else whole() for v in data]
        out = tuple(jax.ShapeDtypeStruct(v.shape, t) for v, t in zip(data, types, strict=True))
        drawn = call(self.split.draw_data, out, x, seeds(key, 1))
        return dict(zip(self.split.observed, drawn, strict=True)) if len(drawn) > 1 else drawn[0]

    def constrain(self, x):
        shapes = self.split.parameters.items()
        out = {name: jax.ShapeDtypeStruct(shape, real()) for name, shape in shapes}
        return call(self.split.constrain, out, x)

    def unconstrain(self, values):
        parameters(values, self.split.parameters, "`values`")
        given = {name: jnp.asarray(values[name], real()) for name in self.split.parameters}
        out = jax.ShapeDtypeStruct((self.split.joint.width,), real())
        return call(self.split.unconstrain, out, given)

    def _observed(self, y) -> tuple:
        found = (y,) if len(self.split.observed) == 1 else tuple(y[n] for n in self.split.observed)
        for name, value in zip(self.split.observed, found, strict=True):
            if np.shape(value) != self.split.data[name].shape:
                raise InputError(
                    f"`{name}` must have the shape it has in `data`,"
                    f" {self.split.data[name].shape}, got {np.shape(value)}"
                )
        return tuple(jax.lax.stop_gradient(jnp.asarray(value)) for value in found)


def from_stan(
    program: str | Path,
    data: Mapping[str, Any] | str | Path,
    *,
    observed: str | Sequence[str] = "y",
    simulated: str | Sequence[str] | None = None,
    prior_only: str = "prior_only",
    prior_data: Mapping[str, Any] | None = None,
    prior_draws: Mapping[str, Any] | None = None,
) -> StanModel:
    """A Stan program and its data as a model.

    The program must be able to leave its likelihood out: it declares a flag,

        data { int<lower=0, upper=1> prior_only;  ... }
        model { ...  if (!prior_only) y ~ normal(mu, sigma); }

    (or give data without observations as ``prior_data``). For simulated data it draws them as
    generated quantities, ``y_rep`` or ``y_sim``. Stan cannot sample a prior, so the program draws
    every parameter as a generated quantity, ``real mu_prior = normal_rng(0, 1);`` for ``mu``; or
    independent draws are given as ``prior_draws``. ``bracketz check`` compares the draws with the
    density.

    Constants that ``~`` drops elsewhere are kept, but Stan does not divide by the mass that a
    declared range leaves: a positive parameter's prior is ``tau ~ normal(0, 5) T[0, ];`` and a
    bounded one's ``level ~ uniform(0, 10);``. Without these ``log_prior`` is off by a constant,
    which the path from the prior never looks at, and one from another reference does.

    The first call compiles the program, some 20 seconds, and keeps the result in the user's cache
    folder. It needs httpstan (``pip install "bracketz[stan]"``) and a C++ compiler.

    Args:
        program: a path, or the text of a program (known by its braces).
        data: by name, as the program declares them, or the path of a JSON file of them; names it
            does not declare are ignored, as is the flag.
        observed: the name or names of the data that are y. All other data are taken as known.
        simulated: the generated quantities drawn as ``observed`` are, in the same order; by
            default the name with ``_rep`` or ``_sim`` appended. Without any there is no
            simulator: the model can be estimated and not sandwiched.
        prior_only: the name of the flag.
        prior_data: for a program without a flag, the data that make its likelihood empty, such as
            ``{"N": 0, "y": [], "x": np.zeros((0, 3))}``; what is not named stays.
        prior_draws: constrained draws from the prior by parameter, (draws, *shape), at least
            1000, independent. One half makes data, the other half a reference for runs to begin
            at: chains that began at the draws would share them.

    Returns:
        The model. Its ``y`` is the observed data.

    Raises:
        InputError: httpstan or a compiler is missing, the program is not valid Stan, its
            likelihood cannot be left out, its prior not sampled, or the data do not fit.

    Example:
        >>> import bracketz as bz
        >>> from bracketz.adapters.stan import from_stan
        >>> model = from_stan("linear.stan", "linear.json")  # doctest: +SKIP
        >>> bz.sandwich(model, bz.simulate(model, seed=1))  # doctest: +SKIP
    """
    use_all_cores()
    text, folder = read_program(program)
    names = (observed,) if isinstance(observed, str) else tuple(observed)
    split = declared(text, folder, read_data(data), names, simulated, prior_only, prior_data)
    if prior_draws is None:
        refuse_without_sampler(describe(text, folder))
    # What follows needs the compiled program.
    if not split.joint.width:
        raise InputError("the Stan program has no parameters, so there is nothing to integrate")
    if split.prior.width != split.joint.width:
        raise InputError(
            "`prior_data` must leave the parameters as they are: the Stan program has"
            f" {split.joint.width} unconstrained parameters with all `data`, and"
            f" {split.prior.width} with `prior_data`"
        )
    for name, drawn in zip(names, split.simulated, strict=bool(split.simulated)):
        same_shape(drawn, split.joint.shapes, name, split.data[name].shape)
    if prior_draws is None:
        for name in split.parameters:
            same_shape(f"{name}_prior", split.joint.shapes, name, split.parameters[name])
        draws, first = None, split.draw_prior(np.array([[0, 1]], np.uint32))
    else:
        draws = unconstrained(prior_draws, split)
        first = draws[:1]
    if split.simulated:
        # Refused here what would fail in the middle of a run.
        split.terms(first, *split.draw_data(first, np.array([[0, 2]], np.uint32)))
    return StanModel(split=split, draws=draws)


def read_program(program: str | Path) -> tuple[str, Path | None]:
    """The text, and the folder it came from."""
    if isinstance(program, str) and "{" in program:
        return program, None
    path = Path(program)
    if not path.is_file():
        raise InputError(f"there is no Stan program at {path}")
    return path.read_text(encoding="utf-8"), path.resolve().parent


def read_data(data: Mapping[str, Any] | str | Path) -> Mapping[str, Any]:
    """The data, from a JSON file if that is what was given."""
    if isinstance(data, Mapping):
        return data
    try:
        found = json.loads(Path(data).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"`data` cannot be read from {data}: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"`data` in {data} must be an object: values by name")
    return found


def declared(
    text: str,
    folder: Path | None,
    data: Mapping[str, Any],
    observed: tuple[str, ...],
    simulated: str | Sequence[str] | None,
    prior_only: str,
    prior_data: Mapping[str, Any] | None,
) -> Split:
    """The program with everything it declares, typed as it declares it."""
    info = describe(text, folder)
    inputs = info["inputs"]
    flag = prior_only if prior_only in inputs else None
    if flag is None and prior_data is None:
        raise InputError(
            f"the Stan program has no data `{prior_only}`, so its likelihood cannot be left out:"
            f" declare `int<lower=0, upper=1> {prior_only};` and write `if (!{prior_only})`"
            " before the likelihood, or give `prior_data` without observations"
        )
    for name in observed:
        if name not in inputs:
            raise unknown("data `observed`", name, inputs)
    wanted = {**data, flag: 0} if flag else data
    if missing := [name for name in inputs if name not in wanted]:
        raise InputError(f"`data` has no `{missing[0]}`, which the Stan program declares")
    kinds = {name: kind(name, inputs[name]["type"]) for name in inputs}
    typed = {name: as_declared(name, wanted[name], kinds[name]) for name in inputs}
    over = {flag: 1} if flag else dict(prior_data or {})
    for name in over:
        if name not in inputs:
            raise unknown("name in `prior_data`", name, inputs)
    without = {name: as_declared(name, over[name], kinds[name]) for name in over}
    drawn = quantities(observed, simulated, info["generated quantities"])
    return Split(text, folder, typed, without, flag, observed, drawn)


def kind(name: str, declared_type: str) -> type:
    """Of the array that holds data of a declared type."""
    if declared_type not in ("int", "real"):
        raise InputError(f"`{name}` is declared {declared_type}; data must be int or real")
    return np.int32 if declared_type == "int" else np.float64


def quantities(
    observed: tuple[str, ...], simulated: str | Sequence[str] | None, known: Mapping[str, Any]
) -> tuple[str, ...]:
    """The generated quantities that stand for the observed data; none if one is missing."""
    if simulated is None:
        found = [[n for n in (f"{name}_rep", f"{name}_sim") if n in known] for name in observed]
        return tuple(names[0] for names in found) if all(found) else ()
    names = (simulated,) if isinstance(simulated, str) else tuple(simulated)
    if len(names) != len(observed):
        raise InputError(
            f"`simulated` must name one quantity for each of `observed`, {len(observed)},"
            f" got {len(names)}"
        )
    for name in names:
        if name not in known:
            raise unknown("generated quantity `simulated`", name, known)
    return names


def refuse_without_sampler(info: Mapping[str, Any]) -> None:
    """Unless the program draws every parameter."""
    for name in info["parameters"]:
        if f"{name}_prior" not in info["generated quantities"]:
            raise InputError(
                f"the prior of `{name}` cannot be sampled: draw it as the generated quantity"
                f" `{name}_prior`, or give `prior_draws`"
            )


def same_shape(drawn: str, shapes: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> None:
    """Refuse a generated quantity that cannot stand for a variable."""
    if shapes[drawn] != shape:
        raise InputError(f"`{drawn}` must have the shape of `{name}`, {shape}, got {shapes[drawn]}")


def parameters(values: Mapping[str, Any], known: Mapping[str, Any], what: str) -> None:
    """Refuse values that leave a parameter out."""
    if missing := [name for name in known if name not in values]:
        raise InputError(f"{what} has no `{missing[0]}`, a parameter of the Stan program")


def unconstrained(prior_draws: Mapping[str, Any], split: Split) -> np.ndarray:
    """(draws, width) states of given draws."""
    parameters(prior_draws, split.parameters, "`prior_draws`")
    arrays = {name: np.asarray(prior_draws[name], np.float64) for name in split.parameters}
    count = min(v.shape[0] if v.ndim else 0 for v in arrays.values())
    for name, shape in split.parameters.items():
        if arrays[name].shape != (count, *shape):
            raise InputError(
                f"`{name}` in `prior_draws` must have shape (draws, ...) ="
                f" {(count, *shape)}, got {arrays[name].shape}"
            )
    if count < FEWEST_DRAWS:
        raise InputError(f"`prior_draws` must have at least {FEWEST_DRAWS} draws, got {count}")
    try:
        states = split.joint.unconstrain(flatten(arrays, split.parameters))
    except StanError as error:
        raise InputError(f"`prior_draws` do not fit the Stan program: {error}") from None
    if not np.isfinite(states).all():
        raise InputError("`prior_draws` must be finite and inside the range of each parameter")
    return states
