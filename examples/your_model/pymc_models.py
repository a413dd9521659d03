"""Four textbook models in PyMC, each ready for bracketz.

    python examples/your_model/pymc_models.py

``MODELS`` gives each by name. The models are written as one would write them for ``pm.sample``;
``from_pymc`` is the only line that is not PyMC. Covariates are standard normal; where the data are
not a classic, they are all zeros, and only their shape matters: a sandwich simulates its own.
"""

from collections.abc import Callable

import numpy as np
import pymc as pm

from bracketz.adapters.pymc import PyMCModel, from_pymc


def covariates(rows: int, columns: int) -> np.ndarray:
    """The same for every library that has this model."""
    return np.random.default_rng(0).normal(size=(rows, columns))


def linear(rows: int = 100, columns: int = 5) -> PyMCModel:
    """Linear regression with unknown noise."""
    with pm.Model() as model:
        x = pm.Data("x", covariates(rows, columns))
        intercept = pm.Normal("intercept", 0.0, 2.0)
        slopes = pm.Normal("slopes", 0.0, 1.0, shape=columns)
        noise = pm.HalfNormal("noise", 1.0)
        pm.Normal("y", intercept + x @ slopes, noise, observed=np.zeros(rows))
    return from_pymc(model)


def logistic(rows: int = 100, columns: int = 5) -> PyMCModel:
    """Logistic regression."""
    with pm.Model() as model:
        x = pm.Data("x", covariates(rows, columns))
        intercept = pm.Normal("intercept", 0.0, 2.0)
        slopes = pm.Normal("slopes", 0.0, 1.0, shape=columns)
        pm.Bernoulli("y", logit_p=intercept + x @ slopes, observed=np.zeros(rows, int))
    return from_pymc(model)


def eight_schools() -> PyMCModel:
    """Eight schools (Rubin 1981), non-centred."""
    effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    with pm.Model(coords={"school": list("ABCDEFGH")}) as model:
        mu = pm.Normal("mu", 0.0, 5.0)
        tau = pm.HalfCauchy("tau", 5.0)
        z = pm.Normal("z", dims="school")
        theta = pm.Deterministic("theta", mu + tau * z, dims="school")
        pm.Normal("effect", theta, errors, observed=effects, dims="school")
    return from_pymc(model)


def poisson(rows: int = 100, columns: int = 3) -> PyMCModel:
    """Poisson regression with a log link."""
    with pm.Model() as model:
        x = pm.Data("x", covariates(rows, columns))
        intercept = pm.Normal("intercept", 1.0, 1.0)
        slopes = pm.Normal("slopes", 0.0, 0.5, shape=columns)
        pm.Poisson("y", pm.math.exp(intercept + x @ slopes), observed=np.zeros(rows, int))
    return from_pymc(model)


MODELS: dict[str, Callable[[], PyMCModel]] = {
    "linear": linear,
    "logistic": logistic,
    "eight-schools": eight_schools,
    "poisson": poisson,
}

if __name__ == "__main__":
    import jax

    from bracketz.core.precision import double_precision

    with double_precision():
        for name, make in MODELS.items():
            model = make()
            x = model.sample_prior(jax.random.key(0))
            y = model.simulate(jax.random.key(1), x)
            log_likelihood = model.log_likelihood(x, y).sum()
            print(f"{name:15}{sum(v.size for v in x.values())} unknowns, {y.size} data points,")
            print(
                f"{'':15}log p(x) = {model.log_prior(x):.2f}, log p(y | x) = {log_likelihood:.2f}"
            )
