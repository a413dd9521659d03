"""A small experiment with everything in it: two models, three data sets, both
directions, details."""

from bracketz.testbed.store.store import Store

SMALL = """
name = "small"
seed = 3
trials = 4

[truth]
distributions = 300

[[models]]
model = "clustering"
rows = 6
columns = 2
hyperparameters = { components = 2 }

[[models]]
model = "low-rank"
label = "rank one"
rows = 6
columns = 2
data_seeds = [0, 7]
hyperparameters = { components = 1, noise_variance = 0.5 }

[[estimators]]
estimator = "ais"
ladder = [10, 30, 300]

[[estimators]]
estimator = "reverse-ais"
ladder = [10, 30, 300]

[[estimators]]
estimator = "lw"
ladder = [64, 640]
ladders.clustering = [64]

[[estimators]]
estimator = "smc"             # looking at its settings already makes a JAX array
models = ["clustering"]
ladder = [1]

[[estimators]]
estimator = "nested"
models = ["clustering"]
ladder = [1, 3]
"""
#: The same with two models fitted to each of its three data sets.
CROSSED = (
    SMALL
    + """
[cross]
distributions = 20
trials = 3
fits = [
    { model = "inferred-clustering", hyperparameters = { components = 2 } },
    { model = "inferred-low-rank", label = "inferred rank", hyperparameters = { components = 1, noise_shape = 2.0 } },
]
"""
)


def values(path) -> list[tuple]:
    """Every trial's value, exactly."""
    with Store.read(path) as store:
        rows = store.rows("SELECT task, trial, log_ml FROM trials ORDER BY task, trial")
    return [(task, trial, value.hex()) for task, trial, value in rows]
