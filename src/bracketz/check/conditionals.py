"""Step 1 of the paper's appendix, exact: what the kernels draw from against the density they should
keep."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, logsumexp

from bracketz.check.report import TOLERANCE, Check, Discrepancy, Finding, Kind, NotApplicable, worst
from bracketz.check.subject import (
    Instance,
    Subject,
    describe_powers,
    draw_many,
    jit_once,
    log_density,
    outline,
    power_rows,
    show,
)
from bracketz.core.capabilities import Predictive
from bracketz.core.conditional import log_prob
from bracketz.kernels.gibbs import GibbsScan

MAX_VALUES = 12


def _values(conditional, key):
    """Other values the variable could take: all (or some) of a discrete one, draws of a continuous
    one."""
    support = conditional.support
    if support is None:
        return jax.vmap(conditional.from_noise)(_noise(conditional, key, 3))
    if support.shape[0] <= MAX_VALUES:
        return support
    index = jax.random.choice(key, support.shape[0], (MAX_VALUES,), replace=False)
    return support[index]


def _noise(conditional, key, count: int):
    """Noise of the conditional's law; uniform noise a little inside (0, 1)."""
    shape = (count, *conditional.noise_shape)
    if conditional.law == "uniform":
        return jax.random.uniform(key, shape, minval=0.02, maxval=0.98)
    if conditional.law == "log-gamma":
        return jax.random.loggamma(key, conditional.gammas, shape)
    return jax.random.normal(key, shape)


def random_states(subject: Subject, instance: Instance, name: str):
    """(keys, states, parameters, y): several prior draws, one data set of its own."""
    return draw_many(instance.model, instance.shape, subject.key(name), subject.sizes.states)


def balance(left, right):
    """left - right, both logarithms; 0 where both sides are impossible moves."""
    return jnp.where((left == right) & jnp.isneginf(left), 0.0, left - right)


def ratios(subject: Subject) -> Finding:
    """log f(x) + log C(v' | x) = log f(x') + log C'(v | x') for every conditional C of a sweep, its
    counterpart C' in the reversed sweep, and x' = x with v replaced by v'. Where C does not look at
    the present value this is the paper's p(v|u) / p(v'|u) = f(v,u) / f(v',u)."""
    cases = []
    for instance in subject.instances:
        model = instance.model
        keys, states, parameters, y = random_states(subject, instance, "ratios")

        def errors(key, state, parameters, powers, model=model, y=y):
            kernel = model.kernel(y, powers)
            out = []
            for j, visit in enumerate(kernel.visits(state, parameters)):
                conditional = visit.conditional

                def error(value, visit=visit, conditional=conditional):
                    new_state, new_parameters = visit.put(value)
                    back = kernel.reversed().visits(new_state, new_parameters or parameters)
                    here = next(v for v in back if v.variable == visit.variable).conditional
                    before = log_density(
                        model, state, parameters if new_parameters is not None else None, y, powers
                    )
                    after = log_density(model, new_state, new_parameters, y, powers)
                    return balance(
                        before + log_prob(conditional, value), after + log_prob(here, visit.value)
                    )

                values = _values(conditional, jax.random.fold_in(key, j))
                out.append((jax.vmap(error)(values), visit.value, values))
            return out

        rows = jnp.asarray(power_rows(instance.shape[0]))
        names = _variables(model, y, states, parameters)
        if not names:
            continue
        over_powers = jax.vmap(errors, (None, None, None, 0))
        found = jit_once(jax.vmap(over_powers, (0, 0, 0, None)))(keys, states, parameters, rows)
        found, states, rows = jax.tree.map(np.asarray, (found, states, rows))
        for name, (error, present, values) in zip(names, found, strict=True):
            error = np.abs(error)  # (states, powers, values)
            bad = ~(error < TOLERANCE)
            s, b, v = _smallest(bad, error, present, values)
            state = jax.tree.map(lambda a, s=s: a[s], states)
            cases.append(
                Discrepancy(
                    float(error.max()) if np.isfinite(error).all() else np.inf,
                    f"{name} from {show(present[s, b])} to {show(values[s, b, v])}: the"
                    f" conditional's odds miss the density's by {error[s, b, v]:.2g} nats at"
                    f" powers {describe_powers(rows[b])}, state {show(state)} ({instance.label},"
                    f" {instance.shape[0]} x {instance.shape[1]} data).",
                )
            )
    return worst(cases, "the kernel does not open up its conditionals (Kernel.visits)")


def _smallest(bad, error, present, values):
    """Of the failing cases the one that changes the fewest entries; without failures the largest
    error."""
    if not bad.any():
        return np.unravel_index(np.argmax(error), error.shape)
    change = values != present[:, :, None]
    size = change.reshape(*error.shape, -1).sum(axis=-1)
    return np.unravel_index(np.argmin(np.where(bad, size, np.inf)), error.shape)


def _variables(model, y, states, parameters) -> list[str]:
    """Names of the variables a sweep visits."""

    def names(y, states, parameters):
        first = jax.tree.map(lambda a: a[0], (states, parameters))
        return [visit.variable for visit in model.kernel(y, jnp.ones(y.shape[0])).visits(*first)]

    return outline(names, y, states, parameters)


def draws(subject: Subject) -> Finding:
    """What a conditional samples is what it scores, without drawing anything.

    Continuous: log density(T(e)) + log |det T'(e)| - log mass = log law(e) for the map T from noise
    to value. Discrete: the share of a grid of noise that maps to each value is its probability, up
    to the grid's step.
    """
    cases = []
    instance = subject.tiny
    model = instance.model
    keys, states, parameters, y = random_states(subject, instance, "draws")
    rows = power_rows(instance.shape[0])
    names = _variables(model, y, states, parameters)

    def errors(key, state, parameters, powers):
        out = []
        for kernel in (model.kernel(y, powers), model.kernel(y, powers).reversed()):
            out += [
                conditional_error(visit.conditional, key)
                for visit in kernel.visits(state, parameters)
            ]
        return out

    def sweep_noise(keys, states):
        kernel = model.kernel(y, jnp.asarray(rows[0]))
        return kernel.noise(keys[0], kernel.latents(jax.tree.map(lambda a: a[0], states)))

    if isinstance(outline(model.kernel, y, rows[0]), GibbsScan):
        noise = np.asarray(jit_once(sweep_noise)(keys, states))
        repeats = noise.size - len(np.unique(noise))
        cases.append(
            Discrepancy(
                float(repeats),
                f"{repeats} of the {noise.size} random numbers of a sweep are used twice.",
            )
        )
    few = 2

    @jit_once
    def over(draws, rows):
        each = jax.vmap(jax.vmap(errors, (None, None, None, 0)), (0, 0, 0, None))
        keys, states, parameters = jax.tree.map(lambda a: a[:few], draws)
        return each(keys, states, parameters, rows)

    found = over((keys, states, parameters), rows)
    for name, error in zip([*names, *(f"{n}, reversed sweep" for n in names)], found, strict=True):
        error = np.asarray(error)
        _, b = np.unravel_index(np.argmax(error), error.shape)
        cases.append(
            Discrepancy(
                float(error.max()),
                f"{name}: draws do not follow the scored distribution, by {error.max():.2g}, at"
                f" powers {describe_powers(rows[b])}.",
            )
        )
    return worst(cases, "the kernel does not open up its conditionals (Kernel.visits)")


def conditional_error(conditional, key, grid_points: int = 20_000):
    """0 (up to rounding) if ``from_noise``, ``log_density`` and ``log_normalizer`` belong
    together."""
    shape = conditional.noise_shape
    if conditional.support is None:
        return jnp.max(
            jnp.stack([_transport_error(conditional, e) for e in _noise(conditional, key, 2)])
        )
    # Discrete: cells of a regular grid in the noise cube.
    dims = int(np.prod(shape)) if shape else 1
    side = max(4, round(grid_points ** (1 / dims)))
    axes = np.meshgrid(*[(np.arange(side) + 0.5) / side] * dims, indexing="ij")
    grid = jnp.asarray(np.stack(axes, -1).reshape(-1, *shape))
    support = conditional.support
    values = jax.lax.map(conditional.from_noise, grid, batch_size=2048)
    flat = support.reshape(support.shape[0], -1)
    hits = jax.vmap(lambda v: jnp.mean(jnp.all(values.reshape(values.shape[0], -1) == v, axis=1)))(
        flat
    )
    scored = jax.vmap(lambda v: jnp.exp(log_prob(conditional, v)))(support)
    # Each axis cuts the cube at one place per value: the share is off by at most a cell per axis
    # and side.
    excess = jnp.maximum(jnp.max(jnp.abs(hits - scored)) - 2 * dims / side, 0.0)
    return jnp.maximum(excess, jnp.abs(jnp.sum(scored) - 1))


def _log_gamma_density(value, shape):
    """Of the logs of standard gammas, all entries together."""
    return jnp.sum(shape * value - jnp.exp(value) - gammaln(shape))


def _transport_error(conditional, noise):
    flat = jnp.ravel(noise)
    law: jax.Array | float = 0.0
    if conditional.law == "normal":
        law = -0.5 * jnp.sum(flat**2 + jnp.log(2 * jnp.pi))
    elif conditional.law == "log-gamma":
        law = _log_gamma_density(noise, conditional.gammas)
    value = conditional.from_noise(noise)
    # Probabilities are shares of gammas: as many gammas as categories, one coordinate fewer (of
    # their logs: the differences to the last). The total of the gammas, independent of the shares
    # and itself a gamma, takes its place.
    shares = conditional.law == "log-gamma" and noise.ndim > 0
    full = shares and value.shape == noise.shape

    def transport(e):
        e = e.reshape(noise.shape)
        value = conditional.from_noise(e)
        free = jnp.ravel(value[..., :-1] - value[..., -1:] if full else value)
        return jnp.concatenate([free, jnp.ravel(logsumexp(e, axis=-1))]) if shares else free

    total = (
        _log_gamma_density(logsumexp(noise, axis=-1), jnp.sum(conditional.gammas, -1))
        if shares
        else 0.0
    )
    log_volume = jnp.linalg.slogdet(jax.jacobian(transport)(flat))[1]
    return jnp.abs(log_prob(conditional, value) + total + log_volume - law)


def points(subject: Subject) -> Finding:
    """``Predictive``: the measure over one point's latent has the joint's odds, and its mass is the
    predictive density f summed over the latent with the point, divided by the same without it."""
    if not isinstance(subject.model, Predictive):
        raise NotApplicable("the model has no Predictive capability")
    cases = []
    for instance in subject.instances:
        model = instance.model
        _, states, _, y = random_states(subject, instance, "points")
        rows = power_rows(instance.shape[0])

        def errors(state, powers, i, model=model, y=y):
            measure = model.point_conditional(state, y, powers, i)
            without = powers.at[i].set(0.0)

            def f(value, b):
                return model.log_annealed(model.replace_latent(state, i, value), y, b)

            if measure.support is None:  # the latent is integrated out of the state
                ratio = model.log_annealed(state, y, powers) - model.log_annealed(state, y, without)
                return jnp.zeros(()), jnp.abs(measure.log_normalizer - ratio)
            support = measure.support
            joint = jax.vmap(lambda v: f(v, powers))(support)
            bare = jax.vmap(lambda v: f(v, without))(support)
            scored = jax.vmap(measure.log_density)(support)
            mass = jax.nn.logsumexp(joint) - jax.nn.logsumexp(bare)
            odds = jnp.max(jnp.abs((scored - scored[0]) - (joint - joint[0])))
            return odds, jnp.abs(measure.log_normalizer - mass)

        over = jax.vmap(
            jax.vmap(jax.vmap(errors, (None, None, 0)), (None, 0, None)), (0, None, None)
        )
        found = jit_once(over)(states, rows, np.arange(instance.shape[0]))
        states = jax.tree.map(np.asarray, states)
        for what, error in zip(("odds", "mass"), map(np.asarray, found), strict=True):
            s, b, i = np.unravel_index(np.argmax(error), error.shape)
            state = show(jax.tree.map(lambda a, s=s: a[s], states))
            cases.append(
                Discrepancy(
                    float(error.max()),
                    f"row {i + 1}: the {what} of point_conditional miss the density's by"
                    f" {error[s, b, i]:.2g} nats at powers {describe_powers(rows[b])}, state"
                    f" {state} ({instance.label}).",
                )
            )
    return worst(cases, "")


CHECKS = (
    Check(
        "conditionals.ratios",
        Kind.EXACT,
        "a term of the conditional is missing, has the wrong power, or belongs to a state the"
        " point was not removed from.",
        ratios,
    ),
    Check(
        "conditionals.draws",
        Kind.EXACT,
        "the sampler and the scorer of a conditional use different numbers, such as a variance"
        " for a standard deviation.",
        draws,
    ),
    Check(
        "conditionals.points",
        Kind.EXACT,
        "a constant of the predictive weight is dropped, or the conditional looks at the wrong"
        " row.",
        points,
    ),
)
