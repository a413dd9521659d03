"""Densities: constants included, powers in the right places, and simulators that draw what is
scored."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.check.quadratic import QUADRATIC, Integral, integrate
from bracketz.check.report import Check, Discrepancy, Finding, Kind, NotApplicable, worst
from bracketz.check.statistics import bonferroni, counts_p, mean_zero_p, white_p
from bracketz.check.subject import (
    Subject,
    describe_powers,
    draw,
    flatten,
    is_real,
    jit_once,
    log_density,
    power_rows,
    tally,
)
from bracketz.core.capabilities import Collapsed, Enumerable, RowLatents
from bracketz.core.undirected import Undirected
from bracketz.models.hyper_reference import at_prior

#: The integral of a quadratic is exact, but its Hessian and determinant round.
TOLERANCE = 1e-6


def powers(subject: Subject) -> Finding:
    """With everything instantiated, log f(x; b) = log f(x; 0) + sum_i b_i [log f(x; e_i) - log f(x;
    0)], and the terms of the sum do not depend on other rows of y."""
    cases = []
    for instance in subject.instances:
        model, n = instance.model, instance.shape[0]
        state, parameters, y = draw(model, instance.shape, subject.key("powers"))

        def f(b, state=state, parameters=parameters, y=y, model=model):
            return log_density(model, state, parameters, y, b)

        rows = power_rows(n)
        every = np.concatenate([np.zeros((1, n)), np.eye(n), rows])
        bare, each, found = np.split(np.asarray(jit_once(jax.vmap(f))(every)), [1, n + 1])
        for row, value in zip(rows, found, strict=True):
            error = float(np.abs(value - bare[0] - (each - bare) @ row))
            cases.append(
                Discrepancy(
                    error,
                    f"the density at powers {describe_powers(row)} is {error:.2g} nats off the"
                    " sum of its terms.",
                )
            )
    return worst(cases, "", TOLERANCE)


def collapsed(subject: Subject) -> Finding:
    """log_annealed = log of the integral of exp(log_joint) over what was integrated out, constants
    included, at several rows of powers. Exact where log_joint is quadratic in it."""
    if not isinstance(subject.model, Collapsed):
        raise NotApplicable("nothing is integrated out of the state (Collapsed)")
    cases = []
    for instance in subject.instances:
        model = instance.model
        state, parameters, y = draw(model, instance.shape, subject.key("collapsed"))
        other = draw(model, instance.shape, subject.key("other"))[1]

        def both(b, state, parameters, other, y, model=model):
            x, back = flatten(parameters)
            integral = integrate(
                lambda v: model.log_joint(state, back(v), y, b), x, flatten(other)[0]
            )
            return integral.log_value, integral.misfit, model.log_annealed(state, y, b)

        compiled = jit_once(both)
        for row in power_rows(instance.shape[0]):
            value, misfit, claimed = map(float, compiled(row, state, parameters, other, y))
            if misfit > QUADRATIC:
                continue
            cases.append(
                Discrepancy(
                    abs(value - claimed),
                    f"log_annealed is {claimed - value:+.4g} nats off the integral of log_joint"
                    f" at powers {describe_powers(row)} ({instance.label}).",
                )
            )
    return worst(cases, "log_joint is not quadratic in what is integrated out", TOLERANCE)


def sampled(subject: Subject) -> Finding:
    """The same by importance sampling where log_joint is not quadratic: the mean of f(x, theta; b)
    / f(x, theta; 0) over draws of theta from its prior is f(x; b) / f(x; 0). Constants of the prior
    are ``densities.prior``'s business."""
    if not isinstance(subject.model, Collapsed):
        raise NotApplicable("nothing is integrated out of the state (Collapsed)")
    model: Any = subject.tiny.model
    shape = subject.tiny.shape
    state, parameters, y = draw(model, shape, subject.key("sampled"))
    other = draw(model, shape, subject.key("other"))[1]
    keys = jax.random.split(subject.key("sampled draws"), subject.sizes.draws)
    zeros = jnp.zeros(shape[0])

    @jit_once
    def ratios(b):
        claimed = model.log_annealed(state, y, b) - model.log_annealed(state, y, zeros)

        def ratio(key):
            theta = model.sample_parameters(key, state, shape)
            return (
                model.log_joint(state, theta, y, b)
                - model.log_joint(state, theta, y, zeros)
                - claimed
            )

        return jnp.exp(jax.vmap(ratio)(keys)) - 1

    rows = power_rows(shape[0], positive=True)
    between = jnp.asarray(rows[1])

    @jit_once
    def misfit(parameters, other):
        x, back = flatten(parameters)
        return integrate(
            lambda v: model.log_joint(state, back(v), y, between), x, flatten(other)[0]
        ).misfit

    if float(misfit(parameters, other)) <= QUADRATIC:
        raise NotApplicable("log_joint is quadratic: densities.collapsed does this exactly")
    surplus = [np.asarray(ratios(jnp.asarray(row))) for row in rows]
    p_values = [float(mean_zero_p(values)) for values in surplus]
    j = int(np.argmin(p_values))
    found = np.log1p(surplus[j].mean())
    return Finding(
        bonferroni(p_values),
        f"log_annealed is {-found:+.3g} nats off the average of log_joint at powers"
        f" {describe_powers(rows[j])}.",
    )


def likelihood(subject: Subject) -> Finding:
    """p(y | x) integrates to 1 over y: exact where log f is quadratic in y."""
    if isinstance(subject.model, Undirected):
        raise NotApplicable("the model is undirected: its y are given, and have no density")
    cases = []
    for instance in subject.instances:
        model, shape = instance.model, instance.shape
        state, parameters, y = draw(model, shape, subject.key("likelihood"))
        other = draw(model, shape, subject.key("other"))[2]
        for given in {None, parameters is not None and "parameters"} - {False}:
            theta = parameters if given else None

            def log_likelihood(v, theta=theta, model=model, state=state, shape=shape):
                data = v.reshape(shape)
                rows = jnp.stack([jnp.ones(shape[0]), jnp.zeros(shape[0])])
                if at_prior(model) is not model:
                    joint = log_density(model, state, theta, data, rows[0])
                    return joint - log_density(at_prior(model), state, theta, data, rows[1])
                joint, prior = jax.vmap(lambda b: log_density(model, state, theta, data, b))(rows)
                return joint - prior

            found = jit_once(
                lambda a, b, g=log_likelihood: integrate(g, jnp.ravel(a), jnp.ravel(b))
            )(y, other)
            if float(found.misfit) > QUADRATIC:
                cases += _left_out(log_likelihood, y, other)
                continue
            error = float(found.log_value)
            what = "p(y | state, parameters)" if given else "p(y | state)"
            cases.append(
                Discrepancy(
                    abs(error),
                    f"{what} integrates to exp({error:+.4g}) instead of 1 ({instance.label}).",
                )
            )
    return worst(cases, "the log-likelihood is not quadratic in the data", TOLERANCE)


def _left_out(log_likelihood, y, other) -> list[Discrepancy]:
    """Entries of the data without which the likelihood is the same: nothing to integrate, and a
    mistake."""
    both = [np.asarray(a, float).ravel() for a in (y, other)]
    swapped = np.where(np.eye(len(both[0]), dtype=bool), both[1], both[0])
    every = jit_once(jax.vmap(log_likelihood))(np.concatenate([swapped, both[0][None]]))
    values = np.asarray(every)
    idle = np.flatnonzero((values[:-1] == values[-1]) & (both[0] != both[1]))
    columns = np.shape(y)[1] if np.ndim(y) > 1 else 1
    rows = sorted({int(k) // columns + 1 for k in idle})
    if not rows or not np.isfinite(values[-1]):
        return []
    said = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
    return [
        Discrepancy(np.inf, f"p(y | state) does not depend on the data of row {said} (from 1 on).")
    ]


def prior(subject: Subject) -> Finding:
    """The prior of the state, and of what is integrated out, sums or integrates to 1."""
    cases = []
    for instance in subject.instances:
        model, shape = instance.model, instance.shape
        state, parameters, y = draw(model, shape, subject.key("prior"))
        zeros = jnp.zeros(shape[0])
        if instance.label == "tiny" and isinstance(model, Enumerable):
            states, log_weight = model.nodes(shape)
            density = jax.vmap(lambda s, model=model, y=y, z=zeros: model.log_annealed(s, y, z))
            log_sum = jit_once(lambda s, w, density=density: jax.nn.logsumexp(density(s) + w))
            total = float(log_sum(jax.tree.map(jnp.asarray, states), log_weight))
            cases.append(
                Discrepancy(abs(total), f"the prior sums to exp({total:+.4g}) instead of 1.")
            )
        elif is_real(state):
            other = draw(model, shape, subject.key("other"))[0]
            found = _integral(
                lambda s, model=model, y=y, z=zeros: model.log_annealed(s, y, z), state, other
            )
            if float(found.misfit) <= QUADRATIC:
                error = float(found.log_value)
                cases.append(
                    Discrepancy(
                        abs(error), f"the prior integrates to exp({error:+.4g}) instead of 1."
                    )
                )
        if parameters is not None:
            other = draw(model, shape, subject.key("other"))[1]

            def log_prior(theta, model=model, y=y, s=state, z=zeros):
                return model.log_joint(s, theta, y, z) - model.log_annealed(s, y, z)

            found = _integral(log_prior, parameters, other)
            if float(found.misfit) <= QUADRATIC:
                error = float(found.log_value)
                cases.append(
                    Discrepancy(
                        abs(error), f"the prior of the parameters integrates to exp({error:+.4g})."
                    )
                )
    return worst(cases, "the prior is neither enumerable nor Gaussian", TOLERANCE)


def _integral(log_g, at, other) -> Integral:
    """``integrate`` over a pytree of real arrays."""

    @jit_once
    def compiled(at, other):
        x, back = flatten(at)
        return integrate(lambda v: log_g(back(v)), x, flatten(other)[0])

    return compiled(at, other)


def rows(subject: Subject) -> Finding:
    """``RowLatents``: the mass of ``row_conditional``, as a density of the row, integrates to 1
    (one column, quadrature)."""
    if not isinstance(subject.model, RowLatents):
        raise NotApplicable("the model has no RowLatents capability")
    instance = subject.tiny
    model = instance.model
    state, parameters, _ = draw(model, (2, 1), subject.key("rows"))
    fixed = getattr(state, model.fixed, None)
    fixed = getattr(parameters, model.fixed) if fixed is None else fixed
    axis = np.linspace(-60, 60, 24_001)
    mass = jit_once(jax.vmap(lambda v, b: model.row_conditional(fixed, v[None], b).log_normalizer))
    whole = np.asarray(mass(np.append(axis, 1.0), np.append(np.ones(len(axis)), 0.0)))
    total, empty = np.logaddexp.reduce(whole[:-1]) + np.log(axis[1] - axis[0]), whole[-1]
    cases = [
        Discrepancy(
            abs(total),
            f"the density of a row given the parameters integrates to exp({total:+.4g}) instead"
            " of 1.",
        ),
        Discrepancy(
            abs(empty), f"at power 0 the mass of a row's latent is exp({empty:+.4g}) instead of 1."
        ),
    ]
    return worst(cases, "", TOLERANCE)


def simulators(subject: Subject) -> Finding:
    """``sample_prior``, ``sample_parameters``, ``sample_data`` and ``simulate`` against the
    densities they claim: whitened by the exact mean and precision they must be N(0, I); a finite
    prior is compared cell by cell, and so is ``sample_exact`` of an undirected model."""
    model: Any = subject.tiny.model
    shape = subject.tiny.shape
    key_point, key_draws = jax.random.split(subject.key("simulators"))
    state, parameters, y = draw(model, shape, key_point)
    keys = jax.random.split(key_draws, subject.sizes.draws)
    zeros, ones = jnp.zeros(shape[0]), jnp.ones(shape[0])
    p_values: dict[str, float] = {}

    def gaussian(name, sample, log_g, at):
        draws = np.asarray(jit_once(jax.vmap(lambda k: flatten(sample(k))[0]))(keys))
        found = jit_once(lambda a, b: integrate(log_g, flatten(a)[0], b))(at, draws[0])
        if float(found.misfit) > QUADRATIC:
            return
        root = np.linalg.cholesky(np.asarray(found.precision))
        p_values[name] = white_p((draws - np.asarray(found.mode)) @ root)

    if isinstance(subject.tiny.model, Enumerable) and model.finite:
        states = jax.tree.map(jnp.asarray, model.nodes(shape)[0])
        log_prior = jit_once(jax.vmap(lambda s: model.log_annealed(s, y, zeros)))
        probabilities = np.exp(np.asarray(log_prior(states)))
        found = jit_once(jax.vmap(lambda k: model.sample_prior(k, shape)))(keys)
        p_values["sample_prior"] = counts_p(
            tally(found, states), probabilities / probabilities.sum()
        )
        if isinstance(model, Undirected):
            density = jit_once(jax.vmap(lambda s: model.log_annealed(s, y, ones)))
            log_f = np.asarray(density(states))
            probabilities = np.exp(log_f - log_f.max())
            found = jit_once(jax.vmap(lambda k: model.sample_exact(k, y).state))(keys)
            p_values["sample_exact"] = counts_p(
                tally(found, states), probabilities / probabilities.sum()
            )
    elif is_real(state):
        _, back = flatten(state)
        gaussian(
            "sample_prior",
            lambda k: model.sample_prior(k, shape),
            lambda v: model.log_annealed(back(v), y, zeros),
            state,
        )
    if not isinstance(model, Undirected):
        gaussian(
            "simulate",
            lambda k: model.simulate(k, state, shape),
            lambda v: model.log_annealed(state, v.reshape(shape), ones),
            y,
        )
    if isinstance(model, Collapsed):
        _, back_p = flatten(parameters)
        gaussian(
            "sample_parameters",
            lambda k: model.sample_parameters(k, state, shape),
            lambda v: model.log_joint(state, back_p(v), y, zeros),
            parameters,
        )
        gaussian(
            "sample_data",
            lambda k: model.sample_data(k, state, parameters),
            lambda v: model.log_joint(state, parameters, v.reshape(shape), ones),
            y,
        )
    if not p_values:
        raise NotApplicable(
            "neither the prior nor the likelihood has a form that can be compared directly"
        )
    name = min(p_values, key=lambda n: p_values[n])
    return Finding(
        bonferroni(list(p_values.values())), f"draws of {name} against the density it claims."
    )


CHECKS = (
    Check("densities.powers", Kind.EXACT, "a power is missing from a term, or used twice.", powers),
    Check(
        "densities.collapsed",
        Kind.EXACT,
        "a constant (2 pi, a determinant, a prior variance) is dropped when variables are"
        " integrated out, or a power is missing there.",
        collapsed,
    ),
    Check(
        "densities.likelihood",
        Kind.EXACT,
        "the normalising constant of the likelihood is missing or wrong.",
        likelihood,
    ),
    Check(
        "densities.prior",
        Kind.EXACT,
        "the normalising constant of the prior is missing or wrong.",
        prior,
    ),
    Check("densities.rows", Kind.EXACT, "a constant of the held-out row density is missing.", rows),
    Check(
        "densities.sampled",
        Kind.STATISTICAL,
        "a constant is dropped when variables are integrated out, or a power is missing there.",
        sampled,
    ),
    Check(
        "densities.simulators",
        Kind.STATISTICAL,
        "the simulator and the density use different hyperparameters, such as a variance for a"
        " standard deviation.",
        simulators,
    ),
)
