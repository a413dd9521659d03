"""PyMC, sequential Monte Carlo (pm.sample_smc), independent Metropolis-Hastings moves.

The prior is a CustomDist with its density and its draws, the likelihood a Potential, both by
NumPy. Chains give a log marginal likelihood each; the value is the log of their mean. PyMC compiles
anew for every model, which is part of its seconds. Its reference (sample_smc): more draws, and a
lower correlation_threshold for more Metropolis steps. Tempted: ``start``, which its users take for
an initial guess, puts every particle there.
"""

TOOL = "pymc-smc"
FAMILY = "annealing and SMC"
PACKAGES = ["pymc", "pytensor"]
LOCK = "pymc.txt"
CLAIMS = "a value alone"
SETTINGS = {
    "default": {"draws": 2000, "chains": 2},
    "accurate": {"draws": 8000, "chains": 2, "correlation_threshold": 0.001},
}
SPECIAL = {"start-at-the-data": {"draws": 2000, "chains": 2, "start": 3.0}}


def load():
    import pymc  # noqa: F401


def run(problem, settings, seed):
    import numpy as np
    import pymc as pm

    options = dict(settings)
    start = options.pop("start", None)
    if start is not None:
        count = options["draws"]
        options["start"] = [
            {"theta": np.full((count, problem.dimension), start)} for _ in range(options["chains"])
        ]
    density, likelihood = _op(problem.log_prior), _op(problem.log_likelihood)

    def draw(zeros, rng=None, size=None):
        shape = () if size is None else tuple(size)
        drawn = problem.sample_prior(rng, int(np.prod(shape, dtype=int)))
        return drawn.reshape((*shape, problem.dimension))

    with pm.Model():
        theta = pm.CustomDist(
            "theta",
            np.zeros(problem.dimension),  # tells the dimension, nothing else
            logp=lambda value, zeros: density(value),
            random=draw,
            support_point=lambda rv, size, zeros: zeros,
            signature="(n)->(n)",
        )
        pm.Potential("likelihood", likelihood(theta))
        trace = pm.sample_smc(
            cores=1,
            random_seed=seed,
            progressbar=False,
            compute_convergence_checks=False,
            **options,
        )
    chains = np.atleast_1d(trace.sample_stats["log_marginal_likelihood"].values)
    values = np.array([_last(chain) for chain in chains])
    top = values.max()
    return {"log_z": float(top + np.log(np.mean(np.exp(values - top)))), "kind": "none"}


def _op(function):
    """A function of NumPy as a scalar node of PyTensor."""
    import numpy as np
    import pytensor.tensor as pt
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op

    class Scalar(Op):
        def make_node(self, theta):
            return Apply(self, [pt.as_tensor_variable(theta)], [pt.dscalar()])

        def perform(self, node, inputs, outputs):
            outputs[0][0] = np.asarray(function(np.asarray(inputs[0], float)))

    return Scalar()


def _last(chain):
    """The last stage's value: those before are of tempered likelihoods."""
    import numpy as np

    values = np.concatenate([np.atleast_1d(np.asarray(v, float)) for v in np.atleast_1d(chain)])
    return float(values[np.isfinite(values)][-1])
