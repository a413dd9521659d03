"""Eight schools, centred and not: how far is each sampler from the posterior?

    python examples/quality/schools.py                 # some minutes on 2 cores
    python examples/quality/schools.py --datasets 4    # a look

mu ~ N(0, 5), tau ~ half-normal(5); effects are N(mu, tau), centred, or mu + tau z with z ~ N(0, 1).
Both are one model of the data, and one posterior of the effects; what differs is what a sampler has
to move through. Judged, on data sets simulated from the model: HMC with one step size for
everything, annealed; NUTS of BlackJAX, likewise; the kernel bracketz tunes in a pilot; and ADVI (a
Gaussian with independent coordinates fitted to the ELBO).
"""

import argparse
import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm

import bracketz as bz

ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
STEP_SIZE, LEAPS = 0.3, 8


@bz.pytree_dataclass
class Schools(bz.Factored):
    """State: mu / 5, log tau, and eight effects or z."""

    centred: bool = bz.static(default=False)

    @property
    def label(self):
        return "centred" if self.centred else "non-centred"

    def level(self, x):
        if self.centred:
            return x["effects"]
        return 5 * x["mu"] + jnp.exp(x["log_tau"]) * x["effects"]

    def log_prior(self, x):
        tau = jnp.exp(x["log_tau"])
        half_normal = jnp.log(2.0) + norm.logpdf(tau, 0.0, 5.0) + x["log_tau"]
        mean, scale = (5 * x["mu"], tau) if self.centred else (0.0, 1.0)
        return norm.logpdf(x["mu"]) + half_normal + jnp.sum(norm.logpdf(x["effects"], mean, scale))

    def log_likelihood(self, x, y):
        return norm.logpdf(y, self.level(x), ERRORS)

    def sample_prior(self, key, shape=None):
        key_mu, key_tau, key_z = jax.random.split(key, 3)
        mu, z = jax.random.normal(key_mu), jax.random.normal(key_z, (8,))
        tau = 5 * jnp.abs(jax.random.normal(key_tau))
        effects = 5 * mu + tau * z if self.centred else z
        return {"mu": mu, "log_tau": jnp.log(tau), "effects": effects}

    def simulate(self, key, x, shape=None):
        return self.level(x) + ERRORS * jax.random.normal(key, (8,))


def hmc(model, y, powers):
    """One step size for every distribution and both parameterisations."""
    return bz.HMC(lambda x: model.log_annealed(x, y, powers), STEP_SIZE, steps=LEAPS)


def nuts(model, y, powers):
    """BlackJAX's, with the same step size, in trees of at most 16 leaps."""
    import blackjax

    density = functools.partial(model.log_annealed, y=y, powers=powers)
    return bz.FromBlackJAX(
        blackjax.nuts(lambda x: density(x), STEP_SIZE, jnp.ones(10), max_num_doublings=4)
    )


class Independent(bz.Approximation):
    """A Gaussian with independent coordinates."""

    def __init__(self, fitted, unflatten):
        self.mean, self.scale, self.unflatten = fitted[0], jnp.exp(fitted[1]), unflatten

    def sample(self, key):
        return self.unflatten(self.mean + self.scale * jax.random.normal(key, self.mean.shape))

    def log_density(self, state):
        flat = jax.flatten_util.ravel_pytree(state)[0]
        return jnp.sum(norm.logpdf(flat, self.mean, self.scale))


def advi(model, y):
    """Adam on the ELBO, 4,000 steps of 16 draws."""
    with jax.enable_x64(True):
        start, unflatten = jax.flatten_util.ravel_pytree(model.sample_prior(jax.random.key(0)))
        return Independent(_fit(model, jnp.asarray(y), start.shape[0]), unflatten)


@functools.partial(jax.jit, static_argnames="size")
def _fit(model, y, size, steps=4000, rate=0.02):
    _, unflatten = jax.flatten_util.ravel_pytree(model.sample_prior(jax.random.key(0)))
    ones = jnp.ones(8)

    def loss(q, key):
        noise = jax.random.normal(key, (16, size))
        points = q[0] + jnp.exp(q[1]) * noise
        values = jax.vmap(lambda x: model.log_annealed(unflatten(x), y, ones))(points)
        return -jnp.mean(values) - jnp.sum(q[1])

    def step(i, carry):
        q, m, v = carry
        slope = jax.grad(loss)(q, jax.random.fold_in(jax.random.key(1), i))
        m, v = 0.9 * m + 0.1 * slope, 0.999 * v + 0.001 * slope**2
        t = i + 1.0
        fall = jnp.where(i < steps // 2, 1.0, 0.1)
        move = fall * rate * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)
        return q - move, m, v

    q = jnp.zeros((2, size)).at[1].set(-1.0)
    return jax.lax.fori_loop(0, steps, step, (q, jnp.zeros_like(q), jnp.zeros_like(q)))[0]


SAMPLERS = {
    "hmc": {"kernel": hmc},
    "nuts": {"kernel": nuts},
    "tuned": {},
    "advi": {"approximation": advi},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=20)
    parser.add_argument("--lengths", default="16,64,256,1024")
    parser.add_argument("--samplers", default=",".join(SAMPLERS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    lengths = [int(word) for word in given.lengths.split(",")]
    told = []
    for sampler in given.samplers.split(","):
        for centred in (True, False):
            model = Schools(centred=centred)
            answer = bz.quality(
                model,
                distributions=lengths,
                datasets=given.datasets,
                seed=given.seed,
                **SAMPLERS[sampler],
            )
            told.append(answer.to_json() | {"sampler": sampler})
            if not given.json:
                for one in answer.readings:
                    length = "" if one.distributions is None else f"{one.distributions:>6}"
                    print(
                        f"{sampler:6} {model.label:12} {length:6} J {one.jeffreys:8.2f} ±"
                        f" {one.standard_error:.2f}  [{one.low:.2f}, {one.high:.2f}]",
                        flush=True,
                    )
    if given.json:
        print(json.dumps(told))


if __name__ == "__main__":
    main()
