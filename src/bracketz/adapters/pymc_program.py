"""A PyMC model as functions: densities in JAX, draws on the host.

Densities come from PyMC's own graphs, with fresh inputs in place of the observed values. (Replacing
the data themselves would go too far: the same ``pm.Data`` may also be a covariate.)
"""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from bracketz.adapters import pymc_backend as backend
from bracketz.adapters.pymc_draws import Draws
from bracketz.adapters.pymc_refusals import cut, translated
from bracketz.core.precision import double_precision
from bracketz.errors import InputError

#: Draws of the prior on which transforms are tried: one that loses half of them is found out.
TRIALS = 32


class PyMCProgram:
    """The functions of one PyMC model; compared by identity.

    Arguments and results are lists of arrays: parameters in the order of ``names``, data in that of
    ``observed_names``, and the values of ``pm.Data`` in that of ``data_names``.

    Args:
        model: one that ``require_supported`` lets pass.
        potentials: "prior" or "likelihood", for each.
        sample_prior: in place of PyMC's draws: key -> parameters by name.
    """

    def __init__(self, model: Any, potentials: Mapping[str, str], sample_prior: Callable | None):
        self._free, self._observed = list(model.free_RVs), list(model.observed_RVs)
        self.names: list[str] = [rv.name for rv in self._free]
        self.observed_names: list[str] = [rv.name for rv in self._observed]
        self.text = model.str_repr()
        self.label = model.name or "PyMC model"
        #: Why there is no simulator, where there is none.
        self.no_simulator: str | None = None
        with backend.float64():
            self.observed = [backend.evaluate(model.rvs_to_values[rv]) for rv in self._observed]
            graphs = self._open_data(model, self._graphs(model, potentials))
            values, states = self._compile_prior(graphs, sample_prior)
            self._compile_simulator(graphs, values)
            self._compile_densities(graphs, model.check_bounds, values, states)

    def _graphs(self, model, potentials: Mapping[str, str]) -> dict[str, list]:
        """Densities of states, parameters of states and back, and what is drawn."""
        free, observed = self._free, self._observed
        self._states = [model.rvs_to_values[rv] for rv in free]
        self._ys = [rv.type(name=rv.name) for rv in observed]
        self._parameters = [rv.type(name=rv.name) for rv in free]  # as their author knows them
        values = dict(zip([*free, *observed], [*self._states, *self._ys], strict=True))
        mapping = {"rvs_to_values": values, "rvs_to_transforms": model.rvs_to_transforms}
        with translated("the log density by PyMC", "give every variable a distribution with one"):
            terms = backend.transformed_conditional_logp([*free, *observed], **mapping)
            factors = backend.replace_rvs_by_values(list(model.potentials), **mapping)
            corrections = [backend.density_correction(rv) for rv in free]
        likelihood = terms[len(free) :]
        prior = [term + c if c else term for term, c in zip(terms, corrections, strict=False)]
        for name, term in zip(self.names, prior, strict=True):
            if set(self._ys) & set(backend.graph_inputs([term])):
                raise InputError(
                    f"free variable `{name}` depends on an observed one, so it has no prior without"
                    " data: let the data depend on the parameters"
                )
        for potential, factor in zip(model.potentials, factors, strict=True):
            (prior if potentials[potential.name] == "prior" else likelihood).append(factor)
            if potentials[potential.name] == "likelihood":
                self.no_simulator = f"potential `{potential.name}` is part of the likelihood"

        transforms = [model.rvs_to_transforms[rv] for rv in free]
        states = [
            rv if transform is None else transform.forward(rv, *rv.owner.inputs)
            for rv, transform in zip(free, transforms, strict=True)
        ]
        given = dict(zip(free, self._parameters, strict=True))
        return {
            "log_prior": prior,
            "log_likelihood": likelihood,
            "constrain": backend.replace_rvs_by_values(free, **mapping),
            "unconstrain": backend.clone_replace(states, given),
            "parameters": free,
            "observed": backend.clone_replace(observed, given),
        }

    def _open_data(self, model, graphs: dict[str, list]) -> dict[str, list]:
        """Inputs in place of ``pm.Data`` of real numbers, constants in place of the rest: whole
        numbers may be sizes and indices, which JAX must know."""
        flat = [graph for group in graphs.values() for graph in group]
        shared: dict[Any, None] = dict.fromkeys(
            v
            for v in backend.graph_inputs(flat)
            if isinstance(v, backend.SharedVariable) and not isinstance(v.type, backend.RandomType)
        )
        real = [v for v in model.data_vars if "float" in v.dtype]
        opened = [v for v in shared if v in real]
        self._data = [v.type(name=v.name) for v in opened]
        self.data_names: list[str] = [v.name for v in opened]
        self.data = [np.asarray(v.get_value()) for v in opened]
        constants = {v: backend.constant(v) for v in shared if v not in opened}
        replaced = constants | dict(zip(opened, self._data, strict=True))
        new = iter(backend.clone_replace(flat, replaced))
        return {name: [next(new) for _ in group] for name, group in graphs.items()}

    def _compile_prior(self, graphs: dict[str, list], sample_prior: Callable | None) -> tuple:
        """Draw and try the transforms; one of the draws, as parameters and as states."""
        self.prior: Draws | None = None
        values: list[np.ndarray] = []
        states: list[np.ndarray] = []
        if sample_prior is None:
            with translated("a draw from the prior by PyMC", "use distributions it can draw from"):
                self.prior = Draws([], self._data, graphs["parameters"])
                draw = self.prior.on_host
                draws = [draw([0, i], self.prior.chosen(self.data)) for i in range(TRIALS)]
        else:
            draws = [self._given(sample_prior)]
        change = dict(zip(self._states, graphs["unconstrain"], strict=True))
        again = backend.clone_replace(graphs["constrain"], change)
        inputs = [*self._parameters, *self._data]
        there_and_back = backend.host_function(inputs, [*graphs["unconstrain"], *again])
        for values in draws:
            out = there_and_back(*values, *self.data)
            states, back = out[: len(values)], out[len(values) :]
            for name, value, same in zip(self.names, values, back, strict=True):
                if not np.allclose(value, same, rtol=1e-6, atol=1e-9):
                    raise cut(name)
        return values, states

    def _given(self, sample_prior: Callable) -> list[np.ndarray]:
        with double_precision():
            values = sample_prior(jax.random.key(0))
        named = isinstance(values, dict)
        if not named or set(values) != set(self.names):
            raise InputError(
                "`sample_prior` must return a dict of the free variables"
                f" {', '.join(self.names)}, got {sorted(values) if named else values}"
            )
        return [np.asarray(values[name], float) for name in self.names]

    def _compile_simulator(self, graphs: dict[str, list], values: list[np.ndarray]) -> None:
        """Draw data once: their shape must be that of the observed ones."""
        self.simulator: Draws | None = None
        if self.no_simulator:
            return
        with translated("a draw of data by PyMC", "use distributions it can draw from"):
            simulator = Draws(self._parameters, self._data, graphs["observed"])
            try:
                drawn = simulator.on_host([0, 0], [*values, *simulator.chosen(self.data)])
            except NotImplementedError:
                self.no_simulator = "its likelihood is a pm.CustomDist without `random`"
                return
        for name, y, seen in zip(self.observed_names, drawn, self.observed, strict=True):
            if y.shape != seen.shape:
                raise InputError(
                    f"observed variable `{name}` has data of shape {seen.shape}, and PyMC draws"
                    f" {y.shape}: give the data the shape of the variable"
                )
        self.simulator = simulator

    def _compile_densities(self, graphs, check_bounds: bool, values, states) -> None:
        """Compile, and compare with PyTensor's own values at one point."""

        def compiled(name: str, what: str, variables: list, example: list):
            inputs, arrays = [*variables, *self._data], [*example, *self.data]
            with translated(
                f"the JAX version of {what}", "write it by PyTensor operations that JAX has too"
            ):
                function = backend.jax_function(inputs, graphs[name], check_bounds)
                found = jax.jit(function)(*arrays)
            right = backend.host_function(inputs, graphs[name], check_bounds=check_bounds)(*arrays)
            for ours, theirs in zip(found, right, strict=True):
                if not np.allclose(ours, theirs, rtol=1e-8, atol=1e-8, equal_nan=True):
                    raise InputError(
                        f"the JAX version of {what} is not what PyTensor itself computes: an"
                        " operation in it is converted wrongly, and must be written in another way"
                    )
            return function, found

        data = [*states, *self.observed]
        self.log_prior, _ = compiled("log_prior", "the prior", self._states, states)
        self.log_likelihood, terms = compiled(
            "log_likelihood", "the likelihood", [*self._states, *self._ys], data
        )
        self.constrain, _ = compiled("constrain", "a transform", self._states, states)
        self.unconstrain, _ = compiled("unconstrain", "a transform", self._parameters, values)
        lengths = {np.shape(term)[:1] for term in terms}
        #: Whether every term of the likelihood has one entry per data point.
        self.by_row = len(lengths) == 1 and () not in lengths
