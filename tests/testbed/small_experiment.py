"""A small experiment with everything in it: two models, three data sets, both
directions, details."""

from bracketz.testbed.store.store import Store

HEAD = """
name = "small"
seed = 3
trials = 4

[truth]
distributions = 300

"""
CLUSTERING = """[[models]]
model = "clustering"
rows = 6
columns = 2
hyperparameters = { components = 2 }

"""
RANK_ONE = """[[models]]
model = "low-rank"
label = "rank one"
rows = 6
columns = 2
data_seeds = [0, 7]
hyperparameters = { components = 1, noise_variance = 0.5 }

"""
BOUNDS = """[[estimators]]
estimator = "ais"
ladder = [10, 30, 300]

[[estimators]]
estimator = "reverse-ais"
ladder = [10, 30, 300]

"""
OTHERS = """[[estimators]]
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
SMALL = HEAD + CLUSTERING + RANK_ONE + BOUNDS + OTHERS
#: What processes of their own run: six tasks on each data set of one model, two programs (each
#: process traces its own).
BARE = HEAD + CLUSTERING + BOUNDS
#: The same on three data sets: enough tasks to be shared, or killed at.
THRICE = BARE.replace("columns = 2\n", "columns = 2\ndata_seeds = [0, 1, 2]\n")
#: SMALL with two models fitted to each of its three data sets. As many trials as pilots of
#: hyperparameters have chains, at the least: one program serves both.
CROSSED = (
    SMALL
    + """
[cross]
distributions = 20
trials = 10
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
