"""Two Stan programs as models: what their densities are, and the evidence of the second by brute
force, which eight data points allow.

    pip install "bracketz[stan]"            # and a C++ compiler
    python examples/your_model/stan_models.py

Each program is compiled once, some 20 seconds.
"""

from pathlib import Path

import numpy as np

import bracketz as bz

HERE = Path(__file__).parent


def linear(rows: int = 50) -> bz.StanModel:
    """Regression on three columns; y is made up, since simulated data replace it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 3))
    y = x @ np.array([1.0, -0.5, 0.0]) + 0.5 * rng.normal(size=rows)
    return bz.from_stan(HERE / "linear.stan", {"N": rows, "K": 3, "x": x, "y": y})


def eight_schools() -> bz.StanModel:
    data = {
        "J": 8,
        "y": [28, 8, -3, 7, -1, 1, 18, 12],
        "sigma": [15, 10, 16, 11, 9, 11, 10, 18],
    }
    return bz.from_stan(HERE / "eight_schools.stan", data)


#: By name: a function without arguments that makes the model.
MODELS = {"linear": linear, "eight schools": eight_schools}

if __name__ == "__main__":
    for name, make in MODELS.items():
        model = make()
        print(name, bz.sandwich(model, bz.simulate(model, seed=0), chains=100))
        print(name, "observed:", bz.estimate(model, None, bz.AIS(distributions=100)))
