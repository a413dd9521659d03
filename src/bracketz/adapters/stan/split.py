"""A Stan program told apart into prior and likelihood, on NumPy arrays.

The program is evaluated twice over the same parameters: without the likelihood (a data flag, or
data with no observations) it is log p(x), with it log p(x) + log p(y | x), and the difference is
the likelihood. Both keep their constants and the Jacobian, which cancels in the difference.

A program with other observations is another program, so those for the latest data sets are kept.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bracketz.adapters.stan.build import build, describe
from bracketz.adapters.stan.library import Program, StanError, flatten, unflatten
from bracketz.errors import InputError

#: How many data sets have their program ready; each costs what Stan makes of the data.
KEPT = 64


@dataclass(frozen=True, eq=False)
class Split:
    """What a model needs of a program; equal to another of the same program and data.

    Attributes:
        text: the program.
        folder: where it includes from.
        data: all of it, float64 or int32 by name.
        without: the data that leave the likelihood out, in place of the same names in ``data``.
        flag: the name of the data flag, or None if ``without`` is a set with no observations.
        observed: names of the data that are y.
        simulated: names of the generated quantities that are drawn as y is; or none.
    """

    text: str
    folder: Path | None
    data: Mapping[str, np.ndarray]
    without: Mapping[str, np.ndarray]
    flag: str | None
    observed: tuple[str, ...]
    simulated: tuple[str, ...]
    _programs: OrderedDict[bytes, Program] = field(
        default_factory=OrderedDict, init=False, repr=False
    )
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @cached_property
    def library(self) -> Path:
        """The compiled program."""
        return build(self.text, self.folder)

    @cached_property
    def prior(self) -> Program:
        """The program without its likelihood."""
        return Program(self.library, {**self.data, **self.without})

    @cached_property
    def joint(self) -> Program:
        """The program with its likelihood, at the data it came with."""
        return Program(self.library, self.data)

    @cached_property
    def parameters(self) -> dict[str, tuple[int, ...]]:
        """Shapes by name, in the program's order."""
        declared = describe(self.text, self.folder)["parameters"]
        return {name: self.joint.shapes[name] for name in declared}

    @cached_property
    def _identity(self) -> str:
        found = hashlib.blake2b(repr((self.text, self.folder, self.observed)).encode())
        found.update(repr((self.simulated, self.flag)).encode())
        for part in (self.data, self.without):
            for name in sorted(part):
                found.update(repr((name, part[name].dtype, part[name].shape)).encode())
                found.update(part[name].tobytes())
        return found.hexdigest()

    def __hash__(self) -> int:
        return hash(self._identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Split) and self._identity == other._identity

    def __reduce__(self):
        fields = ("text", "folder", "data", "without", "flag", "observed", "simulated")
        return Split, tuple(getattr(self, name) for name in fields)

    # Callbacks: leading axes are batches, and unbatched arguments have axes of length 1 there.

    def log_prior(self, x: np.ndarray) -> np.ndarray:
        return self.prior.log_density(rows(x)).reshape(x.shape[:-1])

    def log_prior_gradient(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, gradient = self.prior.log_density_gradient(rows(x))
        return value.reshape(x.shape[:-1]), gradient.reshape(x.shape)

    def terms(self, x: np.ndarray, *y: np.ndarray) -> np.ndarray:
        """(..., 2): log p(x) and log p(y | x)."""

        def evaluate(program: Program, states: np.ndarray):
            return (difference(self.prior.log_density(states), program.log_density(states)),)

        return self._over_data(evaluate, x, y)[0]

    def terms_gradient(self, x: np.ndarray, *y: np.ndarray) -> tuple[np.ndarray, ...]:
        """The terms, and their gradients (..., 2, width)."""

        def evaluate(program: Program, states: np.ndarray):
            prior, slope = self.prior.log_density_gradient(states)
            joint, joint_slope = program.log_density_gradient(states)
            terms = difference(prior, joint)
            slopes = np.stack([slope, joint_slope - slope], axis=1)
            return terms, np.where(np.isneginf(terms)[..., None], 0.0, slopes)

        return self._over_data(evaluate, x, y)

    def draw_prior(self, seeds: np.ndarray) -> np.ndarray:
        """(..., width) states of the generated quantities ``<parameter>_prior``."""
        lead = seeds.shape[:-1]
        seeds = seeds.reshape(-1, 2)
        try:
            found = self.joint.generate(np.zeros((len(seeds), self.joint.width)), seeds)
            values = {name: found[f"{name}_prior"] for name in self.parameters}
            states = self.joint.unconstrain(flatten(values, self.parameters))
        except StanError as error:
            raise InputError(
                f"the draws `<parameter>_prior` of the Stan program failed: {error}"
            ) from None
        if not np.isfinite(states).all():
            raise InputError(
                "a draw `<parameter>_prior` of the Stan program is on the boundary of its"
                " parameter's range, where no unconstrained state is: keep the draws inside"
            )
        return states.reshape((*lead, -1))

    def draw_data(self, x: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, ...]:
        """The simulated quantities at states, one array per name of ``observed``."""
        lead = np.broadcast_shapes(x.shape[:-1], seeds.shape[:-1])
        states, words = (rows(np.broadcast_to(a, (*lead, a.shape[-1]))) for a in (x, seeds))
        try:
            found = self.joint.generate(states, words)
        except StanError as error:
            raise InputError(f"the simulated data of the Stan program failed: {error}") from None
        types = [self.data[name].dtype for name in self.observed]
        drawn = [found[name] for name in self.simulated]
        return tuple(
            v.reshape(lead + v.shape[1:]).astype(t) for v, t in zip(drawn, types, strict=True)
        )

    def constrain(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Parameters by name, (..., *shape)."""
        flat = self.joint.constrain(rows(x), tuple(self.parameters))
        found = unflatten(flat, self.parameters)
        return {name: v.reshape(x.shape[:-1] + v.shape[1:]) for name, v in found.items()}

    def unconstrain(self, values: Mapping[str, Any]) -> np.ndarray:
        """The inverse of ``constrain``."""
        arrays = {name: np.asarray(values[name], np.float64) for name in self.parameters}
        leads = [v.shape[: v.ndim - len(self.parameters[name])] for name, v in arrays.items()]
        lead = np.broadcast_shapes(*leads)
        batch = {
            name: np.broadcast_to(v, lead + self.parameters[name]).reshape(
                -1, *self.parameters[name]
            )
            for name, v in arrays.items()
        }
        try:
            states = self.joint.unconstrain(flatten(batch, self.parameters))
        except StanError as error:
            raise InputError(f"the values do not fit the Stan program: {error}") from None
        return states.reshape((*lead, self.joint.width))

    # A program for each data set.

    def at(self, y: tuple[np.ndarray, ...]) -> Program:
        """The program with its likelihood at other observations.

        Raises:
            InputError: they do not fit, or the prior changes with them.
        """
        given = {}
        for name, value in zip(self.observed, y, strict=True):
            given[name] = as_declared(name, value, self.data[name].dtype.type)
        key = b"".join(value.tobytes() for value in given.values())
        with self._lock:
            if key in self._programs:
                self._programs.move_to_end(key)
                return self._programs[key]
        program = Program(self.library, {**self.data, **given})
        self._refuse_a_prior_of_data(given)
        with self._lock:
            self._programs[key] = program
            while len(self._programs) > KEPT:
                self._programs.popitem(last=False)
        return program

    def _refuse_a_prior_of_data(self, given: Mapping[str, np.ndarray]) -> None:
        if self.flag is None:
            return
        program = Program(self.library, {**self.data, **given, **self.without})
        states = np.random.default_rng(0).normal(size=(3, program.width))
        here, there = program.log_density(states), self.prior.log_density(states)
        if not np.allclose(here, there, rtol=1e-9, atol=1e-9, equal_nan=True):
            raise InputError(
                f"with `{self.flag}` = 1 the density of the Stan program still changes with"
                f" {' and '.join(f'`{name}`' for name in self.observed)}: a prior, or a declared"
                " range of a parameter, that looks at the data is no prior"
            )

    def _over_data(
        self, evaluate: Callable[..., tuple[np.ndarray, ...]], x: np.ndarray, y: tuple
    ) -> tuple[np.ndarray, ...]:
        """``evaluate(program, states)`` for all of a batch, each state at its own data."""
        ranks = [self.data[name].ndim for name in self.observed]
        leads = [v.shape[: v.ndim - rank] for v, rank in zip(y, ranks, strict=True)]
        lead = np.broadcast_shapes(x.shape[:-1], *leads)
        states = rows(np.broadcast_to(x, (*lead, x.shape[-1])))
        if all(n == 1 for sizes in leads for n in sizes):
            one = tuple(v.reshape(v.shape[v.ndim - r :]) for v, r in zip(y, ranks, strict=True))
            found = evaluate(self.at(one), states)
        else:
            flat = [
                np.broadcast_to(v, lead + v.shape[v.ndim - r :]).reshape(-1, *v.shape[v.ndim - r :])
                for v, r in zip(y, ranks, strict=True)
            ]
            groups: dict[bytes, list[int]] = {}
            for i in range(len(states)):
                groups.setdefault(b"".join(v[i].tobytes() for v in flat), []).append(i)
            parts = [
                evaluate(self.at(tuple(v[members[0]] for v in flat)), states[members])
                for members in groups.values()
            ]
            order = np.argsort([i for members in groups.values() for i in members])
            found = tuple(np.concatenate(part)[order] for part in zip(*parts, strict=True))
        return tuple(v.reshape(lead + v.shape[1:]) for v in found)


def rows(x: np.ndarray) -> np.ndarray:
    """All leading axes as one."""
    return x.reshape(-1, x.shape[-1])


def difference(prior: np.ndarray, joint: np.ndarray) -> np.ndarray:
    """(batch, 2): the prior and the likelihood; -inf where the prior has no mass."""
    with np.errstate(invalid="ignore"):
        return np.stack([prior, np.where(np.isneginf(prior), -np.inf, joint - prior)], axis=1)


def as_declared(name: str, value: Any, kind: type) -> np.ndarray:
    """A value as an array of the declared type, int32 or float64.

    Raises:
        InputError: it has no such value.
    """
    try:
        array = np.asarray(value)
        exact = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"`{name}` in `data` must be an array of numbers") from None
    if kind is np.float64:
        return exact
    if array.size and not (exact == np.rint(exact)).all():
        wrong = exact[exact != np.rint(exact)].flat[0]
        raise InputError(f"`{name}` in `data` is declared int, got {wrong:g}")
    if array.size and np.abs(exact).max() >= 2**31:
        raise InputError(f"`{name}` in `data` is declared int and must be below 2^31 in size")
    return exact.astype(np.int32)
