"""Does the league's adapter do JAXNS justice? Its quick start, by the page's own model and by the
adapter's cube, over many seeds.

    $BRACKETZ_LEAGUE/jaxns/bin/python scripts/jaxns_quick_start.py [SEEDS]

It runs in the environment of ``bracketz league install jaxns``. The adapter compiles anew for every
seed: give it JAX_COMPILATION_CACHE_DIR, and time.
"""

import sys
from pathlib import Path

import numpy as np

LEAGUE = Path(__file__).parents[1] / "src" / "bracketz" / "testbed" / "league"
sys.path.insert(0, str(LEAGUE))
FIRST = 100


def main() -> None:
    import jax
    import worker

    jax.config.update("jax_enable_x64", True)
    from jax import numpy as jnp
    from jaxns.core import NestedSampler
    from jaxns.model import Model
    from jaxns.priors import Prior
    from tensorflow_probability.substrates import jax as tfp

    example = worker.load(str(LEAGUE / "problems" / "documented.py"))
    adapter = worker.load(str(LEAGUE / "tools" / "jaxns.py"))
    c = example.constants(example.JAXNS)
    y = example.simulate(None, c, None)
    normal, given = tfp.distributions.Normal, (c["x"], y["y"], example.UNCERTAINTY)

    def model(x, observed, spread):
        intercept = Prior(normal(loc=0.0, scale=1.0), name="intercept").realise()
        slope = Prior(normal(loc=0.0, scale=2.0), name="slope").realise()
        line = normal(loc=intercept + slope * x, scale=spread)
        return jnp.sum(line.log_prob(observed))

    own = NestedSampler(model=Model(prior_model=model))
    answers: dict[str, list[tuple[float, float]]] = {"the page's model": [], "the adapter": []}
    for seed in range(FIRST, FIRST + int((sys.argv[1:] or [40])[0])):
        found = own.run(key=jax.random.PRNGKey(seed), args=tuple(map(jnp.asarray, given)))
        result = found.to_result().trim()
        answers["the page's model"].append((float(result.log_Z_mean), float(result.log_Z_uncert)))
        told = adapter.run(worker.Problem("jaxns-quick-start", example, y, c), {}, seed)
        answers["the adapter"].append((told["log_z"], told["error"]))
    exact = example.exact(y, c)
    print(f"exact {exact:.3f}")
    for name, pairs in answers.items():
        values, claimed = np.array(pairs).T
        off = values - exact
        rms, wrong = (off**2).mean() ** 0.5, int((abs(off) > 3 * claimed).sum())
        print(
            f"{name}: {len(off)} seeds, mean error {off.mean():+.3f}, RMS {rms:.3f}, claimed"
            f" {claimed.mean():.3f}, {wrong} off by more than three claimed errors, values from"
            f" {values.min():.2f} to {values.max():.2f}"
        )


if __name__ == "__main__":
    main()
