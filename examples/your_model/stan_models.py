"""Two Stan programs as models: what their densities are, and the evidence of the second by brute
force, which eight data points allow.

    pip install "bracketz[stan]"            # and a C++ compiler
    python examples/your_model/stan_models.py

Each program is compiled once, some 20 seconds.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.adapters.stan import StanModel, from_stan

HERE = Path(__file__).parent


def linear(rows: int = 50) -> StanModel:
    """Regression on three columns; y is made up, since simulated data replace it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 3))
    y = x @ np.array([1.0, -0.5, 0.0]) + 0.5 * rng.normal(size=rows)
    return from_stan(HERE / "linear.stan", {"N": rows, "K": 3, "x": x, "y": y})


def eight_schools() -> StanModel:
    data = {
        "J": 8,
        "y": [28, 8, -3, 7, -1, 1, 18, 12],
        "sigma": [15, 10, 16, 11, 9, 11, 10, 18],
    }
    return from_stan(HERE / "eight_schools.stan", data)


def brute_force(model: StanModel, draws: int = 20_000) -> tuple[float, float]:
    """log p(y) as the log of the mean likelihood of prior draws, and its standard error."""
    x = jax.vmap(model.sample_prior)(jax.random.split(jax.random.key(0), draws))
    terms = jax.vmap(model.log_likelihood, (0, None))(x, model.own_data)
    weights = jnp.exp(terms - terms.max())
    error = weights.std() / weights.mean() / jnp.sqrt(draws)
    return float(jnp.log(weights.mean()) + terms.max()), float(error)


def main() -> None:
    model = linear()
    x = model.sample_prior(jax.random.key(1))
    print("linear, a draw from the prior:", jax.tree.map(np.asarray, model.constrain(x)))
    print(f"  log p(x) = {model.log_prior(x):.3f}, gradient {jax.grad(model.log_prior)(x)}")
    y = model.simulate(jax.random.key(2), x)
    print(f"  log p(y | x) = {model.log_likelihood(x, y):.3f} at data simulated from it")
    value, error = brute_force(eight_schools())
    print(f"eight schools: log p(y) = {value:.3f} +- {error:.3f}")


if __name__ == "__main__":
    with jax.enable_x64(True):
        main()
